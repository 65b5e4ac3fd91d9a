"""Do loudness, duration or being first win votes, and what are the systems' strengths adjusted for them?

    loudness   LUFS of a minus b, per LU             duration   log2 of a's seconds over b's, per doubling
    first      1 if a was shown first, else -1: an effect e means that of two equals the first is preferred with
               probability 1 / (1 + exp(-e))

Each has a plain share (votes for the take with more of it, without equal takes) and an effect in log odds from one
Bradley-Terry fit with all covariates and the systems. A covariate that cannot be separated from the systems, because
each pairing of systems always differs by the same amount, has no effect; `note` says so.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.arena.statistics.inputs import AXES, Axis
from cmi.arena.statistics.ranking import Field, compared, with_enough_votes
from cmi.arena.store.study import CountedVote
from cmi.stats import wilson
from cmi.stats.ranking import Comparisons, bradley_terry, fit_with_prior, identifiable

Array = NDArray[np.float64]


class Covariate(NamedTuple):
    name: str
    unit: str
    of: Callable[[CountedVote], float]  # a minus b; NaN if not measured


def _loudness(vote: CountedVote) -> float:
    return math.nan if vote.lufs_a is None or vote.lufs_b is None else vote.lufs_a - vote.lufs_b


def _doublings(vote: CountedVote) -> float:
    return math.log2(vote.seconds_a / vote.seconds_b) if vote.seconds_a > 0 < vote.seconds_b else math.nan


COVARIATES = (
    Covariate("loudness", "LU", _loudness),
    Covariate("duration", "doubling", _doublings),
    Covariate("first", "position", lambda vote: -1.0 if vote.swapped else 1.0),
)


def covariates(votes: Sequence[CountedVote], minimum_votes: int) -> dict[str, Any]:
    """`effects`: a row per axis and covariate; `systems`: plain and adjusted strengths, from the same votes.

    `left_out` counts votes without a loudness or duration; a covariate that no vote has leaves none out.
    """
    field, _ = with_enough_votes(compared(votes), max(1, minimum_votes))
    values = np.array([[one.of(vote) for one in COVARIATES] for vote in field.votes]).reshape(-1, len(COVARIATES))
    values[~np.isfinite(values)] = np.nan  # digital silence has a loudness of minus infinity
    measured = ~np.isnan(values).all(axis=0) if len(values) else np.zeros(len(COVARIATES), bool)
    whole = ~np.isnan(values[:, measured]).any(axis=1)
    votes_left = [vote for vote, keep in zip(field.votes, whole, strict=True) if keep]
    whole_field = compared(votes_left)
    effects: list[dict[str, Any]] = []
    systems: list[dict[str, Any]] = []
    for axis in AXES:
        one = _axis(whole_field, values[whole], measured, axis)
        effects += one[0]
        systems += one[1]
    return {"effects": effects, "systems": systems, "left_out": len(field.votes) - len(votes_left)}


def _axis(
    field: Field, values: Array, measured: NDArray[np.bool_], axis: Axis
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if not field.votes:
        return [_row(axis, one, None, None, "no votes to fit") for one in COVARIATES], []
    comparisons, clusters = field.comparisons(axis), field.clusters()
    kept = measured.copy()
    kept[measured] = identifiable(comparisons, values[:, measured])
    plain, _ = fit_with_prior(bradley_terry, comparisons, None, clusters)
    adjusted, _ = fit_with_prior(bradley_terry, comparisons, values[:, kept], clusters)
    effects, place = [], np.cumsum(kept) - 1
    for i, one in enumerate(COVARIATES):
        shares = _share(comparisons, values[:, i]) if measured[i] else None
        note = "" if kept[i] else "cannot be separated from the systems" if measured[i] else "not measured"
        if measured[i] and not values[:, i].any():
            note = "the same for all takes"
        effects.append(_row(axis, one, shares, adjusted.effect(int(place[i])) if kept[i] else None, note))
    return effects, [
        {
            **{"axis": axis, "system": name},
            "votes": int(((comparisons.first == i) | (comparisons.second == i)).sum()),
            **dict(zip(("strength", "low", "high"), plain.strength(i), strict=True)),
            **dict(zip(("adjusted", "adjusted_low", "adjusted_high"), adjusted.strength(i), strict=True)),
        }
        for i, name in enumerate(field.systems)
    ]


def _share(comparisons: Comparisons, values: Array) -> tuple[int, int]:
    """Votes for the take with more of a covariate, and all votes on takes that differ."""
    differ = values != 0
    return int((np.sign(values) == comparisons.outcome)[differ].sum()), int(differ.sum())


def _row(
    axis: Axis, one: Covariate, shares: tuple[int, int] | None, effect: tuple[float, ...] | None, note: str
) -> dict[str, Any]:
    hits, n = shares or (0, 0)
    low, high = wilson(hits, n) if n else (None, None)
    value, effect_low, effect_high = effect or (None, None, None)
    return {
        **{"axis": axis, "covariate": one.name, "unit": one.unit, "votes": n, "share": hits / n if n else None},
        **{"share_low": low, "share_high": high},
        **{"effect": value, "effect_low": effect_low, "effect_high": effect_high, "note": note},
    }
