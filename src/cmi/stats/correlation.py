"""Correlation of two lists of numbers: Pearson's r, Spearman's rho, Kendall's tau-b.

Each is NaN where it is undefined (fewer than two items, or one side constant). Lists of unequal length and values that
are not finite are a ValueError: which items to leave out is the caller's decision.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Product-moment correlation (Pearson 1895)."""
    a, b = _pair(x, y)
    if _undefined(a, b):
        return math.nan
    return float(np.clip(_standardised(a) @ _standardised(b), -1.0, 1.0))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Rank correlation (Spearman 1904): Pearson's r of the ranks, ties sharing their average rank."""
    a, b = _pair(x, y)
    return pearson(_average_ranks(a), _average_ranks(b))


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Rank correlation with ties (Kendall 1945), in O(n log n) (Knight 1966).

    tau-b = (concordant - discordant pairs) / sqrt(pairs not tied in x * pairs not tied in y)
    """
    a, b = _pair(x, y)
    if _undefined(a, b):
        return math.nan
    _, codes_a = np.unique(a, return_inverse=True)
    _, codes_b = np.unique(b, return_inverse=True)
    both = codes_a * len(b) + codes_b  # orders by x and, among equal x, by y: what is then out of order is discordant
    discordant = _inversions(codes_b[np.argsort(both)])
    tied_a, tied_b, tied_both = _tied_pairs(codes_a), _tied_pairs(codes_b), _tied_pairs(both)
    pairs = len(a) * (len(a) - 1) // 2
    concordant = pairs - tied_a - tied_b + tied_both - discordant
    tau = (concordant - discordant) / math.sqrt((pairs - tied_a) * (pairs - tied_b))
    return max(-1.0, min(1.0, tau))


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"expected two lists of equal length, not shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("correlation is only defined for finite values")
    return a, b


def _undefined(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return len(a) < 2 or a.min() == a.max() or b.min() == b.max()


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`values` with mean 0 and norm 1."""
    centred: NDArray[np.float64] = values - values.mean()
    centred /= np.abs(centred).max()  # or the squares of tiny values would vanish
    return centred / math.sqrt(centred @ centred)


def _average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def _tied_pairs(codes: NDArray[np.int64]) -> int:
    _, counts = np.unique(codes, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: NDArray[np.int64]) -> int:
    """Pairs i < j with values[i] > values[j].

    Merge sort from the bottom up, all runs of one length at once. Each item of a right-hand run moves forward past just
    those of the left-hand run that are greater: how far it moves is how many inversions it is in.
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
