"""Models by metrics: the published table and scores of the user's own, in one matrix.

Published numbers were computed by the `paper` protocol, so that they stand beside scores of that protocol alone. A cell
whose notes say that it is not comparable with the published numbers (another text embedder) is not set beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.catalog import ROWS
from cmi.bench.evaluation import Array
from cmi.bench.scoring.one_file import Cell
from cmi.bench.scoring.published import MODELS, published_rows

INCOMPARABLE = "not comparable"  # how such a note begins


@dataclass(frozen=True)
class Model:
    """A row of the matrix: under which name it is known, how it is shown, and whose number it is."""

    key: str
    name: str
    is_published: bool


@dataclass(frozen=True)
class Column:
    row: str
    metric: str
    better: str

    def __str__(self) -> str:
        return f"{self.row} {self.metric}"


@dataclass(frozen=True)
class Scores:
    models: tuple[Model, ...]
    columns: tuple[Column, ...]
    values: Array  # (models, columns), NaN where there is no number
    notes: tuple[str, ...] = ()


def gather(cells: Sequence[Cell], protocol: str, with_published: bool) -> Scores:
    """Every model that has a number, published ones first, by the table's order."""
    if with_published and protocol != "paper":
        raise InputError("published numbers are of protocol paper: choose --protocol paper, or --no-published")
    own = [cell for cell in cells if not cell.is_null and cell.protocol == protocol and cell.value is not None]
    held_back = [cell for cell in own if with_published and any(note.startswith(INCOMPARABLE) for note in cell.notes)]
    usable = [cell for cell in own if cell not in set(held_back)]
    columns: dict[tuple[str, str], Column] = {}
    numbers: dict[tuple[Model, Column], float] = {}
    for line in published_rows() if with_published else ():
        column = columns.setdefault((line.row, line.metric), Column(line.row, line.metric, line.better))
        for key, printed in line.by_model.items():
            numbers[Model(key, MODELS[key], True), column] = float(printed)
    for cell in usable:
        column = columns.setdefault((cell.row, cell.metric), Column(cell.row, cell.metric, cell.better))
        is_taken = with_published and cell.model in MODELS.values()
        model = Model(cell.model, f"{cell.model} (scored here)" if is_taken else cell.model, False)
        if numbers.setdefault((model, column), float(cell.value or 0.0)) != cell.value:
            raise InputError(f"{cell.model} has two different values of {column}; name one of its scores")
    models = tuple(dict.fromkeys(model for model, _ in numbers))
    if not models:
        raise InputError("no scores: name score files or response files, or leave --no-published away")
    ordered = tuple(sorted(columns.values(), key=lambda column: ROWS.index(column.row)))
    values = np.array([[numbers.get((model, column), np.nan) for column in ordered] for model in models])
    return Scores(models, ordered, values, _notes(held_back))


def _notes(held_back: Sequence[Cell]) -> tuple[str, ...]:
    if not held_back:
        return ()
    rows = ", ".join(dict.fromkeys(f"{cell.row} {cell.metric}" for cell in held_back))
    return (f"not set beside published numbers, for want of the published text embedder: your {rows}",)
