"""Bootstrap draws of many numbers at once, all on the same draws of prompts.

A mean needs no more of a prompt than its sum and its count, so that all means of all systems, groups and metrics are
two matrix products for each block of draws; correlations see the items themselves, and so do means of items that
belong to two clusters each (`others`).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cmi.stats import (
    cluster_weights,
    kendall_tau_b,
    pearson,
    spearman,
    weighted_kendall,
    weighted_pearson,
    weighted_spearman,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

K = TypeVar("K", bound=Hashable)

BLOCK = 2_000_000  # weights in memory at a time


class Metric(NamedTuple):
    name: str
    value: Callable[[Array, Array], float]  # of a system's numbers (m,) and the truth (m,)
    resampled: Callable[[Array, Array, Array], Array] | None  # under weights (b, m); None: a mean of the numbers
    chance: float  # what random guessing is expected to get


def _mean(numbers: Array, _truth: Array) -> float:
    return float(numbers.mean()) if numbers.size else float("nan")


ACCURACY = Metric("ACC", _mean, None, 0.5)
BRIER = Metric("Brier", _mean, None, 0.25)  # of which less is better
CORRELATIONS = (
    Metric("LCC", pearson, weighted_pearson, 0.0),
    Metric("SRCC", spearman, weighted_spearman, 0.0),
    Metric("K-Tau", kendall_tau_b, weighted_kendall, 0.0),
)


class Statistic(NamedTuple):
    """A metric of a system over some of the items."""

    metric: Metric
    numbers: Array  # (n,)
    truth: Array  # (n,)
    of: Mask  # (n,)

    def value(self) -> float:
        return self.metric.value(self.numbers[self.of], self.truth[self.of])


def draw_all(
    statistics: Mapping[K, Statistic],
    clusters: NDArray[np.int64],
    resamples: int,
    seed: int,
    others: NDArray[np.int64] | None = None,
) -> dict[K, Array]:
    """(resamples,) draws of each statistic. `clusters` (n,) are the items' codes, 0 to C - 1.

    An item with another cluster in `others` (-1: none) weighs as often as both were drawn, one times the other.
    """
    crossed = others is not None and bool((others >= 0).any())
    means = {key: one for key, one in statistics.items() if one.metric.resampled is None}
    ranked = {key: one for key, one in statistics.items() if one.metric.resampled is not None}
    count = int(max(clusters.max(), -1 if others is None else others.max())) + 1
    places, size = (np.arange(len(clusters)), len(clusters)) if crossed else (clusters, count)
    sums = _by_cluster([np.where(one.of, one.numbers, 0.0) for one in means.values()], places, size)
    sizes = _by_cluster([one.of.astype(np.float64) for one in means.values()], places, size)
    drawn: dict[K, list[Array]] = {key: [] for key in statistics}
    block = max(1, BLOCK // (len(clusters) if ranked or crossed else count))
    for weights in cluster_weights(np.arange(count), resamples, seed, block):  # (b, C)
        of_items = _of_items(weights, clusters, others) if ranked or crossed else weights  # (b, n)
        of_places = of_items if crossed else weights
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = (of_places @ sums) / (of_places @ sizes)  # (b, means)
        for i, key in enumerate(means):
            drawn[key].append(ratios[:, i])
        for key, one in ranked.items():
            drawn[key].append(_resampled(one, of_items))
    return {key: np.concatenate(parts) for key, parts in drawn.items()}


def _of_items(weights: Array, clusters: NDArray[np.int64], others: NDArray[np.int64] | None) -> Array:
    """(b, n): each item's weight from the clusters' (b, C), the product of both where it has two."""
    if others is None:
        return weights[:, clusters]
    return weights[:, clusters] * np.where(others >= 0, weights[:, others], 1.0)


def _resampled(one: Statistic, weights: Array) -> Array:
    """Under weights (b, n) of items."""
    if one.metric.resampled is None or not one.of.any():
        return np.full(len(weights), np.nan)
    return one.metric.resampled(one.numbers[one.of], one.truth[one.of], weights[:, one.of])


def _by_cluster(columns: Sequence[Array], clusters: NDArray[np.int64], count: int) -> Array:
    """(C, k): each column's sums over the items of each cluster."""
    sums = [np.bincount(clusters, column, minlength=count) for column in columns]
    return np.stack(sums, axis=1) if sums else np.zeros((count, 0))
