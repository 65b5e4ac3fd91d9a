"""Leaderboards as HTML: one board per metric, with filters by task and by model.

A board shows your models with their intervals, null baselines and published numbers, best first. The common script
(`page.js`) filters and sorts; without scripts all boards are shown.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal, NamedTuple

from cmi.report.html import cells, numbers, range_bar, table_of_rows
from cmi.stats.intervals import Interval

StandingKind = Literal["yours", "null", "published"]
KINDS: dict[StandingKind, str] = {"yours": "your models", "null": "null baselines", "published": "published"}
STYLE = "main { max-width: 84rem }"


class Standing(NamedTuple):
    """A model on a board."""

    model: str
    kind: StandingKind
    value: float
    shown: str
    interval: Interval | None = None
    interval_shown: str = ""
    note: str = ""


class Board(NamedTuple):
    """Models ranked by one metric."""

    title: str
    group: str
    metric: str
    is_higher_better: bool
    standings: Sequence[Standing]


def leaderboard(boards: Sequence[Board]) -> str:
    """Return the boards as HTML, with the controls that filter them."""
    kinds = [kind for kind in KINDS if any(one.kind == kind for board in boards for one in board.standings)]
    groups = dict.fromkeys(board.group for board in boards)
    choices = "".join(f"<option>{escape(group)}</option>" for group in groups)
    boxes = "".join(
        f'<label class="box"><input type="checkbox" name="kind" value="{kind}" checked> {KINDS[kind]}</label>'
        for kind in kinds
    )
    shown = "\n".join(map(_board, boards))
    return f"""<h2>Leaderboard</h2>
<form class="filters" hidden>
<label>task <select name="group"><option value="">all tasks</option>{choices}</select></label>
<label>model <input type="search" name="model" placeholder="part of a name"></label>
<label>order <select name="order"><option value="best">the best first</option><option value="name">by name</option>
</select></label>
{boxes}
</form>
<p class="quiet" role="status"></p>
<div class="boards">
{shown}
</div>"""


def _board(board: Board) -> str:
    ordered = sorted(board.standings, key=lambda one: -one.value if board.is_higher_better else one.value)
    scale = _scale(ordered)
    nulls = [one.value for one in ordered if one.kind == "null"]
    has_intervals = any(one.interval_shown for one in ordered)
    best_null = nulls[0] if nulls else None
    rows = [_row(one, place, scale, best_null, has_intervals) for place, one in enumerate(ordered)]
    better = "higher" if board.is_higher_better else "lower"
    head = cells(["model"], "th") + numbers(["value", *(["95 %"] if has_intervals else [])], "th") + "<td></td>"
    return f"""<section class="board" data-group="{escape(board.group)}">
<h3>{escape(board.title)}</h3>
<p class="quiet">{escape(board.metric)}, {better} is better</p>
{table_of_rows(board.title, head, rows, is_sortable=True)}
</section>"""


def _scale(standings: Iterable[Standing]) -> Interval:
    """Return the range of the values on the board, including 0."""
    ends = [0.0]
    for one in standings:
        ends += [one.value, *(one.interval or ())]
    return Interval(min(ends), max(ends))


def _row(one: Standing, place: int, scale: Interval, null: float | None, has_intervals: bool) -> str:
    said = f"{one.model}: {one.shown}" + (f", 95 % {one.interval_shown}" if one.interval else "")
    bar = range_bar(said, one.value, one.interval, null, scale, "scorer" if one.kind == "yours" else one.kind)
    note = f'<br><span class="quiet">{escape(one.note)}</span>' if one.note else ""
    return (
        f'<tr class="{one.kind}" data-kind="{one.kind}" data-place="{place}"><td>{escape(one.model)}{note}</td>'
        f'<td class="number" data-value="{one.value!r}">{escape(one.shown)}</td>'
        f"{numbers([one.interval_shown]) if has_intervals else ''}<td>{bar}</td></tr>"
    )
