"""Self-contained HTML pages: one file, light and dark, no network. Text is escaped unless a parameter says HTML."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
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

ONE_AT_A_TIME = """
document.addEventListener("play", ({ target }) => {
  for (const player of document.querySelectorAll("audio")) if (player !== target) player.pause();
}, true);
"""

_BAR, _HEIGHT = 180, 16  # pixels


def page(title: str, body: str, style: str = "", script: str = ONE_AT_A_TIME) -> str:
    """Return a whole page. `body` is HTML, `style` is added to the common CSS, and `script` is the only script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    shared = css_variables() + files("cmi.report").joinpath("style.css").read_text(encoding="utf-8")
    return _PAGE.format(
        title=escape(title), script_hash=f"sha256-{digest}", style=shared + style, body=body, script=script
    )


def fact_list(facts: Mapping[str, str]) -> str:
    """Return a definition list."""
    terms = "\n".join(f"<div><dt>{escape(term)}</dt><dd>{escape(said)}</dd></div>" for term, said in facts.items())
    return f'<dl class="facts">\n{terms}\n</dl>'


def table_html(table: Table) -> str:
    """Return a table with its title and notes."""
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
    """Return HTML parts folded under a summary."""
    return f"<details><summary>{escape(summary)}</summary>\n{chr(10).join(parts)}\n</details>"


def interval_bar(label: str, value: float, interval: Interval, chance: float, kind: str) -> str:
    """Draw a share and its interval on a line from 0 to 1, with a mark at chance. `kind` is a CSS class."""
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
