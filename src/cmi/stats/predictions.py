"""How good are probabilistic predictions? Brier score, calibration, ROC-AUC and average precision.

A forecast is the probability of an event, and its outcome is 1 or 0. The order of two takes does not matter, so the
forecast of a preference is the probability of the predicted winner, from 0.5 to 1 (`folded`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cmi.stats.intervals import Interval, wilson

Array = NDArray[np.floating[Any]]


class Bin(NamedTuple):
    """The forecasts in [low, high), or in [low, high] for the last bin, and their outcomes."""

    low: float
    high: float
    n: int
    forecast: float  # mean
    happened: float  # share
    interval: Interval  # of the share, 95 %


def logistic(differences: ArrayLike) -> Array:
    """Return P(a beats b) by the model of Bradley and Terry (1952), from the score of a minus that of b."""
    values = np.asarray(differences, np.float64)
    small = np.exp(-np.abs(values))  # at most 1: no overflow
    return np.where(values >= 0, 1 / (1 + small), small / (1 + small))


def folded(forecasts: ArrayLike, outcomes: ArrayLike) -> tuple[Array, Array]:
    """Turn each forecast and outcome into those of the likelier side."""
    said, happened = _pair(forecasts, outcomes)
    return np.maximum(said, 1 - said), np.where(said >= 0.5, happened, 1 - happened)


def brier(forecasts: ArrayLike, outcomes: ArrayLike) -> float:
    """Return the mean squared error of the forecasts (Brier 1950): 0 is perfect, always 0.5 gets 0.25."""
    said, happened = _pair(forecasts, outcomes)
    return float(np.mean((said - happened) ** 2)) if said.size else float("nan")


def reliability(forecasts: ArrayLike, outcomes: ArrayLike, edges: Sequence[float]) -> list[Bin]:
    """Return the non-empty bins between rising `edges`, which must enclose all forecasts."""
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
    """Return the mean gap of forecasts and outcomes over bins, weighted by n (Naeini et al. 2015); NaN without bins."""
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
    roc_auc: Array  # (b,)  NaN if all the weight is on positives, or none is
    average_precision: Array  # (b,)  NaN if no weight is on positives


def detection(scores: Array, truth: NDArray[np.bool_], weights: Array) -> Detection:
    """Measure how well scores (n,) rank positives above negatives under weights (b, n); ties share a threshold.

    Equals scikit-learn's `roc_auc_score` and `average_precision_score` with each row as `sample_weight`, but sorts the
    scores only once.
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
