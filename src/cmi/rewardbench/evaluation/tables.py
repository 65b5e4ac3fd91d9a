"""Cells laid out for people: the paper's Tables 2 and 3 with the user's rows, and every cell in full."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cmi.report.tables import Table
from cmi.rewardbench.evaluation.cells import EVERYTHING, Cell, Evaluation, Reliability, Versus
from cmi.rewardbench.evaluation.published_rows import COLUMNS, Column, Place, TableName, published_rows
from cmi.rewardbench.tasks import Protocol
from cmi.stats import expected_calibration_error

TITLES: dict[TableName, str] = {
    "table2": "Table 2, musicality",
    "table3": "Table 3, alignment (accuracies on CMI-Pref)",
}
PERCENT = {"ACC"}
NULL = "null: "
CELL_NOTE = (
    "ACC in percent. 95 %: bootstrap over prompts; of fewer than ten, Wilson's of an accuracy and none of others. "
    "Unscored: items left out since a take has no score; undecided: pairs on which people said both or neither. "
    "p: against the best null, adjusted by Holm over the model's cells."
)


def paper_table(name: TableName, cells: Sequence[Cell], protocol: Protocol) -> Table:
    """The user's models first, then nulls, then what was published."""
    columns = COLUMNS[name]
    numbers: dict[str, dict[Place, str]] = {}
    for cell in sorted(cells, key=lambda cell: cell.is_null):
        place = Place(cell.dataset, cell.task, cell.group, cell.metric)
        if any(column.place == place for column in columns.values()):
            numbers.setdefault(_shown_name(cell), {})[place] = shown(cell.metric, cell.value)
    rows = [[model, *(found.get(column.place, "") for column in columns.values())] for model, found in numbers.items()]
    rows += [
        [row.model, *(_padded(row.numbers[key], column) for key, column in columns.items())]
        for row in published_rows(name)
    ]
    mine = f"protocol {protocol}: yours, nulls, then what was published" if numbers else "as published"
    notes = ["Accuracies in percent. Published numbers are as printed, by the authors' rules (`paper`)."]
    return Table(
        f"CMI-RewardBench {TITLES[name]}, {mine}", ["model", *(c.title for c in columns.values())], rows, notes=notes
    )


def _padded(number: str, column: Column) -> str:
    digits = 2 if column.place.metric in PERCENT else 4
    return f"{float(number):.{digits}f}" if number else "-"


def cell_tables(cells: Iterable[Cell], about: str) -> list[Table]:
    """Every cell in full: one table for each task of a data set."""
    places: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        places.setdefault((cell.dataset, cell.task), []).append(cell)
    tables = [_cell_table(group, f"{dataset}: {task}, {about}") for (dataset, task), group in places.items()]
    return [*tables[:-1], *(replace(table, notes=(CELL_NOTE,)) for table in tables[-1:])]


def _cell_table(cells: Sequence[Cell], title: str) -> Table:
    grouped = any(cell.group != EVERYTHING for cell in cells)
    rows = []
    for cell in cells:
        words = [_shown_name(cell), *([cell.group] if grouped else []), cell.metric]
        span = f"{shown(cell.metric, cell.low)} – {shown(cell.metric, cell.high)}" if cell.low is not None else "-"
        counts = [str(cell.n), str(cell.prompts), str(cell.unscored), str(cell.undecided)]
        null = f"{shown(cell.metric, cell.null_value)} {cell.best_null}" if cell.best_null else ""
        against = [null, signed(cell.metric, cell.difference), p_value(cell.p)]
        rows.append([*words, shown(cell.metric, cell.value), span, *counts, *against])
    words = ["model", *(["group"] if grouped else []), "metric"]
    headers = [*words, "value", "95 %", "n", "prompts", "unscored", "undecided", "best null", "v null", "p"]
    return Table(title, headers, rows, labels=len(words))


def versus_table(versus: Iterable[Versus]) -> Table:
    """Models against each other, over everything that both scored."""
    rows = [
        [
            *(one.a, one.b, one.dataset, one.task, one.metric, signed(one.metric, one.difference)),
            *(signed_span(one), str(one.n), p_value(one.p)),
        ]
        for one in versus
        if one.group == EVERYTHING
    ]
    headers = ["model", "minus", "data set", "task", "metric", "difference", "95 %", "n", "p"]
    return Table(
        "Models against each other", headers, rows, labels=5, notes=["p adjusted by Holm over the pair's cells."]
    )


def calibration_table(reliabilities: Iterable[Reliability]) -> Table:
    """The expected calibration error of each model, and its bins."""
    rows = []
    for one in reliabilities:
        bins = "; ".join(f"{100 * b.forecast:.0f}: {100 * b.happened:.0f} ({b.n})" for b in one.bins)
        n = sum(b.n for b in one.bins)
        error = expected_calibration_error(one.bins)
        rows.append([one.model, one.dataset, one.task, f"{100 * error:.1f}" if n else "-", str(n), bins])
    notes = ["ECE in percent, of the logistic function of the difference of scores. Bins: said % : right % (n)."]
    return Table("Calibration", ["model", "data set", "task", "ECE", "n", "bins"], rows, labels=3, notes=notes)


def calibration_records(reliabilities: Iterable[Reliability]) -> list[dict[str, Any]]:
    return [
        {
            **{"model": one.model, "dataset": one.dataset, "task": one.task},
            "ECE": expected_calibration_error(one.bins) if one.bins else None,
            "bins": [b._asdict() for b in one.bins],
        }
        for one in reliabilities
    ]


def full_tables(evaluation: Evaluation, protocol: Protocol) -> list[Table]:
    """All that an evaluation has to say, beyond the paper's tables."""
    whole = [cell for cell in evaluation.cells if cell.group == EVERYTHING]
    tables = cell_tables(whole, f"protocol {protocol}")
    tables += [versus_table(evaluation.versus)] if evaluation.versus else []
    return tables + ([calibration_table(evaluation.reliability)] if evaluation.reliability else [])


def _shown_name(cell: Cell) -> str:
    return NULL + cell.model if cell.is_null else cell.model


def shown(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2f}" if metric in PERCENT else f"{value:.4f}"


def signed_span(one: Versus) -> str:
    return "-" if one.low is None else f"{signed(one.metric, one.low)} – {signed(one.metric, one.high)}"


def signed(metric: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{100 * value:+.2f}" if metric in PERCENT else f"{value:+.4f}"


def p_value(value: float | None) -> str:
    if value is None:
        return ""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
