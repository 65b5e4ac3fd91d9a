"""Score one response file: every metric with its interval and null baselines.

Under `paper` unanswered questions are left out, as the authors did; under `strict` they count as empty answers.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from cmi.bench.catalog import DATASETS, BenchDataset
from cmi.bench.evaluation import Array, Evaluation, Item, Metric, Protocol, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.responses import Entry, ResponseFile, ResponseSet, errors_at
from cmi.bench.tasks import common_nulls, load_task
from cmi.stats.comparison import Cell, adjust_p, best_of, compare, draw, finite, interval_of, mcnemar_exact
from cmi.stats.intervals import Interval, wilson

NULL_PREFIX = "null: "
REMEMBERED = 32_000_000  # characters of one response file; the largest published one has 4 million


@dataclass(frozen=True, kw_only=True)
class BenchCell(Cell):
    """One number of the table, on the scale of the published table."""

    JSON: ClassVar[tuple[str, ...]] = (
        *("model", "row", "metric", "value", "n", "unparsed", "low", "high", "protocol", "missing", "better"),
        *("best_null", "null_value", "difference", "p", "verdict", "notes"),
    )

    row: str
    unparsed: int
    missing: int = 0
    notes: tuple[str, ...] = ()


class Remembered:
    """Entries that can be iterated repeatedly: from memory if they fit `budget`, else from the file each time."""

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
    """The items of a response set, optionally with a null's answers; can be iterated repeatedly."""

    entries: Iterable[Entry]
    answered_only: bool
    answer: Callable[[Item], str] | None = None

    def __iter__(self) -> Iterator[Item]:
        for item, answered, _ in self.entries:
            if answered or not self.answered_only:
                yield item._replace(answer=self.answer(item)) if self.answer else item


def score_file(
    file: ResponseFile, protocol: Protocol, tools: Tools, annotations: Path | None = None, resamples: int = 1000
) -> list[BenchCell]:
    """Return the cells of one response file, first the model's, then its nulls'; see `with_verdicts`."""
    entries = Remembered(ResponseSet(file, annotations))
    with errors_at(file.path):
        missing = _missing(entries, file, annotations)
        return score_entries(entries, file.model, file.dataset, protocol, tools, missing, resamples)


def score_entries(
    entries: Iterable[Entry],
    model: str,
    dataset: BenchDataset,
    protocol: Protocol,
    tools: Tools,
    missing: int = 0,
    resamples: int = 1000,
) -> list[BenchCell]:
    """Return the cells of a model's answers to one data set, and of its nulls; `entries` may be iterated repeatedly."""
    items = Items(entries, answered_only=protocol == "paper")
    setting = Setting(dataset.name, protocol, model, tools)
    task = load_task(dataset)
    evaluation = task.evaluate(items, setting)
    nulls = common_nulls(items) + task.nulls(items)
    on_nulls = {null.name: task.evaluate(replace(items, answer=null.answer), setting) for null in nulls}
    return list(_cells(model, dataset, protocol, evaluation, on_nulls, missing, resamples))


def _missing(entries: Iterable[Entry], file: ResponseFile, annotations: Path | None) -> int:
    """Count unanswered questions, by the published test size if there is no annotation file."""
    answered = [entry.answered for entry in entries]
    return answered.count(False) + (0 if annotations else max(0, file.dataset.size - len(answered)))


def _cells(
    model: str,
    dataset: BenchDataset,
    protocol: Protocol,
    evaluation: Evaluation,
    on_nulls: dict[str, Evaluation],
    missing: int,
    resamples: int,
) -> Iterator[BenchCell]:
    systems = {model: evaluation} | {NULL_PREFIX + name: null for name, null in on_nulls.items()}
    values = {name: system.values()[0] for name, system in systems.items()}
    draws = _draws(systems, resamples)
    for name, system in systems.items():
        is_null = name != model
        for i, metric in enumerate(system.metrics):
            interval = _interval(system, metric, values[name][i], draws[name][:, i])
            cell = BenchCell(
                model=name,
                row=dataset.row,
                metric=metric.name,
                value=finite(values[name][i]),
                n=system.n,
                unparsed=system.unparsed,
                low=finite(interval.low),
                high=finite(interval.high),
                protocol=protocol,
                missing=0 if is_null else missing,
                better=metric.better,
                is_null=is_null,
                notes=(*(f"not computed: {why}" for why in [metric.not_computed] if why), *system.notes),
            )
            yield cell if is_null else _against_best_null(cell, i, systems, values, draws)


def _draws(systems: dict[str, Evaluation], resamples: int) -> dict[str, Array]:
    """Draw every metric of every system on the same resampled recordings: (b, m) each."""
    first = next(iter(systems.values()))
    if not first.n or is_exact(first):
        return {name: np.full((1, len(system.metrics)), np.nan) for name, system in systems.items()}
    resamples = min(resamples, first.most_resamples or resamples)
    return draw({name: system.values for name, system in systems.items()}, first.clusters, resamples)


def is_exact(evaluation: Evaluation) -> bool:
    """Tell whether all metrics are shares of independent items, for which exact methods beat a bootstrap."""
    return evaluation.recordings == evaluation.n and all(metric.is_share for metric in evaluation.metrics)


def _interval(evaluation: Evaluation, metric: Metric, value: float, draws: Array) -> Interval:
    if not math.isfinite(value):
        return Interval(math.nan, math.nan)
    if is_exact(evaluation):
        low, high = wilson(int(evaluation.statistics[:, metric.mean_of].sum()), evaluation.n)
        return Interval(metric.scale * low, metric.scale * high)
    if evaluation.is_biased:
        low, high = interval_of(metric, value, draws + value - np.nanmean(draws), evaluation.recordings)
        return Interval(max(low, 0.0), min(high, 100.0))
    return interval_of(metric, value, draws, evaluation.recordings)


def _against_best_null(
    cell: BenchCell, i: int, systems: dict[str, Evaluation], values: dict[str, Array], draws: dict[str, Array]
) -> BenchCell:
    nulls = {name: float(values[name][i]) for name in systems if name != cell.model}
    best = best_of(nulls, cell.better)
    if cell.value is None or best is None:
        return cell
    difference = cell.value - nulls[best]
    model, null = systems[cell.model], systems[best]
    if is_exact(model):
        ours, theirs = (one.statistics[:, one.metrics[i].mean_of] for one in (model, null))
        p = mcnemar_exact(int(np.sum(ours > theirs)), int(np.sum(theirs > ours)))
    else:
        p = compare(difference, draws[cell.model][:, i], draws[best][:, i], model.recordings).p
    return replace(
        cell,
        best_null=best.removeprefix(NULL_PREFIX),
        null_value=nulls[best],
        difference=difference,
        p=finite(p),
    )


def with_verdicts(cells: Iterable[BenchCell]) -> list[BenchCell]:
    """Adjust p by Holm over each model's cells, drop duplicate nulls, and sort."""
    judged = adjust_p(list(dict.fromkeys(cells)), lambda cell: (cell.protocol, cell.model))
    return sorted(judged, key=lambda cell: (cell.protocol, cell.is_null, cell.model, DATASETS.rows.index(cell.row)))
