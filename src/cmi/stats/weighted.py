"""Correlation under many weightings at once: what a bootstrap of `cmi.stats.correlation` needs.

Each takes x and y (n,) and weights (b, n) and gives (b,). A weight says how often its item counts, so that a whole
number means the same as repeating the item: with every weight 1 the results are those of `cmi.stats.correlation`.
NaN where the correlation is undefined.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROWS = 512  # of the matrix of all pairs, in memory at a time


def weighted_pearson(x: Array, y: Array, weights: Array) -> Array:
    """Product-moment correlation; x and y may also differ from draw to draw (b, n)."""
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        a = x - (weights * x).sum(axis=1, keepdims=True) / total
        b = y - (weights * y).sum(axis=1, keepdims=True) / total
        spread = (weights * a**2).sum(axis=1) * (weights * b**2).sum(axis=1)
        tiny = 1e-24 * np.maximum(1.0, np.abs(x).max()) ** 2 * np.maximum(1.0, np.abs(y).max()) ** 2
        return np.where(spread > tiny, np.clip((weights * a * b).sum(axis=1) / np.sqrt(spread), -1, 1), np.nan)


def weighted_spearman(x: Array, y: Array, weights: Array) -> Array:
    """Pearson's r of the ranks that the items have in each draw; ties share their average rank."""
    return weighted_pearson(_ranks(x, weights), _ranks(y, weights), weights)


def weighted_kendall(x: Array, y: Array, weights: Array) -> Array:
    """Tau-b. Time grows with n squared, times b: meant for some thousand items."""
    agreement = np.zeros(len(weights))
    counts = weights.astype(np.float32)  # what is added are whole numbers below 2 ** 24, which float32 adds exactly
    for start in range(0, len(x), ROWS):
        rows = slice(start, start + ROWS)
        signs = (np.sign(x[rows, None] - x) * np.sign(y[rows, None] - y)).astype(np.float32)
        agreement += ((counts[:, rows] @ signs).astype(np.float64) * weights).sum(axis=1)
    untied = _untied(x, weights) * _untied(y, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(untied > 0, np.clip(agreement / np.sqrt(untied), -1, 1), np.nan)


def _groups(values: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """The tie group of each item, in rising order, and the groups' weights (b, g)."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values[order]) > 0]))
    groups = np.empty(len(values), np.int64)
    groups[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    return groups, np.add.reduceat(weights[:, order], starts, axis=1)


def _ranks(values: Array, weights: Array) -> Array:
    """(b, n): average ranks, but for a constant."""
    groups, sizes = _groups(values, weights)
    return (np.cumsum(sizes, axis=1) - sizes / 2)[:, groups]


def _untied(values: Array, weights: Array) -> Array:
    """(b,): ordered pairs of items, of all that were drawn, that differ in value."""
    _, sizes = _groups(values, weights)
    return weights.sum(axis=1) ** 2 - (sizes**2).sum(axis=1)
