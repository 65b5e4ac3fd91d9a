"""Self-contained HTML pages: one file, light and dark, no network. Text is escaped unless a parameter says HTML."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from cmi.report.pictures import css_variables
from cmi.report.tables import Table
from cmi.stats.intervals import Interval

# The policy allows one script, and audio and pictures beside or inside the page.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '{script_hash}'; \
style-src 'unsafe-inline'; media-src 'self' file: data:; img-src 'self' file: data:; base-uri 'none'; \
form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""

_BAR, _HEIGHT = 180, 16  # pixels
_LONG = 40  # characters
_CODE = re.compile("`([^`]+)`")
_BEFORE_SIGN = re.compile(" (?=[%↑↓])")


def page(title: str, body: str, style: str = "", script: str | None = None) -> str:
    """Return a whole page. `body` is HTML, `style` is added to the common CSS; `script` replaces the common one."""
    script = _text("page.js") if script is None else script
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    style = css_variables() + _text("style.css") + style
    return _PAGE.format(title=escape(title), script_hash=f"sha256-{digest}", style=style, body=body, script=script)


def _text(name: str) -> str:
    return files("cmi.report").joinpath(name).read_text(encoding="utf-8")


def fact_list(facts: Mapping[str, str]) -> str:
    """Return a definition list."""
    terms = "\n".join(f"<div><dt>{escape(term)}</dt><dd>{escape(said)}</dd></div>" for term, said in facts.items())
    return f'<dl class="facts">\n{terms}\n</dl>'


def table_html(table: Table, is_sortable: bool = False, kind: str = "") -> str:
    """Return a table with its title and notes; a reader can sort it by a column. `kind` is a CSS class."""
    head, *rows = (
        cells(line[: table.labels], tag) + numbers(line[table.labels :], tag)
        for tag, line in [("th", table.headers), *(("td", row) for row in table.rows)]
    )
    notes = "\n".join(map(note_html, table.notes))
    return f"{table_of_rows(table.title, head, rows, is_sortable, has_caption=True, kind=kind)}\n{notes}"


def note_html(note: str) -> str:
    """Return a note in small print; text between backticks becomes code.

    >>> note_html("`cmi pick` is < 1 s")
    '<p class="quiet"><code>cmi pick</code> is &lt; 1 s</p>'
    """
    text = _CODE.sub(r"<code>\1</code>", escape(unbroken(note)))
    return f'<p class="quiet">{text}</p>'


def table_of_rows(
    title: str, head: str, rows: Iterable[str], is_sortable: bool = False, has_caption: bool = False, kind: str = ""
) -> str:
    """Return a table of rows whose cells are HTML. It scrolls by itself if it is wider than the page."""
    body = "\n".join(row if row.startswith("<tr") else f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>\n" if has_caption else ""
    classes = " ".join(filter(None, ["sortable" if is_sortable else "", kind]))
    start = f'<table class="{classes}">' if classes else "<table>"
    table = f"{start}\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(title)}">{table}</div>'


def cells(texts: Iterable[str], tag: str = "td", kind: str = "") -> str:
    """Return cells of words; an empty header becomes an ordinary cell."""
    return "".join(f"<{(own := tag if text else 'td')}{kind}>{escape(unbroken(text))}</{own}>" for text in texts)


def unbroken(text: str) -> str:
    """Keep a number and its % sign, and a metric and its arrow, on one line."""
    return _BEFORE_SIGN.sub("\u00a0", text)


def numbers(texts: Iterable[str], tag: str = "td") -> str:
    """Return right-aligned cells of numbers; lists of numbers may wrap."""
    return "".join(cells([text], tag, f' class="number{" long" if len(text) > _LONG else ""}"') for text in texts)


def details(summary: str, parts: Sequence[str]) -> str:
    """Return HTML parts folded under a summary."""
    return f"<details><summary>{escape(summary)}</summary>\n{chr(10).join(parts)}\n</details>"


def interval_bar(label: str, value: float, interval: Interval, chance: float, kind: str) -> str:
    """Draw a share and its interval on a line from 0 to 1, with a mark at chance. `kind` is a CSS class."""
    said = f"{label}: {value:.0%}, 95 % from {interval.low:.0%} to {interval.high:.0%}; chance {chance:.0%}"
    return range_bar(said, value, interval, chance, Interval(0.0, 1.0), kind)


def range_bar(
    said: str, value: float, interval: Interval | None, mark: float | None, scale: Interval, kind: str
) -> str:
    """Draw a number and its interval on a line from one end of the scale to the other. `said` is for screen readers."""

    def place(number: float) -> float:
        share = (number - scale.low) / ((scale.high - scale.low) or 1.0)
        return round(_BAR * min(1.0, max(0.0, share)), 1)

    middle = _HEIGHT / 2
    lines = [f'<line class="axis" x1="0" y1="{middle:g}" x2="{_BAR}" y2="{middle:g}"/>']
    if mark is not None:
        lines.append(f'<line class="chance" x1="{place(mark)}" y1="0" x2="{place(mark)}" y2="{_HEIGHT}"/>')
    if interval is not None:
        low, high = map(place, interval)
        width = f"{max(1.0, high - low):.1f}"
        lines.append(f'<rect x="{low}" y="{middle - 3:g}" width="{width}" height="6" rx="3"/>')
    lines.append(f'<circle cx="{place(value)}" cy="{middle:g}" r="4.5"/>')
    view = f'viewBox="-5 0 {_BAR + 10} {_HEIGHT}" width="{_BAR + 10}" height="{_HEIGHT}"'
    return f'<svg class="bar {escape(kind)}" {view} role="img" aria-label="{escape(said)}">{"".join(lines)}</svg>'
