"""Agreement of annotators (table 6 of the paper), their confidence (figure 4), agreement of the axes (table 7)."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from cmi.arena.statistics.inputs import AXES, Axis, choice, confidence, grouped, interval_over_people, study_votes
from cmi.arena.store.votes_view import CountedVote
from cmi.stats import rater_agreement


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


LEVELS = (1, 2, 3, 4, 5)


def confidences(votes: Sequence[CountedVote]) -> dict[str, Any]:
    """`axes`: mean confidence; `levels`: votes and share of each confidence from 1 to 5. Without gold and repeats."""
    study = study_votes(votes)
    means, levels = [], []
    for axis in AXES:
        counts = Counter(confidence(vote, axis) for vote in study)
        means.append({"axis": axis, "votes": len(study), "mean": _mean(study, axis)})
        for level in LEVELS:
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
