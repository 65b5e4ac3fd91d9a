"""The comparison engine of both benchmarks: is a system better than a null baseline, or than another system?

A benchmark turns each item into a row of numbers, and a `Metric` is a pure function of those rows and their weights.
Its value has every weight 1; a bootstrap draw is the same function with other weights (`draw`). Every metric, from
accuracy to corpus BLEU, thus gets clustered intervals and paired tests in the same way.

Intervals (`interval_of`)
    95 %, by the cluster bootstrap. With too few clusters a share has Wilson's interval and other metrics have none.

Tests (`compare`)
    Two systems are compared on the same items and draws. With fewer than FEWEST_TESTED clusters there is no p value.
    P values are adjusted by Holm within a family, such as all cells of one model (`adjust_p`).
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cmi.stats.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    bootstrap_interval,
    cluster_weights,
    percentile_interval,
    share_interval,
    standard_error,
)

SEED = 0
SIGNIFICANT = 0.05
FEWEST_TESTED = 20  # clusters; a bootstrap of fewer does not support a test
BLOCK = 500_000  # weights in memory at a time

Array = NDArray[np.floating[Any]]
Codes = NDArray[np.int64]
Better = Literal["higher", "lower"]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Metric:
    """One number of a system: `value(rows (n, k), weights (b, n)) -> (b,)`."""

    name: str
    value: Callable[[Array, Array], Array] = lambda _rows, weights: np.full(len(weights), np.nan)
    better: Better = "higher"
    mean_of: int | None = None  # the column whose mean this is, times `scale`; None if items have no score of their own
    scale: float = 1.0  # 100 for a mean in percent
    is_share: bool = False  # a mean of zeros and ones (ties may count half), for which Wilson's interval exists
    chance: float = math.nan  # the expected value of random guessing, if known
    not_computed: str = ""  # why there is no value, and how to get one


def mean_metric(
    name: str,
    column: int = 0,
    better: Better = "higher",
    scale: float = 1.0,
    is_share: bool = False,
    chance: float = math.nan,
) -> Metric:
    """Return the metric that is the mean of one column, times `scale`.

    >>> accuracy = mean_metric("ACC", scale=100, is_share=True)
    >>> accuracy.value(np.array([[1.0], [0.0], [1.0], [1.0]]), np.ones((1, 4)))
    array([75.])
    """

    def value(rows: Array, weights: Array) -> Array:
        return scale * (weights @ rows[:, column]) / weights.sum(axis=1)

    return Metric(name, value, better, column, scale, is_share, chance)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of a table with its interval and its comparison to the best null. Missing numbers are None."""

    JSON: ClassVar[tuple[str, ...]] = ()  # the fields that a benchmark's JSON has, in its order

    model: str
    metric: str
    protocol: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    better: Better = "higher"
    is_null: bool = False
    best_null: str | None = None
    null_value: float | None = None
    difference: float | None = None  # from the best null
    p: float | None = None  # of that difference, adjusted by `adjust_p`

    @property
    def verdict(self) -> str:
        """'above null', 'below null' or 'not told apart'; empty without a test."""
        found = verdict_of(self.difference, self.p, self.better)
        return {"better": "above null", "worse": "below null"}.get(found, found)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.JSON}


def is_gain(difference: float | None, better: Better) -> bool:
    """Whether a difference is for the better, by however little."""
    return (difference or 0.0) > 0 if better == "higher" else (difference or 0.0) < 0


def verdict_of(difference: float | None, p: float | None, better: Better) -> str:
    """'better', 'worse' or 'not told apart'; empty without a test.

    >>> verdict_of(-3.0, 0.001, "lower"), verdict_of(-3.0, 0.2, "lower"), verdict_of(-3.0, None, "lower")
    ('better', 'not told apart', '')
    """
    if p is None:
        return ""
    if p >= SIGNIFICANT or not difference:
        return "not told apart"
    return "better" if is_gain(difference, better) else "worse"


class Comparison(NamedTuple):
    """System a minus system b: the difference, its confidence interval and its two-sided p value."""

    difference: float
    low: float
    high: float
    p: float


def draw(
    statistics: Mapping[Key, Callable[[Array], Array]],
    clusters: Codes,
    resamples: int,
    others: Codes | None = None,
    seed: int = SEED,
) -> dict[Key, Array]:
    """Bootstrap statistics that map item weights (b, n) to (b, ...), all on the same draws: (resamples, ...) each.

    `clusters` (n,) are codes 0 to C - 1: items of one cluster are drawn together. The weight of an item that also
    belongs to a cluster in `others` (-1: none) is the product of both clusters' counts.
    """
    count = int(max(clusters.max(), -1 if others is None else others.max())) + 1
    drawn: dict[Key, list[Array]] = {key: [] for key in statistics}
    for times in cluster_weights(np.arange(count), resamples, seed, max(1, BLOCK // len(clusters))):  # (b, C)
        weights = times[:, clusters]  # (b, n)
        if others is not None:
            weights = weights * np.where(others >= 0, times[:, others], 1.0)
        for key, statistic in statistics.items():
            drawn[key].append(statistic(weights))
    return {key: np.concatenate(parts) for key, parts in drawn.items()}


def interval_of(metric: Metric, value: float, draws: Array, clusters: int) -> Interval:
    """Return the 95 % interval of a metric's value from draws of `clusters` clusters; NaN if there is none."""
    if not math.isfinite(value):
        return Interval(math.nan, math.nan)
    if not metric.is_share:
        return bootstrap_interval(draws, clusters)
    low, high = share_interval(value / metric.scale, draws / metric.scale, clusters)
    return Interval(metric.scale * low, metric.scale * high)


def best_of(values: Mapping[str, float], better: Better = "higher") -> str | None:
    """Return the name with the best value, the first of equals; None if no value is finite.

    >>> best_of({"empty answer": 0.0, "most frequent": 12.5, "not computed": math.nan})
    'most frequent'
    """
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    pick = max if better == "higher" else min
    return pick(finite, key=lambda name: finite[name], default=None)


def compare(difference: float, draws_a: ArrayLike, draws_b: ArrayLike, clusters: int) -> Comparison:
    """Compare two systems on the same draws; the interval or the p value is NaN if there are too few clusters."""
    found = paired_bootstrap(difference, draws_a, draws_b)
    low, high = found[1:3] if clusters >= FEWEST_CLUSTERS else (math.nan, math.nan)
    is_tested = clusters >= FEWEST_TESTED and math.isfinite(difference)
    return Comparison(difference, low, high, found.p if is_tested else math.nan)


def paired_bootstrap(difference: float, draws_a: ArrayLike, draws_b: ArrayLike) -> Comparison:
    """Compare two systems by bootstrap draws made with the same weights; `difference` is a minus b on all items.

    The interval is the percentile interval of the draws' differences. The p value is that of `|difference|` / standard
    error under the normal law, not the share of draws beyond 0: that share cannot fall below 1 / resamples, too coarse
    for Holm's correction over the 34 rows of a table with 1000 draws (0.05 / 34 = 0.0015).
    Pairs of draws that are not both finite are left out; with fewer than two left, p is NaN. If the standard error is
    0, p is 1 for no difference and 0 for any.
    """
    differences = np.asarray(draws_a, dtype=np.float64) - np.asarray(draws_b, dtype=np.float64)
    low, high = percentile_interval(differences)
    error = standard_error(differences)
    p = float(difference == 0) if error == 0 else math.erfc(abs(difference) / error / math.sqrt(2))
    return Comparison(difference, low, high, p)


def mcnemar_exact(only_a_right: int, only_b_right: int) -> float:
    """Return the p value of the two-sided exact McNemar test on the items that only one system got right.

    p = 2 P(X <= the smaller count), X ~ Binomial(both counts together, 1/2), and at most 1 (Fagerland et al. 2013).

    >>> round(mcnemar_exact(9, 1), 6)
    0.021484
    """
    smaller, n = min(only_a_right, only_b_right), only_a_right + only_b_right
    if smaller < 0:
        raise ValueError(f"counts must not be negative: {only_a_right}, {only_b_right}")
    # P(X = smaller) in logarithms, to avoid overflow; each lower term by its ratio to the one above.
    log_top = math.lgamma(n + 1) - math.lgamma(smaller + 1) - math.lgamma(n - smaller + 1) - n * math.log(2)
    total, term = 1.0, 1.0
    for k in range(smaller, 0, -1):
        term *= k / (n - k + 1)
        total += term
        if term < 1e-17 * total:
            break
    return min(1.0, 2 * math.exp(log_top) * total)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for multiple testing (Holm 1979), in the order given.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"p values must lie between 0 and 1: {list(p_values)}")
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = floor
    return adjusted


class _Tested(Protocol):
    """A dataclass with a p value."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def p(self) -> float | None: ...


Tested = TypeVar("Tested", bound=_Tested)


def adjust_p(tested: Sequence[Tested], family: Callable[[Tested], Hashable]) -> list[Tested]:
    """Return the cells or comparisons with p adjusted by Holm within each family; None stays None."""
    adjusted: dict[int, float] = {}
    places: dict[Hashable, list[tuple[int, float]]] = {}
    for i, one in enumerate(tested):
        if one.p is not None:
            places.setdefault(family(one), []).append((i, one.p))
    for members in places.values():
        adjusted |= zip([i for i, _ in members], holm([p for _, p in members]), strict=True)
    return [replace(one, p=adjusted.get(i)) for i, one in enumerate(tested)]


def finite(value: float) -> float | None:
    """Return the value, or None if it is NaN or infinite, for JSON."""
    return float(value) if math.isfinite(value) else None
