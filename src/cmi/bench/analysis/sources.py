"""Scores to analyse: out of what `cmi bench score --json` wrote, or of response files, which are scored first."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS, ROWS
from cmi.bench.scoring.many_files import Settings, read_scores, score_all
from cmi.bench.scoring.one_file import Cell
from cmi.bench.scoring.responses import find_responses

_VALENCE = "v"  # the first letter of the metrics of EMO's second file


def read_cells(
    sources: Sequence[Path],
    settings: Settings,
    log: Path | None = None,
    on_scored: Callable[[str], None] = lambda name: None,
    on_embedded: Callable[[int], None] = lambda count: None,
) -> list[Cell]:
    """The cells of all sources under the settings' protocols, each once; those of nulls among them."""
    cells: list[Cell] = []
    to_score: list[Path] = []
    for source in sources:
        scores = read_score_file(source)
        cells += scores or []
        to_score += [source] if scores is None else []
    if to_score:
        cells += score_all(find_responses(to_score), settings, log, on_scored, on_embedded)
    return [cell for cell in dict.fromkeys(cells) if cell.protocol in settings.protocols]


def read_score_file(path: Path) -> list[Cell] | None:
    """What `cmi bench score --json` wrote, fit to be compared; None if the path is something else."""
    try:
        cells = read_scores(path)
    except RecursionError as error:
        raise InputError(f"{path}: not JSON, or nested too deeply") from error
    for i, cell in enumerate(cells or [], 1):
        numbers = (cell.value, cell.low, cell.high, cell.null_value)
        texts = (cell.model, cell.metric, cell.protocol, *cell.notes)
        if cell.row not in ROWS or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: cell {i} lacks its model, metric or protocol, or {cell.row!r} is no row")
        if not all(number is None or _is_number(number) for number in numbers):
            raise InputError(f"{path}: cell {i} ({cell.row} {cell.metric}) has a value that is no number")
        if not _is_number(cell.n) or not _is_number(cell.unparsed) or cell.better not in ("higher", "lower"):
            raise InputError(f"{path}: cell {i} ({cell.row} {cell.metric}) lacks its counts, or which way is better")
    return cells


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def dataset_of(row: str, metric: str) -> str:
    """The data set whose answers fill a row of the table; EMO's row is filled by two."""
    names = [dataset.name for dataset in DATASETS.values() if dataset.row == row]
    return names[-1] if len(names) > 1 and metric.startswith(_VALENCE) else names[0]
