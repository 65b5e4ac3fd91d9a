"""Is a model a detector of generators? A probe that predicts the winner from the generators' identities alone.

Generators alone    The strengths of the generators by Bradley and Terry's model, fitted to the votes on other prompts
                    (in FOLDS folds of prompts), predict the winner.

Two numbers say what a model knows besides:

    where they do not tell    accuracy on the pairs of which the probe gives neither generator more than UNSURE, among
                              them those of one generator against itself
    within generators         of two pairs of the same two generators that people decided differently, how often the
                              model's scores differ in the same sense: the area under the ROC curve, over all such
                              couples of pairs. A model that only knows who made a take has exactly 50 %.

Pairs of which a generator is unknown, or on which people had no preference, are left out.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.preferences import draw_number
from cmi.report.numbers import interval, percent
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.cells import ACCURACY, EVERYTHING, RESAMPLES, Results, RewardCell, Versus, evaluate
from cmi.rewardbench.evaluation.nulls import generators_of
from cmi.rewardbench.evaluation.tables import difference_cells
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import (
    ALIGNMENT_PREFERENCE,
    MUSICALITY_PREFERENCE,
    Array,
    Key,
    Scores,
    Task,
    TaskData,
    Unread,
    answers,
    ask,
    key,
)
from cmi.stats import Interval, bootstrap, bootstrap_interval, logistic
from cmi.stats.predictions import detection
from cmi.stats.ranking import SEPARATED_PRIOR, Comparisons, bradley_terry
from cmi.take import Score

ALONE = "generators alone"
FOLDS = 10
UNSURE = 0.6
TELL, DO_NOT_TELL = "generators tell", "generators do not tell"
TASKS = (MUSICALITY_PREFERENCE, ALIGNMENT_PREFERENCE)
FEWEST = 20  # decided pairs


class GeneratorProbe(NamedTuple):
    """A model beside the probe on one task of a data set. Shares are from 0 to 1."""

    model: str
    dataset: str
    task: str
    generators: int
    accuracy: RewardCell
    alone: RewardCell
    versus: Versus | None  # model minus probe
    same_choice: float  # how often both choose the same take
    unsure: RewardCell | None  # where the generators do not tell; None if they always do
    within: float  # NaN if no two generators have pairs that people decided differently
    within_interval: Interval
    couples: int  # of pairs, behind `within`

    def to_json(self) -> dict[str, Any]:
        unsure = self.unsure
        return {
            **{"model": self.model, "dataset": self.dataset, "task": self.task, "generators": self.generators},
            **{"n": self.accuracy.n, "accuracy": self.accuracy.value, "accuracy_95": _ends(self.accuracy)},
            **{"generators_alone": self.alone.value, "generators_alone_95": _ends(self.alone)},
            "difference": None if self.versus is None else self.versus.difference,
            "difference_95": None if self.versus is None else [self.versus.low, self.versus.high],
            "p": None if self.versus is None else self.versus.p,
            "same_choice": self.same_choice,
            "n_unsure": 0 if unsure is None else unsure.n,
            "accuracy_unsure": None if unsure is None else unsure.value,
            "accuracy_unsure_95": None if unsure is None else _ends(unsure),
            "within": self.within,
            "within_95": list(self.within_interval),
            "couples": self.couples,
        }


def _ends(cell: RewardCell) -> list[float | None]:
    return [cell.low, cell.high]


def probe_generators(
    items: Sequence[RatedItem],
    models: Mapping[str, Scores],
    judges: Mapping[str, Unread] | None = None,
    resamples: int = RESAMPLES,
) -> list[GeneratorProbe]:
    """Compare each model with the probe on each task of each data set with enough decided pairs."""
    known = [item for item in items if item.is_pair and generators_of(item)]
    enough = {(one.dataset, one.task.name) for one in ask(known, TASKS) if (one.truth != 0.5).sum() >= FEWEST}
    if not enough:
        raise InputError(
            f"the probe needs {FEWEST} decided pairs or more whose generators are known (generator_a and generator_b)"
        )
    alone = identity_scores(known)
    by_task = {task.name: alone_differences(known, task, alone) for task in TASKS}

    def group(item: RatedItem, task: Task) -> str:
        sure = logistic(abs(by_task[task.name].get(key(item), 0.0)))
        return TELL if sure > UNSURE else DO_NOT_TELL

    results = evaluate(known, {**models, ALONE: alone}, {}, "strict", resamples, group, TASKS, judges)
    return [
        one
        for asked in ask(known, TASKS)
        if (asked.dataset, asked.task.name) in enough
        for one in _probed(asked, results, models, alone, resamples)
    ]


def identity_scores(items: Sequence[RatedItem]) -> Scores:
    """Return the strengths of each pair's generators, fitted on other prompts; equal if they were never compared."""
    found: dict[Key, dict[str, tuple[float, float]]] = {}
    for asked in ask(items, TASKS):
        axis = asked.task.answer
        for item, pair in zip(asked.items, _cross_fitted(asked), strict=True):
            found.setdefault(key(item), {})[axis] = pair
    missing = (math.nan, math.nan)
    return {
        at: tuple(map(Score, by_axis.get("musicality", missing), by_axis.get("alignment", missing)))
        for at, by_axis in found.items()
    }


def _cross_fitted(asked: TaskData) -> list[tuple[float, float]]:
    codes = {name: i for i, name in enumerate(sorted({name for item in asked.items for name in generators_of(item)}))}
    sides = np.array([[codes[name] for name in generators_of(item)] for item in asked.items])  # (n, 2)
    outcome = np.sign(asked.truth - 0.5).astype(np.int64)
    fold = np.array([int(FOLDS * draw_number(item.cluster)) for item in asked.items])
    differ = sides[:, 0] != sides[:, 1]
    strengths = np.zeros(sides.shape)
    for one in np.unique(fold):
        trained, tested = (fold != one) & differ, np.flatnonzero(fold == one)
        if not trained.any():
            continue
        comparisons = Comparisons(sides[trained, 0], sides[trained, 1], outcome[trained], len(codes))
        fitted = bradley_terry(comparisons, prior=SEPARATED_PRIOR)
        given = fitted.strengths[sides[tested]]  # (t, 2)
        apart = fitted.components[sides[tested, 0]] != fitted.components[sides[tested, 1]]
        strengths[tested] = np.where(apart[:, None] | np.isnan(given).any(axis=1, keepdims=True), 0.0, given)
    return [(float(a), float(b)) for a, b in strengths]


def alone_differences(items: Sequence[RatedItem], task: Task, alone: Scores) -> dict[Key, float]:
    return {
        key(item): float(value)
        for asked in ask(items, [task])
        for item, value in zip(asked.items, answers(asked, alone), strict=True)
    }


def _probed(
    asked: TaskData, results: Results, models: Mapping[str, Scores], alone: Scores, resamples: int
) -> Iterator[GeneratorProbe]:
    cells = {
        (cell.model, cell.group): cell
        for cell in results.cells
        if (cell.dataset, cell.task, cell.metric) == (asked.dataset, asked.task.name, ACCURACY.name)
    }
    versus = {
        one.a: one
        for one in results.versus
        if (one.dataset, one.task, one.metric) == (asked.dataset, asked.task.name, ACCURACY.name)
        and one.b == ALONE
        and one.group == EVERYTHING
    }
    generators = len({name for item in asked.items for name in generators_of(item)})
    of_alone = answers(asked, alone)
    for model, scores in models.items():
        given = answers(asked, scores)
        counted = ~np.isnan(given) & (asked.truth != 0.5)
        if (model, EVERYTHING) in cells and counted.any():
            both = counted & (of_alone != 0)
            same = float(np.mean(np.sign(given[both]) == np.sign(of_alone[both]))) if both.any() else math.nan
            within = _within_generators(asked, given, counted, resamples)
            yield GeneratorProbe(
                *(model, asked.dataset, asked.task.name, generators),
                *(cells[model, EVERYTHING], cells[ALONE, EVERYTHING], versus.get(model), same),
                cells.get((model, DO_NOT_TELL)),
                *within,
            )


def _within_generators(
    asked: TaskData, given: Array, counted: NDArray[np.bool_], resamples: int
) -> tuple[float, Interval, int]:
    """Return the area under the ROC curve within pairs of the same two generators, its interval, and the couples."""
    items = [item for item, is_in in zip(asked.items, counted, strict=True) if is_in]
    names = [generators_of(item) for item in items]
    turned = np.array([a > b for a, b in names])
    differences = np.where(turned, -given[counted], given[counted])
    first_won = (asked.truth[counted] == 1) ^ turned
    strata: dict[tuple[str, ...], list[int]] = {}
    for place, both in enumerate(names):
        strata.setdefault(tuple(sorted(both)), []).append(place)
    places = [np.array(one) for one in strata.values() if 0 < first_won[one].sum() < len(one)]
    couples = sum(int(first_won[one].sum() * (~first_won[one]).sum()) for one in places)
    if not couples:
        return math.nan, Interval(math.nan, math.nan), 0

    def area(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        total, hits = np.zeros(len(weights)), np.zeros(len(weights))
        for one in places:
            won = first_won[one]
            size = weights[:, one[won]].sum(axis=1) * weights[:, one[~won]].sum(axis=1)
            curve = detection(differences[one], won, weights[:, one]).roc_auc
            hits += np.where(size > 0, curve * size, 0.0)
            total += size
        with np.errstate(invalid="ignore", divide="ignore"):
            return hits / total

    clusters = np.unique(asked.clusters[counted], return_inverse=True)[1]
    value = float(area(np.ones((1, len(items))))[0])
    return value, bootstrap_interval(bootstrap(area, clusters, resamples), int(clusters.max()) + 1), couples


def probe_tables(found: Sequence[GeneratorProbe]) -> list[Table]:
    """Return models beside the probe, and what is left of them where generators do not tell."""
    beside, left = [], []
    for one in found:
        place = [one.model, one.dataset, one.task]
        against = difference_cells(one.versus) if one.versus else ["-"] * 4
        beside.append([*place, *_shown(one.accuracy), *_shown(one.alone), *against, percent(one.same_choice)])
        unsure = [*_shown(one.unsure), str(one.unsure.n)] if one.unsure else ["-", "-", "0"]
        within = [percent(one.within), interval(one.within_interval, 1, 100), str(one.couples)]
        left.append([*place, str(one.accuracy.n), str(one.generators), *unsure, *within])
    headers = ["model", "data set", "task", "ACC", "95 %", ALONE, "95 %", "difference", "95 %", "n", "p", "same choice"]
    notes = [
        "In percent. Generators alone: their strengths, fitted on other prompts, choose. Same choice: how often the "
        "model chooses the same take as the probe."
    ]
    others = ["model", "data set", "task", "pairs", "generators", "ACC where they do not tell", "95 %", "n"]
    others += ["within generators", "95 %", "couples"]
    meaning = [
        f"They do not tell: the probe gives neither more than {percent(UNSURE, 0)} %. Within generators: of two pairs "
        "of the same two generators that people decided differently, how often the model's scores differ in the same "
        "sense; a model that only knows who made a take has exactly 50 there, and about 50 where they do not tell."
    ]
    return [
        Table("Beside a probe that knows only the generators", headers, beside, labels=3, notes=notes),
        Table("What is left where generators do not tell", others, left, labels=3, notes=meaning),
    ]


def _shown(cell: RewardCell) -> list[str]:
    return [percent(cell.value), interval((cell.low, cell.high), 1, 100)]
