"""Evaluate scores: every metric with its interval and its best null, and models against each other.

Intervals
    95 %, from a bootstrap over prompts. Pairs of rated pieces are drawn by both pieces: a pair's weight is the product
    of their counts. With fewer than ten prompts, or if all draws are equal, an accuracy has Wilson's interval for as
    many prompts, and other numbers have none.

Comparisons
    A model against the best null, and two models against each other, over the items that both scored and on the same
    draws. P values are adjusted by Holm over all cells of a model (of a pair of models); with fewer than 20 prompts
    there is none. Random guessing is a null with its expectation: half of the pairs, no correlation.

Calibration (strict)
    The probability that a is preferred is the logistic function of the difference of the scores: Brier score, and
    expected calibration error over five bins of the predicted winner's probability.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import (
    TASKS,
    Array,
    Protocol,
    Scores,
    Task,
    TaskData,
    Unread,
    answers,
    ask,
    credit,
    unread_items,
)
from cmi.stats import Bin, folded, logistic, reliability, weighted_kendall, weighted_pearson, weighted_spearman
from cmi.stats.comparison import (
    Cell,
    Comparison,
    Metric,
    adjust_p,
    best_of,
    compare,
    draw,
    finite,
    interval_of,
    mean_metric,
)

RESAMPLES = 2000
RANDOM = "random"
BIN_EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EVERYTHING = "all"

Grouping = Callable[[RatedItem, Task], str | None]  # returns an item's group, or None
Mask = NDArray[np.bool_]

# Functions of rows (n, 2): a system's scores, or their credit, and the truth.
ACCURACY = mean_metric("ACC", is_share=True, chance=0.5)
BRIER = mean_metric("Brier", better="lower", chance=0.25)
CORRELATIONS = tuple(
    Metric(name, lambda rows, weights, of=correlation: of(*rows.T, weights), chance=0.0)  # type: ignore[misc]
    for name, correlation in (("LCC", weighted_pearson), ("SRCC", weighted_spearman), ("K-Tau", weighted_kendall))
)


@dataclass(frozen=True, kw_only=True)
class RewardCell(Cell):
    """One number of a scorer on one task of a data set. Shares are from 0 to 1."""

    JSON: ClassVar[tuple[str, ...]] = (
        *("model", "dataset", "task", "group", "metric", "protocol", "value", "low", "high", "n", "unscored"),
        *("unparsed", "undecided", "prompts", "is_null", "best_null", "null_value", "difference", "p"),
    )

    dataset: str
    task: str
    group: str
    unscored: int  # items left out because a take has no score
    unparsed: int | None  # of a judge: items of which no answer could be read; wrong under paper, left out under strict
    undecided: int  # pairs for which people said both or neither: in n under paper, left out under strict
    prompts: int


@dataclass(frozen=True)
class Versus:
    """Model a minus model b on the items that both scored."""

    a: str
    b: str
    dataset: str
    task: str
    group: str
    metric: str
    protocol: Protocol
    n: int
    difference: float
    low: float | None  # None if there are too few prompts
    high: float | None
    p: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Reliability(NamedTuple):
    """A model's calibration on one task of a data set."""

    model: str
    dataset: str
    task: str
    bins: list[Bin]


class Results(NamedTuple):
    """The results of an evaluation."""

    cells: list[RewardCell]
    versus: list[Versus]
    reliability: list[Reliability]


def evaluate(
    items: Iterable[RatedItem],
    models: Mapping[str, Scores],
    nulls: Mapping[str, Scores],
    protocol: Protocol,
    resamples: int = RESAMPLES,
    by: Grouping | None = None,
    tasks: Sequence[Task] = TASKS,
    judges: Mapping[str, Unread] | None = None,
) -> Results:
    """Evaluate all models and nulls on all tasks, over all items and in each group of `by`.

    `judges` are those models that are judges, with what could not be read of their answers.
    """
    cells: list[RewardCell] = []
    versus: list[Versus] = []
    reliabilities: list[Reliability] = []
    for asked in ask(items, tasks):
        given = {name: answers(asked, scores) for name, scores in {**models, **nulls}.items()}
        unread = {name: unread_items(asked, of_judge) for name, of_judge in (judges or {}).items()}
        views = list(_views(asked, given, unread, protocol, by))
        drawn = _draws([view.statistics(models) for view in views], asked, resamples)
        for view, draws in zip(views, drawn, strict=True):
            cells += _cells(view, draws, asked, protocol, models)
            versus += _versus(view, draws, asked, protocol, models)
        if protocol == "strict" and asked.task.is_preference:
            reliabilities += [Reliability(m, asked.dataset, asked.task.name, _bins(asked, given[m])) for m in models]
    adjusted = adjust_p(cells, lambda cell: cell.model), adjust_p(versus, lambda one: (one.a, one.b))
    return Results(*adjusted, reliabilities)


def named_values(cells: Iterable[RewardCell]) -> dict[str, dict[str, float]]:
    """Return each model's numbers over all items by name: each value with its interval, its n and the best null's."""
    found: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.is_null or cell.group != EVERYTHING:
            continue
        name = f"{cell.dataset}/{cell.task} {cell.metric}"
        parts = {"": cell.value, " low": cell.low, " high": cell.high, " n": cell.n, " best null": cell.null_value}
        own = found.setdefault(cell.model, {})
        own |= {name + part: float(value) for part, value in parts.items() if value is not None}
    return found


class Statistic(NamedTuple):
    """A metric of a system over some of the items."""

    metric: Metric
    rows: Array  # (n, 2)
    of: Mask  # (n,)

    def value(self) -> float:
        return float(self.draws(np.ones((1, len(self.of))))[0])

    def draws(self, weights: Array) -> Array:
        """Return the metric (b,) under weights (b, n)."""
        if not self.of.any():
            return np.full(len(weights), np.nan)
        return self.metric.value(self.rows[self.of], weights[:, self.of])


Draws = Mapping[tuple[str, str], Array]


def _draws(views: Sequence[Mapping[tuple[str, str], Statistic]], asked: TaskData, resamples: int) -> list[Draws]:
    """Draw all statistics of all views on the same prompts; all means in one matrix product."""
    every = {(i, *pair): one for i, view in enumerate(views) for pair, one in view.items()}
    means = {key: one for key, one in every.items() if one.metric.mean_of is not None}
    functions: dict[tuple[Any, ...], Callable[[Array], Array]] = {
        key: one.draws for key, one in every.items() if key not in means
    }
    if means:
        sums = np.stack([np.where(one.of, one.rows[:, 0], 0.0) for one in means.values()], axis=1)  # (n, means)
        counts = np.stack([one.of.astype(np.float64) for one in means.values()], axis=1)

        def ratios(weights: Array) -> Array:
            with np.errstate(invalid="ignore", divide="ignore"):
                return (weights @ sums) / (weights @ counts)

        functions[()] = ratios
    drawn = draw(functions, asked.clusters, resamples, asked.others)
    drawn |= zip(means, drawn.pop((), np.empty((0, 0))).T, strict=True)
    return [{pair: drawn[i, *pair] for pair in view} for i, view in enumerate(views)]


@dataclass(frozen=True)
class _View:
    """One metric in one group of the items of a task."""

    metric: Metric
    group: str
    numbers: Mapping[str, Array]  # (n,) per system; NaN if an item is not in the group or does not count
    truth: Array
    clusters: NDArray[np.int64]
    unscored: Mapping[str, int]
    unparsed: Mapping[str, int]  # of judges
    undecided: int

    def counted(self, system: str) -> Mask:
        return ~np.isnan(self.numbers[system])

    def of(self, system: str, beside: str) -> Statistic:
        """Return the statistic of a system over the items that it and another scored."""
        shared = self.counted(system)
        if beside in self.numbers:
            shared = shared & self.counted(beside)
        return Statistic(self.metric, np.stack([self.numbers[system], self.truth], axis=1), shared)

    def prompts(self, of: Mask) -> int:
        return len(np.unique(self.clusters[of]))

    def value(self, system: str, beside: str = "") -> float:
        return self.metric.chance if system == RANDOM else self.of(system, beside).value()

    def best_null(self, models: Iterable[str]) -> str:
        if self.metric is BRIER:  # the nulls do not give probabilities
            return RANDOM
        nulls = [RANDOM, *(name for name in self.numbers if name not in set(models))]
        return best_of({name: self.value(name) for name in nulls}) or RANDOM

    def pairs(self, models: Iterable[str]) -> list[tuple[str, str]]:
        """Return the pairs to compare: each model with the best null and with each model after it."""
        names = list(models)
        best = self.best_null(names)
        return [(name, best) for name in names] + [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    def statistics(self, models: Iterable[str]) -> dict[tuple[str, str], Statistic]:
        """Return the statistics to draw: (a, b) is a over the items that b scored too, (a, a) is a over its own."""
        wanted = [(name, name) for name in self.numbers]
        for a, b in self.pairs(models):
            wanted += [(a, b), (b, a)] if b != RANDOM else []
        return {pair: self.of(*pair) for pair in wanted}


def _views(
    asked: TaskData, given: Mapping[str, Array], unread: Mapping[str, Mask], protocol: Protocol, by: Grouping | None
) -> Iterator[_View]:
    groups = {EVERYTHING: np.ones(len(asked.items), bool)}
    if by is not None:
        names = [by(item, asked.task) for item in asked.items]
        for group in sorted({name for name in names if name is not None}):
            groups[group] = np.array([name == group for name in names])
    undecided = (asked.truth == 0.5) & asked.task.is_preference
    for group, members in groups.items():
        unparsed = {name: int(mask[members].sum()) for name, mask in unread.items()}
        unscored = {
            name: int(np.isnan(values[members]).sum()) - unparsed.get(name, 0) for name, values in given.items()
        }
        for metric, numbers in _numbers(asked, given, unread, protocol):
            inside = {name: np.where(members, values, np.nan) for name, values in numbers.items()}
            counts = unscored, unparsed, int((undecided & members).sum())
            yield _View(metric, group, inside, asked.truth, asked.clusters, *counts)


def _numbers(
    asked: TaskData, given: Mapping[str, Array], unread: Mapping[str, Mask], protocol: Protocol
) -> Iterator[tuple[Metric, Mapping[str, Array]]]:
    """Yield each metric of the task with the numbers that it is computed from."""
    if not asked.task.is_preference:
        for metric in CORRELATIONS:
            yield metric, given
        return
    yield ACCURACY, {name: credit(values, asked.truth, protocol, unread.get(name)) for name, values in given.items()}
    if protocol == "strict":
        decided = asked.truth != 0.5
        yield BRIER, {n: np.where(decided, (logistic(v) - asked.truth) ** 2, np.nan) for n, v in given.items()}


def _cells(
    view: _View, draws: Draws, asked: TaskData, protocol: Protocol, models: Iterable[str]
) -> Iterator[RewardCell]:
    best = view.best_null(models)
    for name in view.numbers:
        is_null = name not in set(models)
        value, counted = view.value(name), view.counted(name)
        if is_null and (view.metric is BRIER or not math.isfinite(value)):
            continue
        prompts = view.prompts(counted)
        low, high = interval_of(view.metric, value, draws[name, name], prompts)
        cell = RewardCell(
            model=name,
            dataset=asked.dataset,
            task=asked.task.name,
            group=view.group,
            metric=view.metric.name,
            protocol=protocol,
            value=finite(value),
            low=finite(low),
            high=finite(high),
            n=int(counted.sum()),
            unscored=view.unscored[name],
            unparsed=view.unparsed.get(name),
            undecided=view.undecided,
            prompts=prompts,
            better=view.metric.better,
            is_null=is_null,
        )
        if not is_null and cell.value is not None:
            found = _compared(view, draws, name, best)
            null_value, difference = finite(view.value(best)), finite(found.difference)
            cell = replace(cell, best_null=best, null_value=null_value, difference=difference, p=finite(found.p))
        yield cell


def _versus(view: _View, draws: Draws, asked: TaskData, protocol: Protocol, models: Iterable[str]) -> Iterator[Versus]:
    for a, b in view.pairs(models):
        if b in set(models):
            difference, *rest = _compared(view, draws, a, b)
            if math.isfinite(difference):
                about = (a, b, asked.dataset, asked.task.name, view.group, view.metric.name, protocol)
                yield Versus(*about, int(view.of(a, b).of.sum()), difference, *map(finite, rest))


def _compared(view: _View, draws: Draws, a: str, b: str) -> Comparison:
    """Compare a with b over the items that both scored."""
    by_chance = np.full_like(draws[a, a], view.metric.chance)
    ours, theirs = (draws[a, a], by_chance) if b == RANDOM else (draws[a, b], draws[b, a])
    return compare(view.value(a, b) - view.value(b, a), ours, theirs, view.prompts(view.of(a, b).of))


def _bins(asked: TaskData, differences: Array) -> list[Bin]:
    counted = ~np.isnan(differences) & (asked.truth != 0.5)
    return reliability(*folded(logistic(differences[counted]), asked.truth[counted]), BIN_EDGES)
