"""Progress of the study, and time per vote."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cmi.arena.statistics.inputs import Annotator, Wanted, grouped, study_votes
from cmi.arena.store.votes_view import CountedVote


def progress(votes: Sequence[CountedVote], wanted: Sequence[Wanted], people: Sequence[Annotator]) -> dict[str, Any]:
    """Votes done and wanted on ordinary pairs, in all and by modality; overlap; people; votes by day (UTC).

    Votes beyond those wanted do not count as done. `overlap` is about the pairs that want two votes or more.
    """
    got = Counter(vote.pair for vote in study_votes(votes))
    ordinary = [one for one in wanted if one.kind == "ordinary"]
    several = [one for one in ordinary if one.votes > 1]
    cast = Counter(vote.person for vote in votes)
    days = Counter(datetime.fromtimestamp(vote.created, UTC).date().isoformat() for vote in votes)
    return {
        "votes": len(votes),
        "study_votes": got.total(),
        "gold_votes": sum(vote.kind == "gold" for vote in votes),
        "repeat_votes": sum(vote.repeat_of is not None for vote in votes),
        **_done(ordinary, got),
        "modalities": [
            {"modality": name, **_done(group, got)}
            for name, group in sorted(grouped(ordinary, lambda one: one.modality).items())
        ],
        "overlap": {
            "pairs": len(several),
            "target": len(several) / len(ordinary) if ordinary else None,
            "pairs_with_two_votes": sum(count > 1 for count in got.values()),
            "reached": sum(got[one.pair] > 1 for one in ordinary) / len(ordinary) if ordinary else None,
            "pairs_done": sum(got[one.pair] >= one.votes for one in several),
        },
        "people": [
            {"person": one.person, "name": one.name, "state": one.state, "votes": cast[one.person], "quota": one.quota}
            for one in people
        ],
        "days": [{"day": day, "votes": count} for day, count in sorted(days.items())],
    }


def time_per_vote(votes: Sequence[CountedVote]) -> dict[str, Any]:
    """Quartiles of the seconds from begin to vote: overall, by person and by modality."""
    people, modalities = grouped(votes, lambda vote: vote.person), grouped(votes, lambda vote: vote.modality)
    return {
        **_quartiles(votes),
        "people": [{"person": person, **_quartiles(group)} for person, group in sorted(people.items())],
        "modalities": [{"modality": name, **_quartiles(group)} for name, group in sorted(modalities.items())],
    }


def _done(wanted: Sequence[Wanted], got: Counter[str]) -> dict[str, Any]:
    total = sum(one.votes for one in wanted)
    done = sum(min(one.votes, got[one.pair]) for one in wanted)
    finished = sum(got[one.pair] >= one.votes for one in wanted)
    share = done / total if total else None
    return {"wanted": total, "done": done, "share": share, "pairs": len(wanted), "pairs_done": finished}


def _quartiles(votes: Sequence[CountedVote]) -> dict[str, Any]:
    seconds = [vote.seconds for vote in votes]
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]) if seconds else (None, None, None)
    return {"votes": len(seconds), "lower_quartile": low, "median": middle, "upper_quartile": high}
