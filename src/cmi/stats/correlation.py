"""Correlation of two lists of numbers: Pearson's r, Spearman's rho, Kendall's tau-b.

Each is NaN if it is undefined (fewer than two items, or one side constant). Lists of unequal length and values that
are not finite are a ValueError.

The `weighted_` functions serve bootstraps: x and y (n,) and weights (b, n) give (b,). A whole weight means the same as
repeating the item.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

ROWS = 512  # of the matrix of all pairs, in memory at a time


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Product-moment correlation (Pearson 1895).

    >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]), 3)
    0.8
    """
    a, b = _pair(x, y)
    if _undefined(a, b):
        return math.nan
    return float(np.clip(_standardised(a) @ _standardised(b), -1.0, 1.0))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Rank correlation (Spearman 1904): Pearson's r of the ranks, ties sharing their average rank."""
    a, b = _pair(x, y)
    return pearson(average_ranks(a), average_ranks(b))


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Rank correlation with ties (Kendall 1945), in O(n log n) (Knight 1966).

    tau-b = (concordant - discordant pairs) / sqrt(pairs not tied in x * pairs not tied in y)
    """
    a, b = _pair(x, y)
    if _undefined(a, b):
        return math.nan
    _, codes_a = np.unique(a, return_inverse=True)
    _, codes_b = np.unique(b, return_inverse=True)
    both = codes_a * len(b) + codes_b  # sorts by x, then y; inversions of y are then discordant
    discordant = _inversions(codes_b[np.argsort(both)])
    tied_a, tied_b, tied_both = _tied_pairs(codes_a), _tied_pairs(codes_b), _tied_pairs(both)
    pairs = len(a) * (len(a) - 1) // 2
    concordant = pairs - tied_a - tied_b + tied_both - discordant
    tau = (concordant - discordant) / math.sqrt((pairs - tied_a) * (pairs - tied_b))
    return max(-1.0, min(1.0, tau))


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"expected two lists of equal length, not shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("correlation is only defined for finite values")
    return a, b


def _undefined(a: Array, b: Array) -> bool:
    return len(a) < 2 or a.min() == a.max() or b.min() == b.max()


def _standardised(values: Array) -> Array:
    """`values` with mean 0 and norm 1."""
    centred: Array = values - values.mean()
    centred /= np.abs(centred).max()  # keeps the squares of tiny values from vanishing
    return centred / math.sqrt(centred @ centred)


def average_ranks(values: Array) -> Array:
    """Rank values from 1, the least; ties share their average rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def _tied_pairs(codes: NDArray[np.int64]) -> int:
    _, counts = np.unique(codes, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: NDArray[np.int64]) -> int:
    """Count pairs i < j with values[i] > values[j].

    Merge sort from the bottom up, all runs of one length at once. Each item of a right-hand run moves forward by as
    many places as the left-hand run has greater items, that is, inversions.
    """
    padding = (1 << (len(values) - 1).bit_length()) - len(values)
    values = np.concatenate([values, np.full(padding, values.max())])
    total = 0
    width = 1
    while width < len(values):
        runs = values.reshape(-1, 2 * width)
        order = runs.argsort(axis=1, kind="stable")  # merges two sorted runs in linear time
        moved = order - np.arange(2 * width)
        total += int(moved[order >= width].sum())
        values = np.take_along_axis(runs, order, axis=1).ravel()
        width *= 2
    return total


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
    """Kendall's tau-b in O(b n^2): for some thousand items."""
    agreement = np.zeros(len(weights))
    counts = weights.astype(np.float32)  # float32 adds whole numbers below 2 ** 24 exactly
    for start in range(0, len(x), ROWS):
        rows = slice(start, start + ROWS)
        signs = (np.sign(x[rows, None] - x) * np.sign(y[rows, None] - y)).astype(np.float32)
        agreement += ((counts[:, rows] @ signs).astype(np.float64) * weights).sum(axis=1)
    untied = _untied(x, weights) * _untied(y, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(untied > 0, np.clip(agreement / np.sqrt(untied), -1, 1), np.nan)


def _groups(values: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the tie group of each item, in rising order, and the groups' weights (b, g)."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values[order]) > 0]))
    groups = np.empty(len(values), np.int64)
    groups[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))
    return groups, np.add.reduceat(weights[:, order], starts, axis=1)


def _ranks(values: Array, weights: Array) -> Array:
    """Compute average ranks up to a constant: (b, n)."""
    groups, sizes = _groups(values, weights)
    return (np.cumsum(sizes, axis=1) - sizes / 2)[:, groups]


def _untied(values: Array, weights: Array) -> Array:
    """Count the ordered pairs of drawn items that differ in value: (b,)."""
    _, sizes = _groups(values, weights)
    return weights.sum(axis=1) ** 2 - (sizes**2).sum(axis=1)
