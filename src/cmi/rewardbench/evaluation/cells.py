"""From scores to cells: every metric with its interval, its best null and what is behind it, and models against models.

Intervals
    95 %, from a bootstrap that draws prompts with replacement, all items of a prompt together. Pairs of rated pieces
    are drawn by both pieces: a pair counts as often as one was drawn, times the other. Of fewer than ten prompts, or
    where every draw gives the same, an accuracy's is Wilson's for as many prompts, and other numbers have none: a
    handful of right answers is no certainty.

Comparisons
    A model against the best null, and two models against each other, over the items that both scored and on the same
    draws. P values are adjusted by Holm over all cells of a model (of a pair of models); with fewer than 20 prompts
    there is none. Random guessing is a null by its expectation: half of the pairs, no correlation.

Calibration (strict)
    The probability that a is preferred is the logistic function of the difference of the scores: Brier score, and
    expected calibration error over five bins of the predicted winner's probability.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.rewardbench.evaluation.resampling import (
    ACCURACY,
    BRIER,
    CORRELATIONS,
    Array,
    Mask,
    Metric,
    Statistic,
    draw_all,
)
from cmi.rewardbench.items import Item
from cmi.rewardbench.tasks import TASKS, Asked, Protocol, Scores, Task, answers, ask, credit
from cmi.stats import (
    FEWEST_CLUSTERS,
    Bin,
    Interval,
    bootstrap_interval,
    folded,
    holm,
    logistic,
    paired_bootstrap,
    reliability,
    share_interval,
)

SEED = 0
RESAMPLES = 2000
RANDOM = "random"
FEWEST_PROMPTS = 20  # a bootstrap of fewer is no ground for a test
BIN_EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EVERYTHING = "all"

Grouping = Callable[[Item, Task], str | None]  # an item's group; None if it is in none


@dataclass(frozen=True)
class Cell:
    """One number with all that is needed to judge it; None for what does not exist. Shares are from 0 to 1."""

    model: str
    dataset: str
    task: str
    group: str
    metric: str
    protocol: Protocol
    value: float | None
    low: float | None
    high: float | None
    n: int
    unscored: int  # items left out since a take has no score
    undecided: int  # pairs on which people said both or neither: in n under paper, left out under strict
    prompts: int
    is_null: bool = False
    best_null: str | None = None
    null_value: float | None = None
    difference: float | None = None  # from the best null, over the items that both scored
    p: float | None = None  # of that difference, adjusted

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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
    low: float | None  # None of too few prompts for an interval
    high: float | None
    p: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Reliability(NamedTuple):
    """How a model's probabilities and people's choices go together on one task of a data set."""

    model: str
    dataset: str
    task: str
    bins: list[Bin]


class Evaluation(NamedTuple):
    cells: list[Cell]
    versus: list[Versus]
    reliability: list[Reliability]


def evaluate(
    items: Iterable[Item],
    models: Mapping[str, Scores],
    nulls: Mapping[str, Scores],
    protocol: Protocol,
    resamples: int = RESAMPLES,
    by: Grouping | None = None,
    tasks: Sequence[Task] = TASKS,
) -> Evaluation:
    """All models and nulls on all tasks: over everything and, with `by`, in each of its groups too."""
    cells: list[Cell] = []
    versus: list[Versus] = []
    reliabilities: list[Reliability] = []
    for asked in ask(items, tasks):
        given = {name: answers(asked, scores) for name, scores in {**models, **nulls}.items()}
        views = list(_views(asked, given, protocol, by))
        statistics = {(i, *pair): one for i, view in enumerate(views) for pair, one in view.statistics(models).items()}
        draws = draw_all(statistics, asked.clusters, resamples, SEED, asked.others)
        for i, view in enumerate(views):
            own = {pair: draws[i, *pair] for pair in view.statistics(models)}
            cells += _cells(view, own, asked, protocol, models)
            versus += _versus(view, own, asked, protocol, models)
        if protocol == "strict" and asked.task.is_preference:
            reliabilities += [Reliability(m, asked.dataset, asked.task.name, _bins(asked, given[m])) for m in models]
    return Evaluation(_adjusted_cells(cells), _adjusted_versus(versus), reliabilities)


@dataclass(frozen=True)
class _View:
    """One metric in one group of the items of a task."""

    metric: Metric
    group: str
    numbers: Mapping[str, Array]  # (n,) of each system; NaN where an item is not in the group, or does not count
    truth: Array
    clusters: NDArray[np.int64]
    unscored: Mapping[str, int]
    undecided: int

    def counted(self, system: str) -> Mask:
        return ~np.isnan(self.numbers[system])

    def of(self, system: str, beside: str) -> Statistic:
        """A system over the items that it and another scored."""
        shared = self.counted(system)
        if beside in self.numbers:
            shared = shared & self.counted(beside)
        return Statistic(self.metric, self.numbers[system], self.truth, shared)

    def prompts(self, of: Mask) -> int:
        return len(np.unique(self.clusters[of]))

    def value(self, system: str, beside: str = "") -> float:
        return self.metric.chance if system == RANDOM else self.of(system, beside).value()

    def best_null(self, models: Iterable[str]) -> str:
        if self.metric is BRIER:  # loudness and the like are no probabilities
            return RANDOM
        nulls = [RANDOM, *(name for name in self.numbers if name not in set(models))]
        return max(nulls, key=lambda name: -math.inf if math.isnan(value := self.value(name)) else value)

    def pairs(self, models: Iterable[str]) -> list[tuple[str, str]]:
        """Who is compared with whom: each model with the best null, and with each model after it."""
        names = list(models)
        with_null = [(name, self.best_null(names)) for name in names]
        return with_null + [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    def statistics(self, models: Iterable[str]) -> dict[tuple[str, str], Statistic]:
        """All that is to be drawn: (a, b) is a over the items that b scored too, (a, a) is a over its own."""
        wanted = [(name, name) for name in self.numbers]
        for a, b in self.pairs(models):
            wanted += [(a, b), (b, a)] if b != RANDOM else []
        return {pair: self.of(*pair) for pair in wanted}


def _views(asked: Asked, given: Mapping[str, Array], protocol: Protocol, by: Grouping | None) -> Iterator[_View]:
    groups = {EVERYTHING: np.ones(len(asked.items), bool)}
    if by is not None:
        names = [by(item, asked.task) for item in asked.items]
        for group in sorted({name for name in names if name is not None}):
            groups[group] = np.array([name == group for name in names])
    undecided = (asked.truth == 0.5) & asked.task.is_preference
    for group, members in groups.items():
        unscored = {name: int(np.isnan(values[members]).sum()) for name, values in given.items()}
        for metric, numbers in _numbers(asked, given, protocol):
            inside = {name: np.where(members, values, np.nan) for name, values in numbers.items()}
            counts = unscored, int((undecided & members).sum())
            yield _View(metric, group, inside, asked.truth, asked.clusters, *counts)


def _numbers(
    asked: Asked, given: Mapping[str, Array], protocol: Protocol
) -> Iterator[tuple[Metric, Mapping[str, Array]]]:
    """Each metric of the task, with what it is computed from."""
    if not asked.task.is_preference:
        for metric in CORRELATIONS:
            yield metric, given
        return
    yield ACCURACY, {name: credit(values, asked.truth, protocol) for name, values in given.items()}
    if protocol == "strict":
        decided = asked.truth != 0.5
        yield BRIER, {n: np.where(decided, (logistic(v) - asked.truth) ** 2, np.nan) for n, v in given.items()}


Draws = Mapping[tuple[str, str], Array]


def _cells(view: _View, draws: Draws, asked: Asked, protocol: Protocol, models: Iterable[str]) -> Iterator[Cell]:
    best = view.best_null(models)
    place = (asked.dataset, asked.task.name, view.group, view.metric.name, protocol)
    for name in view.numbers:
        is_null = name not in set(models)
        value, counted = view.value(name), view.counted(name)
        if is_null and (view.metric is BRIER or not math.isfinite(value)):
            continue
        prompts = view.prompts(counted)
        low, high = _interval(view.metric, value, draws[name, name], prompts)
        counts = int(counted.sum()), view.unscored[name], view.undecided, prompts
        cell = Cell(name, *place, _finite(value), _finite(low), _finite(high), *counts, is_null)
        if not is_null and cell.value is not None:
            difference, _, _, p = _compared(view, draws, name, best)
            cell = replace(
                cell, best_null=best, null_value=_finite(view.value(best)), difference=_finite(difference), p=p
            )
        yield cell


def _versus(view: _View, draws: Draws, asked: Asked, protocol: Protocol, models: Iterable[str]) -> Iterator[Versus]:
    for a, b in view.pairs(models):
        if b in set(models):
            difference, low, high, p = _compared(view, draws, a, b)
            if math.isfinite(difference):
                about = (a, b, asked.dataset, asked.task.name, view.group, view.metric.name, protocol)
                yield Versus(*about, int(view.of(a, b).of.sum()), difference, low, high, p)


def _compared(view: _View, draws: Draws, a: str, b: str) -> tuple[float, float | None, float | None, float | None]:
    """The difference of a and b, and its interval and p value where there are prompts enough for them."""
    difference = view.value(a, b) - view.value(b, a)
    by_chance = np.full_like(draws[a, a], view.metric.chance)
    ours, theirs = (draws[a, a], by_chance) if b == RANDOM else (draws[a, b], draws[b, a])
    found = paired_bootstrap(difference, ours, theirs)
    prompts = view.prompts(view.of(a, b).of)
    tested = prompts >= FEWEST_PROMPTS and math.isfinite(found.p) and math.isfinite(difference)
    low, high = (found.low, found.high) if prompts >= FEWEST_CLUSTERS else (None, None)
    return difference, low, high, found.p if tested else None


def _interval(metric: Metric, value: float, draws: Array, prompts: int) -> Interval:
    if not math.isfinite(value):
        return Interval(math.nan, math.nan)
    return share_interval(value, draws, prompts) if metric is ACCURACY else bootstrap_interval(draws, prompts)


def _bins(asked: Asked, differences: Array) -> list[Bin]:
    counted = ~np.isnan(differences) & (asked.truth != 0.5)
    return reliability(*folded(logistic(differences[counted]), asked.truth[counted]), BIN_EDGES)


def _adjusted_cells(cells: list[Cell]) -> list[Cell]:
    adjusted = _holm([(cell.model, cell.p) for cell in cells])
    return [replace(cell, p=p) for cell, p in zip(cells, adjusted, strict=True)]


def _adjusted_versus(versus: list[Versus]) -> list[Versus]:
    adjusted = _holm([(f"{one.a}\n{one.b}", one.p) for one in versus])
    return [replace(one, p=p) for one, p in zip(versus, adjusted, strict=True)]


def _holm(tested: Sequence[tuple[str, float | None]]) -> list[float | None]:
    """P values adjusted within each family, in place; None stays None."""
    adjusted: list[float | None] = [None] * len(tested)
    for family in dict.fromkeys(name for name, _ in tested):
        places = [i for i, (name, p) in enumerate(tested) if name == family and p is not None]
        for i, p in zip(places, holm([p for i in places if (p := tested[i][1]) is not None]), strict=True):
            adjusted[i] = p
    return adjusted


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
