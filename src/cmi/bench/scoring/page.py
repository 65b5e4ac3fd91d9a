"""The leaderboard of CMI-Bench: a page with your models, null baselines and the published numbers, task by task."""

from collections.abc import Sequence
from html import escape

from cmi import __version__
from cmi.bench.scoring.names import METRICS, in_words, row_titles, task_title
from cmi.bench.scoring.one_file import NULL_PREFIX, BenchCell
from cmi.bench.scoring.tables import (
    LEGEND,
    MARKS,
    MODELS,
    SOTA_DIFFERS,
    SOTA_METRIC,
    PublishedRow,
    Table3Part,
    places_of,
    published_rows,
    table3,
)
from cmi.report.html import details, fact_list, note_html, page, table_html
from cmi.report.leaderboard import STYLE, Board, Standing, leaderboard
from cmi.report.numbers import interval, number
from cmi.report.tables import Table
from cmi.stats.intervals import Interval

SOTA = "supervised state of the art"
ADD_YOURS = (
    "`cmi bench table answers/ --annotations annotations/ --html page.html` puts your models beside them, with "
    "intervals and null baselines."
)


def bench_page(cells: Sequence[BenchCell], protocol: str, part: Table3Part, tables: Sequence[Table]) -> str:
    """Return the page; `tables` follow the leaderboard."""
    models = list(dict.fromkeys(cell.model for cell in cells if not cell.is_null))
    title = f"CMI-Bench: {', '.join(models)}" if models else "CMI-Bench, as published"
    published = "Published numbers are as printed, of the authors' runs. " if part.published else ""
    source = {"Scored by": f"cmi {__version__}"} if models else {"Source": "Table 3 of the paper"}
    about = f"{published}{LEGEND} The dashed line is the best null." if models else f"{published}{ADD_YOURS}"
    overview = table3(cells, protocol, part)
    body = [
        f"<h1>{escape(title)}</h1>",
        fact_list({"Protocol": protocol, **source}),
        note_html(about),
        details("All models in one table", [table_html(in_words(overview), kind="dense")]),
        leaderboard(make_boards(cells, protocol, part)),
        *(["<h2>All numbers</h2>"] if tables else []),
        *(details(table.title, [table_html(table.in_words or table, is_sortable=True)]) for table in tables),
    ]
    return page(title, "\n".join(body), STYLE)


def make_boards(cells: Sequence[BenchCell], protocol: str, part: Table3Part) -> list[Board]:
    """Return a board for each row and metric, in the order of Table 3."""
    cells = [cell for cell in part.cells_in(cells) if cell.protocol == protocol]
    printed = {(line.row, line.metric): line for line in published_rows() if part.published}
    published = [model for model in MODELS if part.published and part.has_model(model) and protocol == "paper"]
    boards = []
    for row, metric in places_of(cells, published):
        if not part.has_row(row):
            continue
        here = [cell for cell in cells if (cell.row, cell.metric) == (row, metric)]
        line = printed.get((row, SOTA_METRIC.get(metric, metric)))
        standings = [_standing(cell) for cell in _once(here) if cell.value is not None]
        standings += _published(line, published, protocol == "paper" or row not in SOTA_DIFFERS) if line else []
        if standings:
            better = line.better if line else here[0].better
            title = f"{row_titles()[row]} ({row})"
            boards.append(Board(title, task_title(row), METRICS.get(metric, metric), better == "higher", standings))
    return boards


def _once(cells: Sequence[BenchCell]) -> list[BenchCell]:
    """Each model's nulls answer its own items: of nulls with one name, keep the one with the most."""
    ordered = sorted(cells, key=lambda cell: cell.n)
    return list({cell.model: cell for cell in ordered}.values())


def _standing(cell: BenchCell) -> Standing:
    assert cell.value is not None
    ends = None if cell.low is None or cell.high is None else Interval(cell.low, cell.high)
    counts = [f"n {cell.n}", *([f"{cell.unparsed} unparsed"] if cell.unparsed else [])]
    counts += [f"{cell.missing} missing"] if cell.missing else []
    return Standing(
        model=cell.model.removeprefix(NULL_PREFIX),
        kind="null" if cell.is_null else "yours",
        value=cell.value,
        shown=f"{number(cell.value)} {MARKS[cell.verdict]}".strip(),
        interval=ends,
        interval_shown=interval(ends),
        note=", ".join(counts),
    )


def _published(line: PublishedRow, models: Sequence[str], has_sota: bool) -> list[Standing]:
    printed = {MODELS[model]: line.by_model[model] for model in models} | ({SOTA: line.sota} if has_sota else {})
    notes = {SOTA: "on the published test set"}
    return [
        Standing(name, "published", float(value), value, note=notes.get(name, ""))
        for name, value in printed.items()
        if value
    ]
