"""From response files to cells: every metric with its interval, its null baselines and what could not be read.

Under `paper` a question without an answer is left out, as the authors did; under `strict` it counts as an empty answer.
Either way it is counted as missing.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.catalog import ROWS
from cmi.bench.evaluation import Array, Evaluation, Item, Metric, Protocol, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.nulls import for_every_task
from cmi.bench.scoring.responses import Entry, ResponseFile, ResponseSet
from cmi.bench.tasks import load_task
from cmi.stats.intervals import Interval, bootstrap_interval, cluster_weights, share_interval, wilson
from cmi.stats.paired import holm, mcnemar_exact, paired_bootstrap

SEED = 0
SIGNIFICANT = 0.05
FEWEST_RECORDINGS = 20  # a bootstrap of fewer is no ground for a test
NULL_PREFIX = "null: "
BLOCK = 500_000  # weights in memory at a time
REMEMBERED = 32_000_000  # characters of one response file; the largest published one has 4 million


@dataclass(frozen=True)
class Cell:
    """One number of the table with all that is needed to judge it. Numbers that do not exist are None."""

    model: str
    row: str
    metric: str
    value: float | None
    n: int
    unparsed: int
    low: float | None
    high: float | None
    protocol: str
    missing: int = 0
    better: str = "higher"
    best_null: str | None = None
    null_value: float | None = None
    difference: float | None = None  # value - null_value
    p: float | None = None  # of that difference, adjusted by Holm over the model's cells once all are there
    verdict: str = ""  # 'above null', 'below null' or 'not told apart'; empty for the nulls themselves
    notes: tuple[str, ...] = ()

    @property
    def is_null(self) -> bool:
        return self.model.startswith(NULL_PREFIX)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Cell":
        try:
            return cls(**{**record, "notes": tuple(record["notes"])})
        except (TypeError, KeyError) as error:
            raise InputError(f"not a cell of `cmi bench score --json`: {error}") from error


class Remembered:
    """Entries to be read as often as needed: from memory if they are few enough, else from the file each time."""

    def __init__(self, source: Iterable[Entry], budget: int = REMEMBERED) -> None:
        self._source = source
        self._budget = budget  # characters
        self._kept: list[Entry] | None = None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._kept) if self._kept is not None else self._read()

    def _read(self) -> Iterator[Entry]:
        kept: list[Entry] = []
        size = 0
        for entry in self._source:
            size += len(entry.item.question) + len(entry.item.answer) + len(entry.item.truth)
            if size <= self._budget:
                kept.append(entry)
            elif kept:
                kept.clear()
            yield entry
        if size <= self._budget:
            self._kept = kept


@dataclass(frozen=True)
class Items:
    """The items of a response set, to be read as often as needed; with a null's answers in place of the model's."""

    entries: Iterable[Entry]
    answered_only: bool
    answer: Callable[[Item], str] | None = None

    def __iter__(self) -> Iterator[Item]:
        for item, answered in self.entries:
            if answered or not self.answered_only:
                yield item._replace(answer=self.answer(item)) if self.answer else item


def score_file(
    file: ResponseFile, protocol: Protocol, tools: Tools, annotations: Path | None = None, resamples: int = 1000
) -> list[Cell]:
    """The cells of one response file: the model's, then its nulls'. Verdicts come when all files are in."""
    entries = Remembered(ResponseSet(file, annotations))
    items = Items(entries, answered_only=protocol == "paper")
    setting = Setting(file.dataset.name, protocol, file.model, tools)
    task = load_task(file.dataset)
    try:
        evaluation = task.evaluate(items, setting)
        nulls = for_every_task(items) + task.nulls(items)
        on_nulls = {null.name: task.evaluate(replace(items, answer=null.answer), setting) for null in nulls}
    except InputError as error:
        raise error if str(file.path) in str(error) else InputError(f"{file.path}: {error}") from error
    return list(_cells(file, protocol, evaluation, on_nulls, _missing(entries, file, annotations), resamples))


def _missing(entries: Iterable[Entry], file: ResponseFile, annotations: Path | None) -> int:
    """Questions without an answer; by the published test size where no annotation file tells."""
    asked = unanswered = 0
    for entry in entries:
        asked += 1
        unanswered += not entry.answered
    return unanswered + (0 if annotations else max(0, file.dataset.size - asked))


def _cells(
    file: ResponseFile,
    protocol: Protocol,
    evaluation: Evaluation,
    on_nulls: dict[str, Evaluation],
    missing: int,
    resamples: int,
) -> Iterator[Cell]:
    systems = {file.model: evaluation} | {NULL_PREFIX + name: null for name, null in on_nulls.items()}
    values = {name: system.values()[0] for name, system in systems.items()}
    draws = _draws(systems, resamples)
    for name, system in systems.items():
        is_model = name == file.model
        for i, metric in enumerate(system.metrics):
            interval = _interval(system, metric, values[name][i], draws[name][:, i])
            cell = Cell(
                name,
                file.dataset.row,
                metric.name,
                _finite(values[name][i]),
                system.n,
                system.unparsed,
                _finite(interval.low),
                _finite(interval.high),
                protocol,
                missing if is_model else 0,
                metric.better,
                notes=(*(f"not computed: {why}" for why in [metric.not_computed] if why), *system.notes),
            )
            yield _against_best_null(cell, i, systems, values, draws) if is_model else cell


def _draws(systems: dict[str, Evaluation], resamples: int) -> dict[str, Array]:
    """Bootstrap draws of every metric of every system, all on the same resampled recordings: (b, m) each."""
    first = next(iter(systems.values()))
    if not first.n or _is_exact(first):
        return {name: np.full((1, len(system.metrics)), np.nan) for name, system in systems.items()}
    resamples = min(resamples, first.most_resamples or resamples)
    blocks: dict[str, list[Array]] = {name: [] for name in systems}
    block = max(1, BLOCK // first.n)
    for weights in cluster_weights(first.clusters, resamples, SEED, block):
        for name, system in systems.items():
            blocks[name].append(system.values(weights))
    return {name: np.concatenate(parts) for name, parts in blocks.items()}


def _is_exact(evaluation: Evaluation) -> bool:
    """Every metric is a share of independent items, for which exact methods do better than a bootstrap."""
    independent = len(np.unique(evaluation.clusters)) == evaluation.n
    return independent and all(metric.right is not None for metric in evaluation.metrics)


def _interval(evaluation: Evaluation, metric: Metric, value: float, draws: Array) -> Interval:
    if not math.isfinite(value):
        return Interval(math.nan, math.nan)
    if metric.right is not None and _is_exact(evaluation):
        low, high = wilson(int(evaluation.statistics[:, metric.right].sum()), evaluation.n)
        return Interval(100 * low, 100 * high)
    recordings = len(np.unique(evaluation.clusters))
    if metric.right is not None:
        low, high = share_interval(value / 100, draws / 100, recordings)
        return Interval(100 * low, 100 * high)
    if evaluation.is_biased:
        low, high = bootstrap_interval(draws + value - np.nanmean(draws), recordings)
        return Interval(max(low, 0.0), min(high, 100.0))
    return bootstrap_interval(draws, recordings)


def _against_best_null(
    cell: Cell, i: int, systems: dict[str, Evaluation], values: dict[str, Array], draws: dict[str, Array]
) -> Cell:
    sign = 1 if cell.better == "higher" else -1
    nulls = [name for name in systems if name != cell.model and math.isfinite(values[name][i])]
    if cell.value is None or not nulls:
        return cell
    best = max(nulls, key=lambda name: sign * values[name][i])
    difference = cell.value - float(values[best][i])
    return replace(
        cell,
        best_null=best.removeprefix(NULL_PREFIX),
        null_value=float(values[best][i]),
        difference=difference,
        p=_finite(_p_value(difference, i, systems[cell.model], systems[best], draws[cell.model], draws[best])),
    )


def _p_value(
    difference: float, i: int, model: Evaluation, null: Evaluation, model_draws: Array, null_draws: Array
) -> float:
    """Exact McNemar for shares of independent items, the paired cluster bootstrap for everything else.

    NaN where there are too few recordings for a bootstrap to test anything.
    """
    column = model.metrics[i].right
    if column is None or not _is_exact(model):
        enough = len(np.unique(model.clusters)) >= FEWEST_RECORDINGS
        return paired_bootstrap(difference, model_draws[:, i], null_draws[:, i]).p if enough else math.nan
    ours, theirs = model.statistics[:, column], null.statistics[:, column]
    return mcnemar_exact(int(np.sum(ours > theirs)), int(np.sum(theirs > ours)))


def with_verdicts(cells: Iterable[Cell]) -> list[Cell]:
    """Adjust p by Holm over each model's cells, say what each comparison shows, and show each null once."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in dict.fromkeys(cells):
        groups.setdefault((cell.protocol, cell.model), []).append(cell)
    judged = [cell for group in groups.values() for cell in _judged(group)]
    return sorted(judged, key=lambda cell: (cell.protocol, cell.is_null, cell.model, ROWS.index(cell.row)))


def _judged(cells: list[Cell]) -> list[Cell]:
    compared = [cell for cell in cells if cell.p is not None]
    adjusted = dict(zip(compared, holm([cell.p for cell in compared if cell.p is not None]), strict=True))
    return [
        replace(cell, p=adjusted[cell], verdict=_verdict(cell, adjusted[cell])) if cell in adjusted else cell
        for cell in cells
    ]


def _verdict(cell: Cell, p: float) -> str:
    if p >= SIGNIFICANT or not cell.difference:
        return "not told apart"
    return "above null" if (cell.difference > 0) == (cell.better == "higher") else "below null"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
