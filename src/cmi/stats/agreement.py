"""Rater agreement: the rate of agreeing pairs of votes, and Krippendorff's alpha, with bootstrap intervals over units.

A unit is a rated object, given as the list of its votes; units with one vote are left out. Perfect agreement is 1; an
alpha of 0 is chance agreement (Krippendorff 2011).

    alpha = 1 - observed disagreement / expected disagreement, both sums over pairs of votes of a squared distance:
    nominal    0 for equal votes, 1 for others
    ordinal    the squared number of votes between the two values, with the votes for each end counted half
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.stats.intervals import Interval, bootstrap, percentile_interval

Level = Literal["nominal", "ordinal"]
Vote = str | float
Array = NDArray[np.float64]


class Agreement(NamedTuple):
    units: int  # with two votes or more
    votes: int
    pairs: int  # of votes on the same unit
    agreeing: int
    rate: float
    rate_interval: Interval
    alpha: float
    alpha_interval: Interval


def rater_agreement(
    units: Sequence[Sequence[Vote]], level: Level = "nominal", resamples: int = 1000, seed: int = 0
) -> Agreement:
    """Compute both measures with 95 % intervals; NaN if undefined (no unit with two votes, or one value only)."""
    shared = [unit for unit in units if len(unit) > 1]
    table = _counts(shared)
    sizes = table.sum(axis=1)
    pairs = sizes * (sizes - 1) / 2
    agreeing = (table * (table - 1)).sum(axis=1) / 2
    totals = int(sizes.sum()), int(pairs.sum()), int(agreeing.sum())
    if not shared:
        nothing = Interval(np.nan, np.nan)
        return Agreement(0, *totals, np.nan, nothing, np.nan, nothing)
    coincidences = _coincidences(table)
    alone = np.ones((1, len(shared)))
    alphas = bootstrap(lambda w: _alpha(w, coincidences, level), np.arange(len(shared)), resamples, seed)
    rates = bootstrap(lambda w: (w @ agreeing) / (w @ pairs), np.arange(len(shared)), resamples, seed)
    return Agreement(
        len(shared),
        *totals,
        totals[2] / totals[1],
        percentile_interval(rates),
        float(_alpha(alone, coincidences, level)[0]),
        percentile_interval(alphas),
    )


def krippendorff_alpha(units: Sequence[Sequence[Vote]], level: Level = "nominal") -> float:
    """Compute alpha alone; NaN if it is undefined."""
    shared = [unit for unit in units if len(unit) > 1]
    if not shared:
        return float("nan")
    return float(_alpha(np.ones((1, len(shared))), _coincidences(_counts(shared)), level)[0])


def _counts(units: Sequence[Sequence[Vote]]) -> Array:
    """Count how often each value was given to each unit: (units, values), values in rising order."""
    values = sorted({vote for unit in units for vote in unit})
    place = {value: i for i, value in enumerate(values)}
    table = np.zeros((len(units), len(values)))
    for i, unit in enumerate(units):
        for vote in unit:
            table[i, place[vote]] += 1
    return table


def _coincidences(table: Array) -> Array:
    """Count each unit's ordered pairs of votes, weighted to sum to its votes: (units, values, values)."""
    pairs = table[:, :, None] * table[:, None, :]
    pairs -= table[:, :, None] * np.eye(table.shape[1])
    return pairs / (table.sum(axis=1) - 1)[:, None, None]


def _alpha(weights: Array, coincidences: Array, level: Level) -> Array:
    """Compute alpha (b,) when unit u counts weights[:, u] times."""
    observed = np.tensordot(weights, coincidences, axes=1)  # (b, values, values)
    totals = observed.sum(axis=2)  # (b, values)
    expected = totals[:, :, None] * totals[:, None, :]
    distance = _distance(totals, level)
    n = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen, by_chance = (observed * distance).sum(axis=(1, 2)), (expected * distance).sum(axis=(1, 2))
        return np.where(by_chance > 0, 1 - (n - 1) * seen / by_chance, np.nan)


def _distance(totals: Array, level: Level) -> Array:
    """Compute the squared distances of values: (b or 1, values, values)."""
    count = totals.shape[1]
    if level == "nominal":
        return (1 - np.eye(count))[None]
    reached = np.cumsum(totals, axis=1) - totals / 2  # votes below a value, and half of its own
    return (reached[:, :, None] - reached[:, None, :]) ** 2
