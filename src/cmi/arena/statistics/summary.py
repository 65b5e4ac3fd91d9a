"""The state of a study, and statistics of its votes.

Progress and time per vote; agreement of annotators (table 6 of the paper), their confidence (figure 4), and agreement
of the axes (table 7).
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

import numpy as np

from cmi.arena.statistics.inputs import (
    AXES,
    Annotator,
    Axis,
    Wanted,
    choice,
    confidence,
    grouped,
    interval_over_people,
    study_votes,
)
from cmi.arena.store.study import CountedVote
from cmi.stats import rater_agreement


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


def agreement(votes: Sequence[CountedVote], resamples: int, seed: int) -> list[dict[str, Any]]:
    """Per axis: the share of agreeing votes on the same pair, and Krippendorff's alpha (nominal).

    `pairs` have votes by two people or more; of the `vote_pairs` among these `votes`, `agreeing` agree. Intervals are
    by bootstrap over pairs. Gold and repeats are left out.
    """
    by_pair = grouped(study_votes(votes), lambda vote: vote.pair)
    shared = [group for group in by_pair.values() if len(group) > 1]
    found = []
    for axis in AXES:
        one = rater_agreement([[choice(vote, axis) for vote in group] for group in shared], "nominal", resamples, seed)
        counts = {"pairs": one.units, "votes": one.votes, "vote_pairs": one.pairs, "agreeing": one.agreeing}
        rate = {"rate": one.rate, "rate_low": one.rate_interval.low, "rate_high": one.rate_interval.high}
        alpha = {"alpha": one.alpha, "alpha_low": one.alpha_interval.low, "alpha_high": one.alpha_interval.high}
        found.append({"axis": axis, **counts, **rate, **alpha})
    return found


def confidences(votes: Sequence[CountedVote]) -> dict[str, Any]:
    """`axes`: mean confidence, and in how many of the votes of which it is known (`known`) nobody set it (`untouched`).

    `levels`: votes and share of each confidence from 1 to 5. Without gold and repeats.
    """
    study = study_votes(votes)
    means, levels = [], []
    for axis in AXES:
        counts = Counter(confidence(vote, axis) for vote in study)
        touched = [one for vote in study if (one := getattr(vote, f"{axis}_touched")) is not None]
        left = {"untouched": touched.count(False), "known": len(touched)}
        means.append({"axis": axis, "votes": len(study), "mean": _mean(study, axis), **left})
        for level in range(1, 6):
            share = counts[level] / len(study) if study else None
            levels.append({"axis": axis, "confidence": level, "votes": counts[level], "share": share})
    return {"axes": means, "levels": levels}


def axes(votes: Sequence[CountedVote], resamples: int, seed: int) -> dict[str, Any]:
    """The share of votes that prefer the same take on both axes, and the mean confidence in these and in the others.

    The interval is by bootstrap over people or, with fewer than ten, Wilson's over votes (`interval_over`). Gold and
    repeats are left out.
    """
    study = study_votes(votes)
    alike = [vote.alignment == vote.musicality for vote in study]
    interval, over = interval_over_people([vote.person for vote in study], alike, resamples, seed)
    same = [vote for vote, is_same in zip(study, alike, strict=True) if is_same]
    different = [vote for vote, is_same in zip(study, alike, strict=True) if not is_same]
    return {
        **{"votes": len(study), "same": len(same), "different": len(different)},
        "rate": len(same) / len(study) if study else None,
        **{"rate_low": interval.low, "rate_high": interval.high, "interval_over": over},
        "confidence": [
            {"preference": name, "axis": axis, "votes": len(group), "mean": _mean(group, axis)}
            for name, group in (("same", same), ("different", different))
            for axis in AXES
        ],
    }


def _mean(votes: Sequence[CountedVote], axis: Axis) -> float | None:
    return fmean(confidence(vote, axis) for vote in votes) if votes else None
