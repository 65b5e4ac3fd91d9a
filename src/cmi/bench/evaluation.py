"""The interface of tasks: items go in, an evaluation comes out.

A task turns each item into one row of numbers. Its metrics are functions of these rows (`cmi.stats.comparison`), on the
scale of the published table.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.bench.metrics.tools import Tools
from cmi.stats.comparison import Array as Array
from cmi.stats.comparison import Better, mean_metric
from cmi.stats.comparison import Metric as Metric

Protocol = Literal["paper", "strict"]


class Item(NamedTuple):
    """One answered question. An answer that is missing or failed is the empty text."""

    question: str
    answer: str
    truth: str
    recording: str  # what the clip was cut from; items of one recording are resampled together
    start: float | None = None  # the clip's place in the recording in seconds, if known
    end: float | None = None

    @property
    def length(self) -> float | None:
        """The clip's length in seconds, if known."""
        return self.end - self.start if self.start is not None and self.end is not None else None


class Setting(NamedTuple):
    """What a task needs to know to score a set of answers."""

    dataset: str
    protocol: Protocol
    model: str
    tools: Tools


@dataclass(frozen=True)
class Evaluation:
    metrics: tuple[Metric, ...]
    statistics: Array  # (n, k)
    clusters: NDArray[np.int64]  # (n,)  the recording of each item, 0 .. C - 1
    unparsed: int
    notes: tuple[str, ...] = ()
    joint: Callable[[Array, Array], Array] | None = None  # all metrics at once -> (b, m), if they share work
    most_resamples: int | None = None  # a limit for metrics whose draws are expensive
    is_biased: bool = False  # the draws are biased by construction; their interval is centred on the value

    @property
    def n(self) -> int:
        return len(self.statistics)

    @property
    def recordings(self) -> int:
        return len(np.unique(self.clusters))

    def values(self, weights: Array | None = None) -> Array:
        """Compute every metric under weights (b, n), by default all 1: (b, m). NaN if undefined or not computed."""
        weights = np.ones((1, self.n), np.float32) if weights is None else weights
        if not self.n:
            return np.full((len(weights), len(self.metrics)), np.nan)
        if self.joint is not None:
            return self.joint(self.statistics, weights)
        return np.stack([metric.value(self.statistics, weights) for metric in self.metrics], axis=1)


class Measured(NamedTuple):
    """One item's row of numbers, and whether its answer could be parsed."""

    parsed: bool
    row: Sequence[float]


@dataclass
class Tally:
    """Collects measured items into an evaluation, at eight bytes per number."""

    unparsed: int = 0
    _numbers: "array[float]" = field(default_factory=lambda: array("d"))
    _recordings: "array[int]" = field(default_factory=lambda: array("q"))  # hashes, to save memory

    def add(self, item: Item, measured: Measured) -> None:
        self._numbers.extend(measured.row)
        self._recordings.append(hash(item.recording))
        self.unparsed += not measured.parsed

    def evaluation(self, metrics: Sequence[Metric], notes: Sequence[str] = ()) -> Evaluation:
        n = len(self._recordings)
        statistics = np.asarray(self._numbers, dtype=np.float64).reshape(n, len(self._numbers) // n if n else 0)
        return Evaluation(tuple(metrics), statistics, _codes(self._recordings), self.unparsed, tuple(notes))


def _codes(recordings: "array[int]") -> NDArray[np.int64]:
    """Number the recordings by first appearance, which makes bootstrap draws independent of the hashes."""
    _, first, inverse = np.unique(np.asarray(recordings, np.int64), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def evaluate_each(
    items: Iterable[Item], measure: Callable[[Item], Measured], metrics: Sequence[Metric], notes: Sequence[str] = ()
) -> Evaluation:
    """Evaluate a task whose items are measured independently."""
    tally = Tally()
    for item in items:
        tally.add(item, measure(item))
    return tally.evaluation(metrics, notes)


def percent_mean(name: str, column: int = 0, better: Better = "higher") -> Metric:
    """The mean of one column, times 100."""
    return mean_metric(name, column, better, scale=100)


def accuracy(name: str, column: int = 0) -> Metric:
    """The share of items whose column is 1, times 100."""
    return mean_metric(name, column, scale=100, is_share=True)


def percent_ratio(name: str, over: int, under: int, better: Better = "higher") -> Metric:
    """The sum of one column over the sum of another, times 100; NaN if the latter is 0."""

    def value(statistics: Array, weights: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return 100 * (weights @ statistics[:, over]) / (weights @ statistics[:, under])

    return Metric(name, value, better)


def percent_median(name: str, column: int, better: Better = "higher") -> Metric:
    """The median of one column, times 100: the mean of the two middle values when the count is even."""

    def value(statistics: Array, weights: Array) -> Array:
        order = np.argsort(statistics[:, column], kind="stable")
        ranked = statistics[order, column]
        reached = np.cumsum(weights[:, order], axis=1)  # (b, n)
        half = reached[:, -1:] / 2
        lower = np.argmax(reached >= half, axis=1)
        upper = np.argmax(reached > half, axis=1)
        return 50 * (ranked[lower] + ranked[upper])

    return Metric(name, value, better)


def of_sums(name: str, function: Callable[[Array], Array], columns: slice = slice(None)) -> Metric:
    """A function of the columns' sums: `function((b, k)) -> (b,)`."""

    def value(statistics: Array, weights: Array) -> Array:
        return function(weights @ statistics[:, columns])

    return Metric(name, value)
