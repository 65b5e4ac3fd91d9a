"""The page of `cmi data stats`: the same tables, with the histograms of confidence and shares as bars."""

from collections.abc import Mapping, Sequence
from html import escape

from cmi.publish.statistics import Record
from cmi.publish.tables import modality_table, overview_table, set_tables
from cmi.report.html import page, table_html
from cmi.report.numbers import percent

_WIDTH, _BAR, _GAP = 320, 18, 6  # pixels
STYLE = """
.bars text { fill: var(--ink); font: .8rem system-ui, sans-serif }
.bars rect { fill: var(--accent) }
.row { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: flex-start }
figure { margin: 1rem 0 }
figcaption { color: var(--quiet); font-size: .875rem; padding-bottom: .25rem }
"""


def stats_page(records: Sequence[Record]) -> str:
    """Return one self-contained HTML page."""
    names = ", ".join(record["name"] for record in records)
    parts = [
        f"<h1>What is in {escape(names)}</h1>",
        table_html(overview_table(records)),
        table_html(modality_table(records)),
        *(_section(record) for record in records),
    ]
    return page(f"cmi data stats: {names}", "\n".join(parts), STYLE)


def _section(record: Record) -> str:
    pictures = [bar_chart("What prompts consist of, % of samples", record["modalities"])]
    pictures += [bar_chart(f"Languages of {name}, %", found) for name, found in record["languages"].items() if found]
    pictures += [
        bar_chart(f"Confidence in {axis}, % of votes", one["counts"]) for axis, one in record["confidence"].items()
    ]
    tables = "\n".join(table_html(table) for table in set_tables(record))
    return f'<h2>{escape(record["name"])}</h2>\n<div class="row">{"".join(pictures)}</div>\n{tables}'


def bar_chart(title: str, counts: Mapping[str, int]) -> str:
    """Draw shares as horizontal bars; each is labelled with its name and its percentage."""
    total, height = sum(counts.values()) or 1, len(counts) * (_BAR + _GAP)
    lines = []
    for i, (name, number) in enumerate(counts.items()):
        top, length = i * (_BAR + _GAP), round((_WIDTH - 190) * number / total, 1)
        lines.append(f'<text x="0" y="{top + 14}">{escape(name)}</text>')
        lines.append(f'<rect x="130" y="{top}" width="{max(length, 1)}" height="{_BAR}" rx="3"/>')
        lines.append(f'<text x="{135 + length}" y="{top + 14}">{percent(number / total)}</text>')
    said = "; ".join(f"{name} {percent(number / total)} %" for name, number in counts.items())
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg class="bars" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)}: {escape(said)}">{"".join(lines)}</svg></figure>'
    )
