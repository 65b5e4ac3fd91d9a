"""Models by metrics: the published table and scores of the user's own, in one matrix.

Scores are read from what `cmi bench score --json` wrote, or computed from response files.

Published numbers were computed by the `paper` protocol and are compared with scores of that protocol only. A cell whose
notes say that it is not comparable with the published numbers (another text embedder) is left out.
"""

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
        raise InputError("no scores: name score files or response files, or leave out --no-published")
    ordered = tuple(sorted(columns.values(), key=lambda column: DATASETS.rows.index(column.row)))
    values = np.array([[numbers.get((model, column), np.nan) for column in ordered] for model in models])
    notes: tuple[str, ...] = ()
    if names := ", ".join(dict.fromkeys(f"{cell.row} {cell.metric}" for cell in held_back)):
        notes = (f"not compared with published numbers, because another text embedder was used: your {names}",)
    return ScoreMatrix(models, ordered, values, notes)


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
        scores = read_scores(source)
        cells += scores or []
        to_score += [source] if scores is None else []
    if to_score:
        cells += score_all(find_responses(to_score), settings, log, on_scored, on_embedded)
    return [cell for cell in dict.fromkeys(cells) if cell.protocol in settings.protocols]


def dataset_of(row: str, metric: str) -> str:
    """Return the data set of a row of the table; EMO's row has two."""
    names = [dataset.name for dataset in DATASETS.values() if dataset.row == row]
    return names[-1] if len(names) > 1 and metric.startswith(_VALENCE) else names[0]
