"""How sure are annotators (figure 4 of the paper), and do the two axes prefer the same take (table 7)?"""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from cmi.arena.statistics.inputs import AXES, Axis, confidence, interval_over_people, study_votes
from cmi.arena.store.votes_view import CountedVote

LEVELS = (1, 2, 3, 4, 5)


def confidences(votes: Sequence[CountedVote]) -> dict[str, Any]:
    """`axes`: mean confidence on each; `levels`: how many votes, and what share, have each confidence from 1 to 5.

    Gold and repeats are left out.
    """
    study = study_votes(votes)
    means, levels = [], []
    for axis in AXES:
        counts = Counter(confidence(vote, axis) for vote in study)
        means.append({"axis": axis, "votes": len(study), "mean": _mean(study, axis)})
        levels += [
            {
                "axis": axis,
                "confidence": level,
                "votes": counts[level],
                "share": counts[level] / len(study) if study else None,
            }
            for level in LEVELS
        ]
    return {"axes": means, "levels": levels}


def axes(votes: Sequence[CountedVote], resamples: int, seed: int) -> dict[str, Any]:
    """The share of votes in which both axes prefer the same take, and the mean confidence in those and in the others.

    The interval is by bootstrap over people (`interval_over` 'people') or, with fewer than ten, Wilson's over votes.
    Gold and repeats are left out.
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
