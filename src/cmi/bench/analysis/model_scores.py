"""Models by metrics: the published table and scores of the user's own, in one matrix.

Scores are read from what `cmi bench score --json` wrote, or computed from response files.

Published numbers were computed by the `paper` protocol, so that they stand beside scores of that protocol alone. A cell
whose notes say that it is not comparable with the published numbers (another text embedder) is not set beside them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Array
from cmi.bench.scoring.many_files import Settings, read_scores, score_all
from cmi.bench.scoring.one_file import BenchCell
from cmi.bench.scoring.responses import find_responses
from cmi.bench.scoring.tables import MODELS, published_rows

INCOMPARABLE = "not comparable"  # how such a note begins


@dataclass(frozen=True)
class ScoredModel:
    """A row of the matrix: its key, its label, and its origin."""

    key: str
    name: str
    is_published: bool


@dataclass(frozen=True)
class MetricColumn:
    row: str
    metric: str
    better: str

    def __str__(self) -> str:
        return f"{self.row} {self.metric}"


@dataclass(frozen=True)
class ScoreMatrix:
    models: tuple[ScoredModel, ...]
    columns: tuple[MetricColumn, ...]
    values: Array  # (models, columns), NaN if missing
    notes: tuple[str, ...] = ()


def gather(cells: Sequence[BenchCell], protocol: str, with_published: bool) -> ScoreMatrix:
    """Return every model with a number, published ones first, in the table's order."""
    if with_published and protocol != "paper":
        raise InputError("published numbers are of protocol paper: choose --protocol paper, or --no-published")
    own = [cell for cell in cells if not cell.is_null and cell.protocol == protocol and cell.value is not None]
    held_back = [cell for cell in own if with_published and any(note.startswith(INCOMPARABLE) for note in cell.notes)]
    usable = [cell for cell in own if cell not in set(held_back)]
    columns: dict[tuple[str, str], MetricColumn] = {}
    numbers: dict[tuple[ScoredModel, MetricColumn], float] = {}
    for line in published_rows() if with_published else ():
        column = columns.setdefault((line.row, line.metric), MetricColumn(line.row, line.metric, line.better))
        for key, printed in line.by_model.items():
            numbers[ScoredModel(key, MODELS[key], True), column] = float(printed)
    for cell in usable:
        column = columns.setdefault((cell.row, cell.metric), MetricColumn(cell.row, cell.metric, cell.better))
        is_taken = with_published and cell.model in MODELS.values()
        model = ScoredModel(cell.model, f"{cell.model} (scored here)" if is_taken else cell.model, False)
        if numbers.setdefault((model, column), float(cell.value or 0.0)) != cell.value:
            raise InputError(f"{cell.model} has two different values of {column}; name one of its scores")
    models = tuple(dict.fromkeys(model for model, _ in numbers))
    if not models:
        raise InputError("no scores: name score files or response files, or leave --no-published away")
    ordered = tuple(sorted(columns.values(), key=lambda column: DATASETS.rows.index(column.row)))
    values = np.array([[numbers.get((model, column), np.nan) for column in ordered] for model in models])
    return ScoreMatrix(models, ordered, values, _notes(held_back))


def _notes(held_back: Sequence[BenchCell]) -> tuple[str, ...]:
    if not held_back:
        return ()
    rows = ", ".join(dict.fromkeys(f"{cell.row} {cell.metric}" for cell in held_back))
    return (f"not set beside published numbers, for want of the published text embedder: your {rows}",)


_VALENCE = "v"  # the first letter of the metrics of EMO's second file


def read_cells(
    sources: Sequence[Path],
    settings: Settings,
    log: Path | None = None,
    on_scored: Callable[[str], None] = lambda name: None,
    on_embedded: Callable[[int], None] = lambda count: None,
) -> list[BenchCell]:
    """Read the cells of all sources under the settings' protocols, with those of nulls."""
    cells: list[BenchCell] = []
    to_score: list[Path] = []
    for source in sources:
        scores = read_score_file(source)
        cells += scores or []
        to_score += [source] if scores is None else []
    if to_score:
        cells += score_all(find_responses(to_score), settings, log, on_scored, on_embedded)
    return [cell for cell in dict.fromkeys(cells) if cell.protocol in settings.protocols]


def read_score_file(path: Path) -> list[BenchCell] | None:
    """Read and check what `cmi bench score --json` wrote; None for any other path."""
    cells = read_scores(path)
    for i, cell in enumerate(cells or [], 1):
        numbers = (cell.value, cell.low, cell.high, cell.null_value)
        texts = (cell.model, cell.metric, cell.protocol, *cell.notes)
        if cell.row not in DATASETS.rows or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: cell {i} lacks its model, metric or protocol, or {cell.row!r} is no row")
        if not all(number is None or _is_number(number) for number in numbers):
            raise InputError(f"{path}: cell {i} ({cell.row} {cell.metric}) has a value that is not a number")
        if not _is_number(cell.n) or not _is_number(cell.unparsed) or cell.better not in ("higher", "lower"):
            raise InputError(f"{path}: cell {i} ({cell.row} {cell.metric}) lacks its counts, or which way is better")
    return cells


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def dataset_of(row: str, metric: str) -> str:
    """Return the data set of a row of the table; EMO's row has two."""
    names = [dataset.name for dataset in DATASETS.values() if dataset.row == row]
    return names[-1] if len(names) > 1 and metric.startswith(_VALENCE) else names[0]
