"""A probe's report as a page: a heat map of flaws by strength, intervals against bounds, and the tables."""

import math
from collections.abc import Sequence
from html import escape

from cmi.probe.probe import HALF, Fall, Order, ProbeReport, ScoreChange
from cmi.probe.report import FULL_COLOUR, VERDICTS, families_of, summary, tables
from cmi.probe.versions import STRENGTHS
from cmi.report.html import cells, details, fact_list, interval_bar, numbers, page, range_bar, table_html, table_of_rows
from cmi.report.numbers import interval, number, percent, signed
from cmi.stats.intervals import Interval
from cmi.studio.flaws import FLAWS

DEEPEST = 45  # percent of colour in a cell; text stays readable on it
STYLE = """
.heat td, .heat th { padding: .25rem .5rem }
.heat td.cell { min-width: 3.6rem; text-align: center }
.heat .fall { background: color-mix(in srgb, var(--accent) var(--depth), transparent) }
.heat .rise { background: color-mix(in srgb, var(--take-b) var(--depth), transparent) }
.heat th[scope=row] { position: sticky; left: 0; background: var(--paper) }
.heat small { display: block; font-size: .75rem }
@media (max-width: 30rem) { .heat small, td:has(> .bar), thead td:empty { display: none } }
.heat .family th { padding-top: 1rem; font-weight: 600; color: var(--ink) }
.fails { color: var(--take-b); font-weight: 600 }
@media print { .heat td { print-color-adjust: exact } }
"""


ABOUT_FALLS = (
    f"Each song is scored clean and with a flaw, at strengths from {STRENGTHS[0]:g} (slight) to {STRENGTHS[-1]:g} "
    "(blatant). Cells have the mean change of musicality in spreads; a spread is the standard deviation of the clean "
    "songs’ scores. Green cells fall, as they should, and orange ones rise. Then the share of songs whose score falls "
    f"at strength {HALF:g}, with its 95 % interval; a random scorer has 50 % (dashed). Trend: Spearman’s correlation "
    "of strength and score; -1 if each step lowers the score."
)


def probe_page(report: ProbeReport) -> str:
    """Return the page."""
    facts = {
        "Probed": report.model,
        "Passed": f"{sum(report.verdicts)} of {len(report.verdicts)} probes",
        "Songs": f"{report.songs} of {report.seconds:g} s",
        "Takes scored": str(report.takes),
    }
    body = [
        "<h1>Can this scorer be trusted?</h1>",
        fact_list(facts),
        f'<p class="quiet">{escape(summary(report))}</p>',
        "<h2>Flaws should lower musicality, the more the stronger</h2>",
        f'<p class="quiet">{ABOUT_FALLS}</p>',
        _heat_map(report),
        "<h2>These should hardly move the score</h2>",
        '<p class="quiet">Mean |change| in spreads, with its 95 % interval; the dashed line is the bound.</p>',
        _changes(report.changes),
        *([_orders(report.orders)] if report.orders else []),
        details("All numbers", [table_html(table, is_sortable=True) for table in tables(report)]),
    ]
    return page(f"Probe of {report.model}", "\n".join(body), STYLE)


def _heat_map(report: ProbeReport) -> str:
    strengths = numbers((f"{strength:g}" for strength in STRENGTHS), "th")
    head = cells(["flaw"], "th") + strengths + numbers(["falls, %", "95 %"], "th") + "<td></td>"
    head += numbers(["trend"], "th") + cells(["verdict"], "th")
    rows = []
    for family in families_of(report):
        falls = [fall for fall in report.falls if fall.family == family]
        passed = f"{sum(fall.passed for fall in falls)} of {len(falls)} pass"
        rows.append(f'<tr class="family"><th colspan="{len(STRENGTHS) + 6}">{escape(family)}: {passed}</th></tr>')
        rows += [_fall_row(fall) for fall in falls]
    return table_of_rows("Flaws by strength", head, rows, kind="heat")


def _fall_row(fall: Fall) -> str:
    heat = "".join(_cell(value) for value in fall.curve)
    bar = interval_bar(fall.flaw, fall.share, fall.interval, 0.5, "scorer" if fall.passed else "null")
    share = numbers([percent(fall.share, 0), interval(fall.interval, 0, 100)])
    about = FLAWS[fall.flaw].description if fall.flaw in FLAWS else ""
    name = f'<th scope="row">{escape(fall.flaw)}<small>{escape(about)}</small></th>'
    return f"{name}{heat}{share}<td>{bar}</td>{numbers([number(fall.trend)])}{_verdict(fall.passed)}"


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return '<td class="cell">-</td>'
    depth = round(DEEPEST * min(1.0, abs(value) / FULL_COLOUR))
    return f'<td class="cell {"fall" if value < 0 else "rise"}" style="--depth: {depth}%">{signed(value)}</td>'


def _verdict(passed: bool | None) -> str:
    return f"<td>{VERDICTS[passed]}</td>" if passed is not False else f'<td class="fails">{VERDICTS[passed]}</td>'


def _changes(changes: Sequence[ScoreChange]) -> str:
    ends = [value for one in changes for value in (one.mean, one.bound, *one.interval) if math.isfinite(value)]
    scale = Interval(0.0, max(ends, default=1.0))
    rows = []
    for one in changes:
        known = one.interval if all(map(math.isfinite, one.interval)) else None
        said = f"{one.probe}, {one.axis}: {number(one.mean, 3)}, bound {one.bound:g}"
        value = one.mean if math.isfinite(one.mean) else 0.0
        bar = range_bar(said, value, known, one.bound, scale, "scorer" if one.passed else "null")
        shown = cells([one.probe, one.axis]) + numbers([number(one.mean, 3), interval(one.interval, 3)])
        rows.append(f"{shown}<td>{bar}</td>{_verdict(one.passed)}")
    head = cells(["what is changed", "axis"], "th") + numbers(["mean", "95 %"], "th")
    return table_of_rows("What should hardly move the score", f"{head}<td></td><th>verdict</th>", rows)


def _orders(orders: Sequence[Order]) -> str:
    rows = []
    for one in orders:
        bar = interval_bar(one.probe, one.share, one.interval, one.chance, "null" if one.passed is False else "scorer")
        shown = cells([one.probe]) + numbers([percent(one.share, 0), interval(one.interval, 0, 100)])
        rows.append(f"{shown}<td>{bar}</td>{_verdict(one.passed)}")
    head = cells(["prompt"], "th") + numbers(["songs, %", "95 %"], "th") + "<td></td><th>verdict</th>"
    return "<h2>The fitting prompt should have the higher alignment</h2>\n" + table_of_rows("Prompts", head, rows)
