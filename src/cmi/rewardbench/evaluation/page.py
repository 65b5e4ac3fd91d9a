"""The leaderboard of CMI-RewardBench: a page with your models, null baselines and the published rows, by task."""

from collections.abc import Sequence
from html import escape

from cmi import __version__
from cmi.report.html import details, fact_list, note_html, page, table_html
from cmi.report.leaderboard import STYLE, Board, Standing, leaderboard
from cmi.report.numbers import interval, number, p_value
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.rewardbench.evaluation.cells import EVERYTHING, RewardCell
from cmi.rewardbench.evaluation.tables import AS_PRINTED, COLUMNS, TableColumn, published_rows, style
from cmi.rewardbench.tasks import TASKS, Protocol
from cmi.stats.intervals import Interval

METRICS = {
    "ACC": "accuracy, %",
    "LCC": "Pearson's correlation (LCC)",
    "SRCC": "Spearman's rank correlation (SRCC)",
    "K-Tau": "Kendall's tau",
    "Brier": "Brier score",
}
ABOUT_YOURS = (
    "Null baselines do not judge the music: they prefer the louder or the longer take, for example; the dashed line is "
    "the best of them. Intervals that overlap do not say that two models are equal: models on the same items are "
    "compared in a table below."
)
ADD_YOURS = (
    "`cmi rewardbench run --model MODEL --out runs/mine` and `cmi rewardbench table runs/mine --html page.html` put "
    "your models beside them, with intervals and null baselines."
)


def rewardbench_page(cells: Sequence[RewardCell], protocol: Protocol, tables: Sequence[Table]) -> str:
    """Return the page; `tables` follow the leaderboard."""
    models = list(dict.fromkeys(cell.model for cell in cells if not cell.is_null))
    title = f"CMI-RewardBench: {', '.join(models)}" if models else "CMI-RewardBench, as published"
    source = {"Evaluated by": f"cmi {__version__}"} if models else {"Source": "Tables 2 and 3 of the paper"}
    body = [
        f"<h1>{escape(title)}</h1>",
        fact_list({"Protocol": protocol, **source}),
        *map(note_html, validation_notes(*models)),
        note_html(f"{AS_PRINTED} {ABOUT_YOURS if models else ADD_YOURS}"),
        leaderboard(make_boards(cells)),
        *(["<h2>All numbers</h2>"] if tables else []),
        *(details(table.title, [table_html(table, is_sortable=True)]) for table in tables),
    ]
    return page(title, "\n".join(body), STYLE)


def make_boards(cells: Sequence[RewardCell]) -> list[Board]:
    """Return a board for each column of the paper's Tables 2 and 3, and for each other number over all items."""
    published = {
        column: [Standing(row.model, "published", float(row.numbers[key]), row.numbers[key])
                 for row in published_rows(table) if row.numbers[key]]
        for table in ("table2", "table3")
        for key, column in COLUMNS[table].items()
    }  # fmt: skip
    tasks = {task.name: task for task in TASKS}
    own = [
        TableColumn("", cell.dataset, tasks[cell.task], cell.group, cell.metric)
        for cell in cells
        if cell.group == EVERYTHING
    ]
    places = {column._replace(title=""): column for column in [*own, *published]}
    boards = []
    for place, column in sorted(places.items(), key=lambda one: list(tasks).index(one[1].task.name)):
        standings = [_standing(cell) for cell in cells if place.has(cell) and cell.value is not None]
        standings += published.get(column, [])
        if standings:
            group = f", {place.group}" if place.group != EVERYTHING else ""
            title = f"{place.dataset}{group}: {place.task.name}"
            metric = METRICS.get(place.metric, place.metric)
            boards.append(Board(title, place.task.name, metric, place.metric != "Brier", standings))
    return boards


def _standing(cell: RewardCell) -> Standing:
    digits, scale = style(cell.metric)
    assert cell.value is not None
    ends = None if cell.low is None or cell.high is None else Interval(scale * cell.low, scale * cell.high)
    left_out = [
        f"{count} {what}" for count, what in ((cell.unscored, "unscored"), (cell.unparsed, "unparsed")) if count
    ]
    tested = [f"p {p_value(cell.p)} against the best null"] if cell.p is not None else []
    return Standing(
        model=cell.model,
        kind="null" if cell.is_null else "yours",
        value=scale * cell.value,
        shown=number(cell.value, digits, scale),
        interval=ends,
        interval_shown=interval(ends, digits),
        note=", ".join([f"n {cell.n}", *left_out, *tested]),
    )
