"""Tables of cells: the paper's Tables 2 and 3 with the user's rows, and every cell in full.

The files in published/ hold the numbers of Tables 2, 3 and 4, of 17, 20 and 21 (groups.csv), and of 18 and 19
(windows.csv) as they were printed, accuracies in percent. The paper is inconsistent:
    Qwen2-audio on Music Arena          5.99 in Table 2, 35.99 in Table 20
    the last row on CMI-Pref            78.20 in Table 2; 78.10 in Table 21, which alone gives the mean of Table 4
    Music Arena in Tables 2 and 4       different numbers; Table 4 is said to use both scores
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from cmi.report.numbers import interval, number, p_value, percent, signed
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.cells import ACCURACY, EVERYTHING, Reliability, Results, RewardCell, Versus
from cmi.rewardbench.tasks import (
    ALIGNMENT_REGRESSION,
    COMPOSITIONAL_ALIGNMENT,
    MUSICALITY_PREFERENCE,
    MUSICALITY_REGRESSION,
    TEXT_ALIGNMENT,
    Protocol,
    Task,
)
from cmi.stats import expected_calibration_error

TableName = Literal["table2", "table3", "table4"]


class TableColumn(NamedTuple):
    """A column of a table, and the cells that it shows."""

    title: str
    dataset: str
    task: Task
    group: str = EVERYTHING
    metric: str = ACCURACY.name

    def has(self, cell: RewardCell) -> bool:
        place = (self.dataset, self.task.name, self.metric, self.group)
        return (cell.dataset, cell.task, cell.metric, cell.group) == place


class PublishedModel(NamedTuple):
    model: str
    numbers: Mapping[str, str]  # by column, as printed; '' if the paper has none
    source: str


def _correlations(dataset: str, title: str, task: Task) -> dict[str, TableColumn]:
    names = {"lcc": "LCC", "srcc": "SRCC", "ktau": "K-Tau"}
    return {
        f"{dataset}_{key}": TableColumn(f"{title} {name}", dataset, task, metric=name) for key, name in names.items()
    }


COLUMNS: Mapping[str, Mapping[str, TableColumn]] = {
    "table2": {
        **_correlations("pam", "PAM", MUSICALITY_REGRESSION),
        **_correlations("musiceval", "MusicEval", MUSICALITY_REGRESSION),
        "music_arena_acc": TableColumn("Music Arena ACC", "music-arena", MUSICALITY_PREFERENCE),
        "cmi_pref_acc": TableColumn("CMI-Pref ACC", "cmi-pref", MUSICALITY_PREFERENCE),
    },
    "table3": {
        **_correlations("pam", "PAM", ALIGNMENT_REGRESSION),
        "text_acc": TableColumn("text", "cmi-pref", TEXT_ALIGNMENT, "text"),
        "text_lyrics_acc": TableColumn("text+lyrics", "cmi-pref", TEXT_ALIGNMENT, "text+lyrics"),
        "text_audio_acc": TableColumn("text+audio", "cmi-pref", COMPOSITIONAL_ALIGNMENT, "text+audio"),
        "text_lyrics_audio_acc": TableColumn(
            "text+lyrics+audio", "cmi-pref", COMPOSITIONAL_ALIGNMENT, "text+lyrics+audio"
        ),
        "without_audio_acc": TableColumn("w/o audio", "cmi-pref", TEXT_ALIGNMENT),
        "with_audio_acc": TableColumn("w/ audio", "cmi-pref", COMPOSITIONAL_ALIGNMENT),
    },
}


def read_published(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of published numbers, as printed."""
    text = files("cmi.rewardbench.evaluation").joinpath("published", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def published_rows(table: TableName) -> tuple[PublishedModel, ...]:
    rows = []
    for line in read_published(table):
        model, source = line.pop("model"), line.pop("source")
        rows.append(PublishedModel(model, line, source))
    return tuple(rows)


class PublishedGroup(NamedTuple):
    """An accuracy of a published model in one group of a data set's items, as printed."""

    table: str
    grouping: str
    dataset: str
    task: str
    model: str
    group: str
    value: str


@cache
def published_groups() -> tuple[PublishedGroup, ...]:
    return tuple(PublishedGroup(**line) for line in read_published("groups"))


def group_tables(cells: Sequence[RewardCell], grouping: str, protocol: Protocol) -> list[Table]:
    """Return accuracies by group beside the published ones, for each task that the paper has groups of."""
    tables = []
    for (dataset, task), rows in _groups_by_task(grouping).items():
        own = [c for c in cells if (c.dataset, c.task, c.metric) == (dataset, task, ACCURACY.name)]
        if own:
            title = f"{dataset}: {task} by {grouping}, protocol {protocol}: yours (n), then Table {rows[0].table}"
            tables.append(_group_table(title, own, rows))
    return tables


def published_group_tables() -> list[Table]:
    """Return the accuracies by group that were published."""
    return [
        _group_table(f"Table {rows[0].table}, {dataset}: {task} by {grouping}, as published", (), rows)
        for grouping in sorted({one.grouping for one in published_groups()})
        for (dataset, task), rows in _groups_by_task(grouping).items()
    ]


def _groups_by_task(grouping: str) -> dict[tuple[str, str], list[PublishedGroup]]:
    found: dict[tuple[str, str], list[PublishedGroup]] = {}
    for one in published_groups():
        if one.grouping == grouping:
            found.setdefault((one.dataset, one.task), []).append(one)
    return found


def _group_table(title: str, own: Sequence[RewardCell], rows: Sequence[PublishedGroup]) -> Table:
    groups = list(dict.fromkeys([*(one.group for one in rows), *(cell.group for cell in own)]))
    shown: dict[str, dict[str, str]] = {model: {} for model in [*(c.model for c in own), *(one.model for one in rows)]}
    for cell in own:
        shown[cell.model][cell.group] = f"{number(cell.value, *style(cell.metric))} ({cell.n})"
    for one in rows:
        shown[one.model][one.group] = number(float(one.value))
    lines = [[model, *(found.get(group, "") for group in groups)] for model, found in shown.items()]
    return Table(title, ["model", *groups], lines, notes=[AS_PRINTED])


AS_PRINTED = "Accuracies in percent. Published numbers are as printed, by the authors' rules (`paper`)."
TITLES: dict[TableName, str] = {
    "table2": "Table 2, musicality",
    "table3": "Table 3, alignment (accuracies on CMI-Pref)",
}
NULL = "null: "
CELL_NOTE = (
    "ACC in percent. 95 %: bootstrap over prompts; with fewer than ten, Wilson's for an accuracy and none for others. "
    "Unscored: items left out because a take has no score; undecided: pairs for which people said both or neither. "
    "p: against the best null, adjusted by Holm over the model's cells."
)

JUDGE_NOTE = (
    "Unparsed: items of which no answer of the judge could be read. Under paper such a pair is wrong; under strict it "
    "is left out, as such a rating is under both. A judge's tie is half a point under both."
)


def paper_table(name: TableName, cells: Sequence[RewardCell], protocol: Protocol) -> Table:
    """Return a table of the paper with the user's models, the nulls and the published rows."""
    columns = COLUMNS[name]
    numbers: dict[str, dict[str, str]] = {}
    for cell in sorted(cells, key=lambda cell: cell.is_null):
        for key, column in columns.items():
            if column.has(cell):
                numbers.setdefault(_shown_name(cell), {})[key] = number(cell.value, *style(cell.metric))
    rows = [[model, *(found.get(key, "") for key in columns)] for model, found in numbers.items()]
    rows += [
        [row.model, *(_padded(row.numbers[key], column) for key, column in columns.items())]
        for row in published_rows(name)
    ]
    mine = f"protocol {protocol}: yours, nulls, then what was published" if numbers else "as published"
    notes = [AS_PRINTED]
    return Table(
        f"CMI-RewardBench {TITLES[name]}, {mine}", ["model", *(c.title for c in columns.values())], rows, notes=notes
    )


def _padded(printed: str, column: TableColumn) -> str:
    return number(float(printed) if printed else None, style(column.metric)[0])


def cell_tables(cells: Iterable[RewardCell], about: str) -> list[Table]:
    """Return every cell in full, one table per task of a data set."""
    places: dict[tuple[str, str], list[RewardCell]] = {}
    for cell in cells:
        places.setdefault((cell.dataset, cell.task), []).append(cell)
    tables = [_cell_table(group, f"{dataset}: {task}, {about}") for (dataset, task), group in places.items()]
    notes = (CELL_NOTE, *([JUDGE_NOTE] if any("unparsed" in table.headers for table in tables) else []))
    return [*tables[:-1], *(replace(table, notes=notes) for table in tables[-1:])]


def _cell_table(cells: Sequence[RewardCell], title: str) -> Table:
    grouped = any(cell.group != EVERYTHING for cell in cells)
    judged = any(cell.unparsed is not None for cell in cells)
    rows = []
    for cell in cells:
        words = [_shown_name(cell), *([cell.group] if grouped else []), cell.metric]
        as_shown = style(cell.metric)
        values = [number(cell.value, *as_shown), interval((cell.low, cell.high), *as_shown)]
        unparsed = ["" if cell.unparsed is None else str(cell.unparsed)] if judged else []
        counts = [str(cell.n), str(cell.prompts), str(cell.unscored), *unparsed, str(cell.undecided)]
        against = ["", "", ""]
        if cell.best_null:
            null = f"{number(cell.null_value, *as_shown)} {cell.best_null}"
            against = [null, signed(cell.difference, *as_shown), p_value(cell.p)]
        rows.append([*words, *values, *counts, *against])
    words = ["model", *(["group"] if grouped else []), "metric"]
    counts = ["n", "prompts", "unscored", *(["unparsed"] if judged else []), "undecided"]
    headers = [*words, "value", "95 %", *counts, "best null", "v null", "p"]
    return Table(title, headers, rows, labels=len(words))


def versus_table(versus: Iterable[Versus]) -> Table:
    """Return the comparisons of models over all items that both scored."""
    rows = [
        [one.a, one.b, one.dataset, one.task, one.metric, *difference_cells(one)]
        for one in versus
        if one.group == EVERYTHING
    ]
    headers = ["model", "minus", "data set", "task", "metric", "difference", "95 %", "n", "p"]
    return Table(
        "Models against each other", headers, rows, labels=5, notes=["p adjusted by Holm over the pair's cells."]
    )


def calibration_table(reliabilities: Iterable[Reliability]) -> Table:
    """Return the expected calibration error of each model, and its bins."""
    rows = []
    for one in reliabilities:
        bins = "; ".join(f"{percent(b.forecast, 0)}: {percent(b.happened, 0)} ({b.n})" for b in one.bins)
        error = percent(expected_calibration_error(one.bins))
        rows.append([one.model, one.dataset, one.task, error, str(sum(b.n for b in one.bins)), bins])
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


def full_tables(results: Results, protocol: Protocol) -> list[Table]:
    """Return all tables of an evaluation except the paper's."""
    whole = [cell for cell in results.cells if cell.group == EVERYTHING]
    tables = cell_tables(whole, f"protocol {protocol}")
    tables += [versus_table(results.versus)] if results.versus else []
    return tables + ([calibration_table(results.reliability)] if results.reliability else [])


def _shown_name(cell: RewardCell) -> str:
    return NULL + cell.model if cell.is_null else cell.model


def style(metric: str) -> tuple[int, float]:
    """Return the decimals and the scale of a metric; accuracies are in percent."""
    return (2, 100.0) if metric == ACCURACY.name else (4, 1.0)


def difference_cells(one: Versus) -> list[str]:
    """Format the difference, its interval, n and p."""
    digits, scale = style(one.metric)
    ends = interval((one.low, one.high), digits, scale, with_sign=True)
    return [signed(one.difference, digits, scale), ends, str(one.n), p_value(one.p)]
