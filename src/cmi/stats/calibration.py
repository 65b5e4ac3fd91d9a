"""Do probabilities mean what they say? The Brier score, reliability by bins, and the expected calibration error.

A forecast is the probability that something happens, an outcome is 1 if it did and 0 if not. Of two takes it does not
matter which comes first, so the forecast of a preference is that of the predicted winner, from 0.5 to 1 (`folded`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cmi.stats.intervals import Interval, wilson

Array = NDArray[np.float64]


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
