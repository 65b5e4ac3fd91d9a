"""Tables of cells: one model in full, or all models beside Table 3 of the CMI-Bench paper."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.scoring.names import in_words, spell_out
from cmi.bench.scoring.one_file import NULL_PREFIX, BenchCell
from cmi.report.numbers import interval, number, p_value, signed
from cmi.report.tables import Table

MARKS = {"above null": "▲", "below null": "▼", "not told apart": "·", "": ""}
LEGEND = (
    "Value and 95 % interval; ▲ above the best null, ▼ below it, · no significant difference (Holm-adjusted p < .05)."
    " Nulls do not use the audio: a model that is not above them has not been shown to use it."
)
SOTA_METRIC = {"FM@70ms": "FM."}  # the SOTA column's name for a metric of `strict`
SOTA_DIFFERS = {"SDD", "MC", "GZ"}  # other metrics for captions; the Guzheng names may be swapped
_NULL_HEADERS = ["row", "metric", "null", "value", "95 %", "n"]
MODELS = {
    "qwen2": "Qwen2-Audio",
    "qwen": "Qwen-Audio",
    "salmonn": "SALMONN",
    "musilingo": "MusiLingo",
    "ltu": "LTU",
    "ltu_as": "LTU-AS",
    "mullama": "MU-LLaMA",
    "flamingo": "Audio-Flamingo",
    "gama": "GAMA",
    "gama_it": "GAMA-IT",
    "pengi": "Pengi",
}


class PublishedRow(NamedTuple):
    row: str
    metric: str
    better: str
    by_model: dict[str, str]  # as printed
    sota: str  # as printed; empty if the paper gives none


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    text = files("cmi.bench").joinpath("table3.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedRow(
            line["row"], line["metric"], line["better"], {model: line[model] for model in MODELS}, line["sota"]
        )
        for line in csv.DictReader(text.splitlines())
    )


def score_tables(cells: Sequence[BenchCell]) -> list[Table]:
    """Return one table per model and protocol with every cell in full."""
    groups: dict[tuple[str, str], list[BenchCell]] = {}
    for cell in cells:
        if not cell.is_null:
            groups.setdefault((cell.model, cell.protocol), []).append(cell)
    tables = [_score_table(model, protocol, group) for (model, protocol), group in groups.items()]
    return tables + null_tables(cells)


def _score_table(model: str, protocol: str, cells: Sequence[BenchCell]) -> Table:
    headers = ["row", "metric", "value", "95 %", "n", "unparsed", "missing", "best null", "null", "v null", "p", ""]
    rows = []
    for cell in cells:
        counts = [str(cell.n), str(cell.unparsed), str(cell.missing)]
        null = [cell.best_null or "", number(cell.null_value), signed(cell.difference), p_value(cell.p)]
        rows.append([cell.row, cell.metric, *_value(cell), *counts, *null, MARKS[cell.verdict]])
    notes = (*_notes(cells), LEGEND, *spell_out((cell.row, cell.metric) for cell in cells))
    table = Table(f"{model}, protocol {protocol}", headers, rows, labels=2, notes=notes)
    return replace(table, in_words=in_words(table))


def _value(cell: BenchCell) -> list[str]:
    return [number(cell.value), interval((cell.low, cell.high))]


def null_tables(cells: Sequence[BenchCell]) -> list[Table]:
    """Return one table of null baselines per protocol."""
    tables = []
    for protocol in dict.fromkeys(cell.protocol for cell in cells):
        nulls = [cell for cell in cells if cell.is_null and cell.protocol == protocol and cell.value is not None]
        rows = [
            [cell.row, cell.metric, cell.model.removeprefix(NULL_PREFIX), *_value(cell), str(cell.n)]
            for cell in sorted(nulls, key=lambda cell: DATASETS.rows.index(cell.row))
        ]
        table = Table(f"Null baselines, protocol {protocol}", _NULL_HEADERS, rows, labels=3)
        tables.append(replace(table, in_words=in_words(table)))
    return tables


@dataclass(frozen=True)
class Table3Part:
    """What of Table 3 is shown: some rows and models, or all if none is named; with or without published numbers."""

    rows: Sequence[str] = ()
    models: Sequence[str] = ()  # the user's, or keys of MODELS
    published: bool = True

    def cells_in(self, cells: Sequence[BenchCell]) -> list[BenchCell]:
        """Return the cells that are shown; InputError for a row or a model that there is not."""
        own = list(dict.fromkeys(cell.model for cell in cells if not cell.is_null))
        for option, names, known in (
            ("--rows", self.rows, DATASETS.rows),
            ("--models", self.models, (*own, *(MODELS if self.published else ()))),
        ):
            unknown = [name for name in names if name not in known]
            if unknown:
                raise InputError(f"{option}: no {', '.join(unknown)}; there are {', '.join(known)}")
        return [cell for cell in cells if self.has_row(cell.row) and (cell.is_null or self.has_model(cell.model))]

    def has_row(self, row: str) -> bool:
        return not self.rows or row in self.rows

    def has_model(self, model: str) -> bool:
        return not self.models or model in self.models


def table3(cells: Sequence[BenchCell], protocol: str, part: Table3Part | None = None) -> Table:
    """Lay cells out like Table 3: the user's models, the best null, then the published numbers."""
    part = part or Table3Part()
    cells = part.cells_in([cell for cell in cells if cell.protocol == protocol])
    models = list(dict.fromkeys(cell.model for cell in cells if not cell.is_null))
    by_place = {(cell.model, cell.row, cell.metric): cell for cell in cells}
    printed = {(line.row, line.metric): line for line in published_rows() if part.published}
    # No published number was computed by the strict rules.
    published = [model for model in MODELS if part.has_model(model) and part.published and protocol == "paper"]
    places = [(row, metric) for row, metric in places_of(cells, published) if part.has_row(row)]
    rows = []
    for row, metric in places:
        mine = [by_place.get((model, row, metric)) for model in models]
        best_null = next(
            (f"{number(cell.null_value)} {cell.best_null}" for cell in mine if cell and cell.best_null), ""
        )
        line = printed.get((row, SOTA_METRIC.get(metric, metric)))
        numbers = [line.by_model[model] if line else "" for model in published]
        better = line.better if line else next((cell.better for cell in mine if cell), "higher")
        arrow = " ↑" if better == "higher" else " ↓"
        comparable = line and (protocol == "paper" or row not in SOTA_DIFFERS)
        sota = [(line.sota or "-") if line and comparable else ""] if part.published else []
        rows.append([row, metric + arrow, *map(_brief, mine), *([best_null] if models else []), *numbers, *sota])
    headers = ["", "", *models, *(["best null"] if models else []), *(MODELS[model] for model in published)]
    headers += ["SOTA"] if part.published else []
    title = f"CMI-Bench, protocol {protocol}" + (", beside the published Table 3" if published else "")
    notes = (*_notes(cells), LEGEND) if models else ()
    table = Table(title, headers, rows, labels=2, notes=(*notes, *spell_out(places)))
    return replace(table, in_words=in_words(table))


def counts_table(cells: Sequence[BenchCell], protocol: str) -> Table:
    """Return the counts behind each row of `table3`: scored items, unparsed answers, unanswered questions."""
    mine = [cell for cell in cells if cell.protocol == protocol and not cell.is_null]
    models = list(dict.fromkeys(cell.model for cell in mine))
    counts = {(cell.row, cell.model): f"{cell.n} / {cell.unparsed} / {cell.missing}" for cell in mine}
    rows = [
        [row, *(counts.get((row, model), "") for model in models)]
        for row in DATASETS.rows
        if any(row == r for r, _ in counts)
    ]
    return Table(f"n / unparsed / missing, protocol {protocol}", ["row", *models], rows)


def places_of(cells: Sequence[BenchCell], published: Sequence[str]) -> list[tuple[str, str]]:
    """Return every (row, metric) in the order of Table 3: those of the cells and, if models are, the published ones."""
    mine = [(cell.row, cell.metric) for cell in cells]
    every = [(line.row, line.metric) for line in published_rows()] + mine if published else mine
    return sorted(dict.fromkeys(every), key=lambda place: DATASETS.rows.index(place[0]))


def _brief(cell: BenchCell | None) -> str:
    if cell is None or cell.value is None:
        return "" if cell is None else "not computed"
    return f"{number(cell.value)} [{interval((cell.low, cell.high), between=', ')}] {MARKS[cell.verdict]}"


def _notes(cells: Iterable[BenchCell]) -> list[str]:
    """Return each note once, with the rows that it concerns."""
    about: dict[str, dict[str, None]] = {}
    for cell in cells:
        for note in cell.notes:
            place = f"{cell.row} {cell.metric}" if note.startswith("not computed") else cell.row
            about.setdefault(note, {})[place] = None
    return [f"{', '.join(places)}: {note}." for note, places in about.items()]
