"""Confidence intervals: Wilson's for a proportion, the cluster bootstrap for anything else.

Items that share a song, a singer or a prompt are not independent. The bootstrap therefore draws whole clusters with
replacement (the nonparametric cluster bootstrap: Davison and Hinkley 1997, on hierarchical data). A statistic takes a
draw as item weights: one matrix product serves many draws, and two systems are compared on the same draws.

With fewer than FEWEST_CLUSTERS clusters a bootstrap interval is far too narrow. A share then gets Wilson's interval,
with the clusters as trials; other statistics get none.
"""

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST_CLUSTERS = 10


class Interval(NamedTuple):
    low: float
    high: float


def wilson(successes: float, n: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval for a proportion (Wilson 1927); (0, 1) for n = 0. Ties may count as half."""
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n = {n}, not {successes}")
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = successes / n
    centre = p + z**2 / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return Interval(
        0.0 if successes == 0 else (centre - half) / scale,  # exact, because rounding might exclude p itself
        1.0 if successes == n else (centre + half) / scale,
    )


class Share(NamedTuple):
    """A share `hits` / `n` with Wilson's 95 % interval.

    >>> Share(3, 4).value, Share(0, 0).value
    (0.75, nan)
    """

    hits: int
    n: int

    @property
    def value(self) -> float:
        return self.hits / self.n if self.n else math.nan

    @property
    def interval(self) -> Interval:
        return wilson(self.hits, self.n)


def cluster_weights(
    clusters: NDArray[np.integer], resamples: int, seed: int, block: int = 100
) -> Iterator[NDArray[np.float64]]:
    """Yield bootstrap weights of n items, at most `block` draws at a time: arrays (b, n), `resamples` rows in all.

    `clusters` (n,) gives each item's cluster as a code 0..C-1. Each draw takes C clusters with replacement; an item's
    weight is how often its cluster was drawn. Weights need not add up to n: divide by their sum, not by n.

    The draws depend on the seed alone, not on `block`, which limits the memory.
    """
    sizes = np.bincount(clusters)  # refuses negative codes and more than one dimension
    if sizes.size == 0 or sizes.min() == 0:
        raise ValueError("clusters must be codes 0..C-1 without gaps, for one item or more")
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        taken = rng.integers(sizes.size, size=(rows, sizes.size))
        slots = taken + sizes.size * np.arange(rows)[:, np.newaxis]
        times_taken = np.bincount(slots.ravel(), minlength=slots.size).reshape(slots.shape)  # (rows, C)
        yield times_taken.astype(np.float64)[:, clusters]


def bootstrap(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: NDArray[np.integer],
    resamples: int = 1000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return draws (resamples,) of a statistic that maps item weights (b, n) to b values.

    For the weighted mean of `values`:  lambda weights: weights @ values / weights.sum(axis=1)
    """
    return np.concatenate([statistic(weights) for weights in cluster_weights(clusters, resamples, seed)])


def percentile_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Return the central `level` of the finite draws (Efron's percentile interval); NaN if none is finite."""
    finite = _finite(draws)
    if finite.size == 0:
        return Interval(math.nan, math.nan)
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def bootstrap_interval(draws: ArrayLike, clusters: int) -> Interval:
    """Return the percentile interval; NaN if there are too few clusters or all draws are equal."""
    found = percentile_interval(draws)
    return found if clusters >= FEWEST_CLUSTERS and found.low < found.high else Interval(math.nan, math.nan)


def share_interval(share: float, draws: ArrayLike, clusters: int) -> Interval:
    """Return the bootstrap interval of a share from 0 to 1, or Wilson's if there is none."""
    found = bootstrap_interval(draws, clusters)
    return wilson(min(share, 1.0) * clusters, clusters) if math.isnan(found.low) else found


def standard_error(draws: ArrayLike) -> float:
    """Return the standard deviation of the finite draws; NaN for fewer than two."""
    finite = _finite(draws)
    return float(finite.std(ddof=1)) if finite.size > 1 else math.nan


def _finite(draws: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(draws, dtype=np.float64)
    return values[np.isfinite(values)]
