"""HTML that stands alone: one file, light and dark, no network. Text is escaped; what is HTML already says so."""

from collections.abc import Sequence
from html import escape

from cmi.report.tables import Table
from cmi.stats.intervals import Interval

STYLE = """
:root { color-scheme: light dark; --paper: #fdfcf9; --card: #fff; --text: #23211d; --quiet: #6d685f; --rule: #e3dfd6;
  --accent: #1f6f5c; --null: #b3541e; --wash: #eef5f1 }
@media (prefers-color-scheme: dark) { :root { --paper: #171714; --card: #1f1f1b; --text: #ebe8e1; --quiet: #a39e93;
  --rule: #37352f; --accent: #6cc7ad; --null: #e8935c; --wash: #1f2b27 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--text); font: 1rem/1.55 system-ui, sans-serif }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem }
h1, h2 { font-family: Charter, Georgia, serif; font-weight: 600; line-height: 1.2; text-wrap: balance }
h1 { margin: 0 0 .5rem; font-size: 2.2rem }
h2 { margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: 1.5rem }
p { margin: .5rem 0; max-width: 46rem }
a { color: var(--accent) }
code, pre { font: .9em/1.6 ui-monospace, monospace }
pre { padding: 1rem; background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; overflow-x: auto }
.quiet, caption, dt, th { color: var(--quiet); font-size: .875rem; font-weight: normal }
.scroll { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { padding-bottom: .5rem; text-align: left }
th, td { padding: .3rem 1.2rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: left; white-space: nowrap }
.number { text-align: right }
summary { cursor: pointer; color: var(--accent) }
:focus-visible { outline: .15rem solid var(--accent); outline-offset: .15rem }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
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

# One recording at a time.
_SCRIPT = """
document.addEventListener("play", ({ target }) => {
  for (const player of document.querySelectorAll("audio")) if (player !== target) player.pause();
}, true);
"""

_BAR, _HEIGHT = 180, 16  # pixels


def page(title: str, body: str, style: str = "") -> str:
    """A page of its own. `body` is HTML, `style` CSS beside STYLE."""
    return _PAGE.format(title=escape(title), style=STYLE + style, body=body, script=_SCRIPT)


def table_html(table: Table) -> str:
    """A table with its title and notes."""
    head = "".join(_cell("th", header, i < table.labels) for i, header in enumerate(table.headers))
    rows = "\n".join(
        f"<tr>{''.join(_cell('td', cell, i < table.labels) for i, cell in enumerate(row))}</tr>" for row in table.rows
    )
    notes = "\n".join(f'<p class="quiet">{escape(note)}</p>' for note in table.notes)
    shown = f"<caption>{escape(table.title)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>"
    return f'<div class="scroll"><table>\n{shown}\n</table></div>\n{notes}'


def _cell(tag: str, text: str, is_label: bool) -> str:
    return f"<{tag}>{escape(text)}</{tag}>" if is_label else f'<{tag} class="number">{escape(text)}</{tag}>'


def details(summary: str, parts: Sequence[str]) -> str:
    """HTML parts that are shown when asked for."""
    return f"<details><summary>{escape(summary)}</summary>\n{chr(10).join(parts)}\n</details>"


def interval_bar(label: str, value: float, interval: Interval, chance: float, kind: str) -> str:
    """A share and its interval on a line from 0 to 1, with a mark at chance. `kind` is a name for styles."""
    low, high, at, mark = (round(_BAR * share, 1) for share in (*interval, value, chance))
    middle = _HEIGHT / 2
    said = f"{label}: {value:.0%}, 95 % from {interval.low:.0%} to {interval.high:.0%}; chance {chance:.0%}"
    lines = (
        f'<line class="axis" x1="0" y1="{middle:g}" x2="{_BAR}" y2="{middle:g}"/>'
        f'<line class="chance" x1="{mark}" y1="0" x2="{mark}" y2="{_HEIGHT}"/>'
        f'<rect x="{low}" y="{middle - 3:g}" width="{max(1.0, high - low):.1f}" height="6" rx="3"/>'
        f'<circle cx="{at}" cy="{middle:g}" r="4.5"/>'
    )
    view = f'viewBox="-5 0 {_BAR + 10} {_HEIGHT}" width="{_BAR + 10}" height="{_HEIGHT}"'
    return f'<svg class="bar {escape(kind)}" {view} role="img" aria-label="{escape(said)}">{lines}</svg>'
