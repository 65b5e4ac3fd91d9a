"""One table, five ways to show it."""

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
    | {"▲": r"$\uparrow$", "▼": r"$\downarrow$", "·": r"$\cdot$", "–": "--", "\\": r"\textbackslash{}"}
)


@dataclass(frozen=True)
class Table:
    """Text in rows. The first `labels` columns are words, the others numbers.

    Names, titles and messages in it may come from anywhere: however it is shown, they are text on one line.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1
    notes: Sequence[str] = field(default_factory=tuple)


def print_tables(tables: Sequence[Table], console: Console) -> None:
    """For reading in a terminal. Nothing is cropped: what is wider than the window wraps, and a pipe gets all of it."""
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
    """With its full stop."""
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
    """For a document that loads booktabs."""
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
    shielded = "{}" if cell.startswith(("[", "*")) else ""  # which the end of the row before would take for an option
    return shielded + cell.translate(_LATEX)


def to_csv(records: Sequence[dict[str, Any]]) -> str:
    """Flat records with a header line; lists are joined by semicolons."""
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow({name: _flat(value) for name, value in record.items()})
    return out.getvalue()


def _flat(value: Any) -> Any:
    return "; ".join(value) if isinstance(value, list | tuple) else value


def to_plain(value: Any) -> Any:
    """The same in types that JSON has, with None for numbers that it has not.

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
    """One line of JSON Lines. NaN and infinity, which are no JSON, are a ValueError."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def to_json(value: Any) -> str:
    """JSON in which characters that a terminal might obey are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)
    return "\n".join(_escaped(line) for line in text.split("\n")) + "\n"


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(one if printable(one) == one else json.dumps(one)[1:-1] for one in line)
