"""Confidence intervals: Wilson's for a proportion, the cluster bootstrap for anything else.

Items that share a song, a singer or a prompt are not independent. The bootstrap therefore draws whole clusters with
replacement (the nonparametric cluster bootstrap: Davison and Hinkley 1997, on hierarchical data). A statistic takes a
draw as item weights: one matrix product serves many draws, and two systems are compared on the same draws.

With fewer than FEWEST_CLUSTERS clusters a bootstrap interval is far too narrow. A share then gets Wilson's interval,
with the clusters as trials; other statistics get none.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST_CLUSTERS = 10
FEWEST_ROBUST = 5  # clusters of a robust variance


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


def mean_interval(values: ArrayLike, clusterings: Sequence[NDArray[np.integer]]) -> Interval:
    """Return the 95 % interval of the mean of dependent values, such as votes that share a prompt or an annotator.

    The variance is robust to clusters in each of up to two clusterings, or in both at once (Cameron, Gelbach and Miller
    2011; the largest counts), with a t quantile for the smaller number of clusters. A clustering into fewer than
    FEWEST_ROBUST clusters is ignored; NaN if none is left.
    """
    found = np.asarray(values, np.float64)
    codes = [np.unique(one, return_inverse=True)[1] for one in clusterings]
    codes = [one for one in codes if len(one) and int(one.max()) + 1 >= FEWEST_ROBUST]
    if not codes:
        return Interval(math.nan, math.nan)
    rest = found - found.mean()
    variances = [_sum_variance(rest, one) for one in codes]
    if len(codes) == 2:
        both = np.unique(codes[0] * (int(codes[1].max()) + 1) + codes[1], return_inverse=True)[1]
        variances.append(sum(variances) - _sum_variance(rest, both))
    degrees = min(int(one.max()) for one in codes)
    half = t_quantile(0.975, degrees) * math.sqrt(max(variances)) / len(found)
    return Interval(float(found.mean()) - half, float(found.mean()) + half)


def _sum_variance(rest: NDArray[np.float64], codes: NDArray[np.integer]) -> float:
    """Return the variance of the sum of centred values whose clusters are independent."""
    clusters = int(codes.max()) + 1
    return float(np.square(np.bincount(codes, rest)).sum()) * clusters / (clusters - 1)


def t_quantile(p: float, degrees: int | None) -> float:
    """Return a quantile of Student's t (Cornish-Fisher expansion; to 0.001 for 4 or more degrees at p = 0.975)."""
    z = NormalDist().inv_cdf(p)
    if degrees is None:
        return z
    terms = [
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    ]
    return z + sum(term / degrees**power for power, term in enumerate(terms, 1))


def standard_error(draws: ArrayLike) -> float:
    """Return the standard deviation of the finite draws; NaN for fewer than two."""
    finite = _finite(draws)
    return float(finite.std(ddof=1)) if finite.size > 1 else math.nan


def _finite(draws: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(draws, dtype=np.float64)
    return values[np.isfinite(values)]
