"""Scores and probabilities against what happened: Brier score, calibration, ROC-AUC and average precision.

A forecast is the probability that something happens, an outcome is 1 if it did and 0 if not. Of two takes it does not
matter which comes first, so the forecast of a preference is that of the predicted winner, from 0.5 to 1 (`folded`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cmi.stats.intervals import Interval, wilson

Array = NDArray[np.floating[Any]]


class Bin(NamedTuple):
    """The forecasts from `low` up to, but without, `high` (the last bin has it): what was said, and what happened."""

    low: float
    high: float
    n: int
    forecast: float  # mean
    happened: float  # share
    interval: Interval  # of the share, 95 %


def logistic(differences: ArrayLike) -> Array:
    """P(a beats b) by the model of Bradley and Terry (1952), from the score of a minus that of b."""
    values = np.asarray(differences, np.float64)
    small = np.exp(-np.abs(values))  # at most 1, so that nothing overflows
    return np.where(values >= 0, 1 / (1 + small), small / (1 + small))


def folded(forecasts: ArrayLike, outcomes: ArrayLike) -> tuple[Array, Array]:
    """The same forecasts told of the side that each thinks likelier."""
    said, happened = _pair(forecasts, outcomes)
    return np.maximum(said, 1 - said), np.where(said >= 0.5, happened, 1 - happened)


def brier(forecasts: ArrayLike, outcomes: ArrayLike) -> float:
    """The mean squared error of the forecasts (Brier 1950): 0 is perfect, 0.25 is what saying 0.5 always gets."""
    said, happened = _pair(forecasts, outcomes)
    return float(np.mean((said - happened) ** 2)) if said.size else float("nan")


def reliability(forecasts: ArrayLike, outcomes: ArrayLike, edges: Sequence[float]) -> list[Bin]:
    """The bins between `edges` (rising, the first and last enclose all forecasts) that have a forecast in them."""
    said, happened = _pair(forecasts, outcomes)
    if said.size and not (edges[0] <= said.min() and said.max() <= edges[-1]):
        raise ValueError(f"forecasts from {said.min()} to {said.max()}, expected {edges[0]} to {edges[-1]}")
    place = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, len(edges) - 2)
    bins = []
    for i in range(len(edges) - 1):
        here = place == i
        n = int(here.sum())
        if n:
            share = float(happened[here].mean())
            interval = wilson(round(share * n), n)
            bins.append(Bin(edges[i], edges[i + 1], n, float(said[here].mean()), share, interval))
    return bins


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """How far forecasts and outcomes lie apart, over bins weighted by their n (Naeini et al. 2015); NaN without any."""
    n = sum(one.n for one in bins)
    return sum(one.n * abs(one.forecast - one.happened) for one in bins) / n if n else float("nan")


def _pair(forecasts: ArrayLike, outcomes: ArrayLike) -> tuple[Array, Array]:
    said, happened = np.asarray(forecasts, np.float64), np.asarray(outcomes, np.float64)
    if said.ndim != 1 or said.shape != happened.shape:
        raise ValueError(f"expected two lists of equal length, not shapes {said.shape} and {happened.shape}")
    if not (np.all((said >= 0) & (said <= 1)) and np.all((happened == 0) | (happened == 1))):
        raise ValueError("expected forecasts from 0 to 1 and outcomes of 0 or 1")
    return said, happened


class Detection(NamedTuple):
    roc_auc: Array  # (b,)  NaN where all the weight is on positives, or none is
    average_precision: Array  # (b,)  NaN where no weight is on positives


def detection(scores: Array, truth: NDArray[np.bool_], weights: Array) -> Detection:
    """How well scores (n,) rank positives above negatives, by truth (n,), under weights (b, n); ties share a threshold.

    With every weight 1 both equal scikit-learn's `roc_auc_score` and `average_precision_score`; with bootstrap counts
    as weights they equal its `sample_weight`. The scores are sorted once, whatever the number of weightings.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, positive = scores[order], np.flatnonzero(truth[order])
    group_ends = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    group_of_positive = np.searchsorted(group_ends, positive)
    groups, starts = np.unique(group_of_positive, return_index=True)  # the tie groups that hold a positive

    reached = np.cumsum(weights[:, order], axis=1)  # (b, n)  weight at or above each rank
    if not len(groups):
        undefined = np.full(len(weights), np.nan)
        return Detection(undefined, undefined)
    hits = np.add.reduceat(weights[:, order[positive]], starts, axis=1)  # (b, g)  positive weight in each group
    above_or_tied = reached[:, group_ends[groups]]
    above = np.where(groups > 0, reached[:, group_ends[np.maximum(groups - 1, 0)]], 0)
    hits_reached = np.cumsum(hits, axis=1)
    positives = hits_reached[:, -1]
    negatives = reached[:, -1] - positives

    misses_above = above - (hits_reached - hits)
    misses_tied = above_or_tied - above - hits
    with np.errstate(invalid="ignore", divide="ignore"):
        outranked = negatives[:, None] - misses_above - misses_tied / 2
        roc_auc = np.sum(hits * outranked, axis=1) / (positives * negatives)
        precision = np.where(above_or_tied > 0, hits_reached / above_or_tied, 0)
        average_precision = np.sum(hits * precision, axis=1) / positives
    return Detection(roc_auc, average_precision)
