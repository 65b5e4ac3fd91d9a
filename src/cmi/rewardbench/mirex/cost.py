"""What does leaving a generator out of training cost? The folds' models on the folds' test pairs.

The model of a fold without generator G is compared with those of the ordinary folds on the same pairs: all pairs with a
take of G. Each ordinary model is asked only about prompts that it was not trained on. The difference is the cost of not
knowing G, and of the fewer pairs that are then left to train on (`cmi mirex folds` shows how many).

Over all generators, a pair of two generators counts twice, once without either; intervals resample prompts.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.preferences import read_rows
from cmi.report.numbers import interval, number, percent
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.cells import ACCURACY, Results, RewardCell, Versus, evaluate
from cmi.rewardbench.evaluation.nulls import null_scores
from cmi.rewardbench.evaluation.tables import difference_cells
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.mirex.folds import ROWS, FoldSummary, read_folds
from cmi.rewardbench.runs.run import OnDone, measure_takes, open_model, prepare, score_questions
from cmi.rewardbench.runs.run_folder import AskedItem, read_run
from cmi.rewardbench.tasks import Key, Scores, key
from cmi.take import Score

MODEL, EVALUATION = "model", "evaluation"
HELD_OUT, ORDINARY = "held out", "ordinary"
EVERY = "all generators"


class FoldCost(NamedTuple):
    """A task of the test pairs of one generator, or of all."""

    generator: str
    held_out: RewardCell
    ordinary: RewardCell | None
    cost: Versus | None  # ordinary minus held out

    def to_json(self) -> dict[str, Any]:
        return {
            "generator": self.generator,
            HELD_OUT.replace(" ", "_"): self.held_out.to_json(),
            ORDINARY: None if self.ordinary is None else self.ordinary.to_json(),
            "cost": None if self.cost is None else self.cost.to_json(),
        }


def score_folds(
    folder: Path, model: str, device: str, started: Callable[[str, int], OnDone]
) -> tuple[dict[str, Scores], list[str]]:
    """Score each fold's test pairs by its model, or by `model`; return them by fold, and what could not be scored."""
    folds, out = read_folds(folder), folder / EVALUATION
    names = {fold.name: model or str(folder / fold.name / MODEL) for fold in folds}
    missing = [] if model else [fold.name for fold in folds if not (folder / fold.name / MODEL).is_dir()]
    if len(missing) == len(folds):
        raise InputError(
            f"{folder}: no fold has a model yet; run `cmi train {folder / folds[0].name}/train.yaml --out "
            f"{folder / folds[0].name / MODEL}` and so on, or name one model for all with --model"
        )
    notes = [f"{name}: not trained yet, left out" for name in missing]
    questions = prepare([str(folder / ROWS)], out)
    measure_takes(questions, out, started("takes measured for nulls", len({k for one in questions for k in one.keys})))
    found: dict[str, Scores] = {}
    for fold in folds:
        if fold.name in missing:
            continue
        asked = list(_tested(folder, fold, questions))
        takes = len({k for one in asked for k in one.keys})
        with open_model(names[fold.name], device=device) as (about, scorer):
            outcome = score_questions(asked, about, scorer, out, started(f"takes of {fold.name} scored", takes))
        notes += [f"{fold.name}: {failure.error}" for failure in outcome.failures]
        system = next(one for one in read_run(out).systems if one.about == about)
        found[fold.name] = {key(one.item): system.scores[key(one.item)] for one in asked}
        del scorer
        gc.collect()
    return found, notes


def _tested(folder: Path, fold: FoldSummary, questions: Sequence[AskedItem]) -> Iterator[AskedItem]:
    tested = {row.id for row in read_rows(folder / fold.name / ROWS) if row.about.get("split") == "test"}
    return (one for one in questions if one.item.id in tested)


def fold_costs(folder: Path, scores: dict[str, Scores], resamples: int) -> list[FoldCost]:
    """Compare the folds' models with the ordinary ones, generator by generator and over all."""
    run = read_run(folder / EVALUATION)
    items = {key(item): item for item in run.items}
    nulls = null_scores(run.items, run.heard)
    folds = read_folds(folder)
    ordinary: dict[Key, tuple[Score | None, ...]] = {}
    held_out: dict[str, dict[Key, tuple[Score | None, ...]]] = {}
    for fold in folds:
        known = {at: tuple(given) for at, given in scores.get(fold.name, {}).items()}
        (held_out.setdefault(fold.generator, {}) if fold.generator else ordinary).update(known)
    held_out = {generator: known for generator, known in held_out.items() if known}
    found: list[FoldCost] = []
    for generator, known in held_out.items():
        asked = [items[at] for at in known]
        found += _costs(generator, evaluate(asked, _models(known, ordinary), nulls, "strict", resamples))
    if len(held_out) > 1:
        found += _costs(EVERY, _evaluate_all(held_out, ordinary, items, nulls, resamples))
    return found


def _evaluate_all(
    held_out: dict[str, dict[Key, tuple[Score | None, ...]]],
    ordinary: Scores,
    items: dict[Key, RatedItem],
    nulls: dict[str, Scores],
    resamples: int,
) -> Results:
    """Evaluate the pairs of all generators; the same pair under two generators has two ids."""
    asked: list[RatedItem] = []
    scores: dict[str, dict[Key, Sequence[Score | None]]] = {name: {} for name in (HELD_OUT, ORDINARY, *nulls)}
    for generator, known in held_out.items():
        for at, given in known.items():
            item = replace(items[at], id=f"{generator}\n{items[at].id}")
            asked.append(item)
            scores[HELD_OUT][key(item)] = given
            for name, other in ((ORDINARY, ordinary), *nulls.items()):
                if at in other:
                    scores[name][key(item)] = other[at]
    models = _models(scores[HELD_OUT], scores[ORDINARY])
    return evaluate(asked, models, {name: scores[name] for name in nulls}, "strict", resamples)


def _models(held_out: Scores, ordinary: Scores) -> dict[str, Scores]:
    return ({ORDINARY: ordinary} if ordinary else {}) | {HELD_OUT: held_out}


def _costs(generator: str, results: Results) -> Iterable[FoldCost]:
    cells = {(cell.task, cell.model): cell for cell in results.cells if cell.metric == ACCURACY.name}
    versus = {one.task: one for one in results.versus if one.metric == ACCURACY.name}
    for (task, name), cell in cells.items():
        if name == HELD_OUT and cell.value is not None:
            yield FoldCost(generator, cell, cells.get((task, ORDINARY)), versus.get(task))


def cost_table(costs: Sequence[FoldCost]) -> Table:
    rows = []
    for one in costs:
        cell, ordinary = one.held_out, one.ordinary
        null = f"{percent(cell.null_value, 2)} {cell.best_null}"
        known = ["-", "-"] if ordinary is None else [percent(ordinary.value, 2), _span(ordinary)]
        cost = difference_cells(one.cost) if one.cost else ["-"] * 4
        rows.append(
            [one.generator, cell.task, str(cell.n), number(cell.value, 2, 100), _span(cell), null, *known, *cost]
        )
    headers = ["held out", "task", "pairs", "ACC", "95 %", "best null", "ordinary", "95 %", "cost", "95 %", "n", "p"]
    notes = [
        "In percent. Cost: ordinary folds minus held out, on the pairs that both scored. 95 %: bootstrap over prompts. "
        "p: adjusted by Holm over the cells of a generator, not over generators. Ties of people are left out."
    ]
    return Table("The cost of leaving a generator out", headers, rows, labels=2, notes=notes)


def _span(cell: RewardCell) -> str:
    return interval((cell.low, cell.high), 2, 100)
