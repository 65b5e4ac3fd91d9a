"""Two systems on the same items: is one better, and how small a difference could be seen?"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cmi.stats.intervals import percentile_interval, standard_error


class Comparison(NamedTuple):
    """System a minus system b: the difference, its confidence interval and its two-sided p value."""

    difference: float
    low: float
    high: float
    p: float


def mcnemar_exact(only_a_right: int, only_b_right: int) -> float:
    """Two-sided exact McNemar test: the items that one system alone got right, against a fair coin.

    p = 2 P(X <= the smaller count), X ~ Binomial(both counts together, 1/2), and at most 1 (Fagerland et al. 2013).
    """
    smaller, n = min(only_a_right, only_b_right), only_a_right + only_b_right
    if smaller < 0:
        raise ValueError(f"counts must not be negative: {only_a_right}, {only_b_right}")
    # P(X = smaller) in logarithms, which no count overflows; each lower term by its ratio to the one above.
    log_top = math.lgamma(n + 1) - math.lgamma(smaller + 1) - math.lgamma(n - smaller + 1) - n * math.log(2)
    total, term = 1.0, 1.0
    for k in range(smaller, 0, -1):
        term *= k / (n - k + 1)
        total += term
        if term < 1e-17 * total:
            break
    return min(1.0, 2 * math.exp(log_top) * total)


def paired_bootstrap(difference: float, draws_a: ArrayLike, draws_b: ArrayLike, level: float = 0.95) -> Comparison:
    """Compare two systems by bootstrap draws made with the same weights; `difference` is a minus b on all items.

    The interval is the percentile interval of the draws' differences. The p value is that of |difference| / standard
    error under the normal law, not the share of draws beyond 0: that share cannot fall below 1 / resamples, too coarse
    for Holm's correction over the 34 rows of a table with 1000 draws (0.05 / 34 = 0.0015).
    Pairs of draws where either is not finite are left out; with fewer than two left, p is NaN. Where all draws agree
    (standard error 0), p is 1 for no difference and 0 for any.
    """
    differences = np.asarray(draws_a, dtype=np.float64) - np.asarray(draws_b, dtype=np.float64)
    low, high = percentile_interval(differences, level)
    return Comparison(difference, low, high, _normal_p(difference, standard_error(differences)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for testing them all (Holm 1979), in the order given."""
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"p values must lie between 0 and 1: {list(p_values)}")
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = floor
    return adjusted


def minimum_detectable_difference(standard_error: float, level: float = 0.95, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test at `level` finds with probability `power`.

    (z of (1 + level) / 2  +  z of power) standard errors of the difference (Bloom 1995).
    """
    normal = NormalDist()
    return (normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)) * standard_error


def _normal_p(difference: float, standard_error: float) -> float:
    if standard_error == 0:
        return 1.0 if difference == 0 else 0.0
    return math.erfc(abs(difference) / standard_error / math.sqrt(2))
