"""Print a table in a terminal or write it as Markdown, LaTeX, CSV or JSON."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as RichTable
from rich.text import Text

from cmi._util.printable import printable

_MARKDOWN = str.maketrans({"<": "&lt;", "|": r"\|"})
_LATEX = str.maketrans(
    {"<": r"\textless{}", ">": r"\textgreater{}"}
    | {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "^": r"\^{}", "~": r"\~{}"}
    | dict.fromkeys("▲↑", r"$\uparrow$")
    | dict.fromkeys("▼↓", r"$\downarrow$")
    | {"·": r"$\cdot$", "–": "--", "\\": r"\textbackslash{}"}
)


@dataclass(frozen=True)
class Table:
    """A table of text. The first `labels` columns are words, the others numbers. Any text is safe: it is escaped."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1
    notes: Sequence[str] = field(default_factory=tuple)


def missing_table(name: str, missing: Sequence[tuple[str, str]], shown: int = 10) -> Table:
    """Return the files that could not be downloaded, and why."""
    more = [f"... and {len(missing) - shown} more."] if len(missing) > shown else []
    notes = [*more, "What needs these files cannot be scored; the same command tries again to get them."]
    return Table(f"{name}: {len(missing)} files are missing", ["file", "why"], missing[:shown], labels=2, notes=notes)


def print_tables(tables: Sequence[Table], console: Console | None = None) -> None:
    """Print tables to a terminal (by default standard output), uncropped: rows wider than the window wrap."""
    console = console or Console()
    for table in map(_plain, tables):
        shown = RichTable(
            title=Text(table.title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
        )
        widths = [max(cell_len(line[i]) for line in [table.headers, *table.rows]) for i in range(len(table.headers))]
        for i, header in enumerate(table.headers):
            justify: JustifyMethod = "left" if i < table.labels else "right"
            shown.add_column(Text(header), justify=justify, no_wrap=True, min_width=widths[i])
        for row in table.rows:
            shown.add_row(*(Text(cell) for cell in row))
        console.width = max(console.width, sum(widths) + 2 * len(widths) + 2)
        console.print(shown)
        for note in table.notes:
            console.print(Text(note), highlight=False, soft_wrap=True)
        console.print()


def _plain(table: Table) -> Table:
    return Table(
        printable(table.title),
        [printable(header) for header in table.headers],
        [[printable(cell) for cell in row] for row in table.rows],
        table.labels,
        [printable(note) for note in table.notes],
    )


def sentence(text: str) -> str:
    """End `text` with a full stop."""
    return text if text.endswith(".") else f"{text}."


def to_markdown(tables: Sequence[Table]) -> str:
    parts = []
    for table in map(_plain, tables):
        rule = ["---"] * table.labels + ["---:"] * (len(table.headers) - table.labels)
        head, *body = ([cell.translate(_MARKDOWN) for cell in line] for line in [table.headers, *table.rows])
        lines = "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *body])
        title, *notes = (text.replace("<", "&lt;") for text in (table.title, *table.notes))
        parts.append("\n\n".join([f"**{title}**", lines, *notes]))
    return "\n\n".join(parts) + "\n"


def to_latex(tables: Sequence[Table]) -> str:
    """Write tables for a LaTeX document that loads booktabs."""
    parts = []
    for table in map(_plain, tables):
        columns = "l" * table.labels + "r" * (len(table.headers) - table.labels)
        head, *body = (" & ".join(map(_latex, line)) for line in [table.headers, *table.rows])
        lines = [
            f"% {table.title}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *(rf"{line} \\" for line in body),
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {note}" for note in table.notes),
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _latex(cell: str) -> str:
    shielded = "{}" if cell.startswith(("[", "*")) else ""  # the \\ before it would read it as an option
    return shielded + cell.translate(_LATEX)


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Write flat records with a header line; lists are joined by semicolons."""
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow({k: "; ".join(v) if isinstance(v, list | tuple) else v for k, v in record.items()})
    return out.getvalue()


def to_plain(value: Any) -> Any:
    """Convert a value to JSON types, with None for NaN and infinity.

    >>> to_plain({"value": float("nan"), "interval": (0.25, 1.0)})
    {'value': None, 'interval': [0.25, 1.0]}
    """
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if hasattr(value, "item"):  # a scalar of numpy
        return to_plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_json_line(value: Any) -> str:
    """Write one line of JSON Lines; ValueError for NaN and infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def to_json(value: Any) -> str:
    """Write indented JSON with control characters escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    return "\n".join(_escaped(line) for line in text.split("\n")) + "\n"


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(one if printable(one) == one else json.dumps(one)[1:-1] for one in line)
