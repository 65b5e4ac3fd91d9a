"""Print a table in a terminal or write it as Markdown, LaTeX, CSV or JSON."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as RichTable
from rich.text import Text

from cmi._util.printable import printable

_GAP = 2  # between columns
_READABLE = 12  # width of a column of words in a terminal
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
    """A table of text. The first `labels` columns are words, the others numbers. Any text is safe: it is escaped.

    `in_words` is the same table with names in place of codes, for terminals that are wide enough for it.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1
    notes: Sequence[str] = field(default_factory=tuple)
    in_words: "Table | None" = None


def missing_table(name: str, missing: Sequence[tuple[str, str]], shown: int = 10) -> Table:
    """Return the files that could not be downloaded, and why."""
    more = [f"... and {len(missing) - shown} more."] if len(missing) > shown else []
    notes = [*more, "What needs these files cannot be scored; the same command tries again to get them."]
    return Table(f"{name}: {len(missing)} files are missing", ["file", "why"], missing[:shown], labels=2, notes=notes)


def notes_about(said: Iterable[tuple[str, str]], named: int = 3) -> list[str]:
    """Return a note for each distinct remark: the things that it is about, at most `named` by name, and the remark.

    >>> notes_about([("a", "cut off"), ("b", "too short"), ("c", "cut off")])
    ['a and c: cut off.', 'b: too short.']
    """
    about: dict[str, list[str]] = {}
    for name, remark in said:
        about.setdefault(remark, []).append(name)
    return [f"{_listed(names, named)}: {remark}." for remark, names in about.items()]


def _listed(names: Sequence[str], named: int) -> str:
    *first, last = names if len(names) <= named else [*names[:named], f"{len(names) - named} more"]
    return f"{', '.join(first)} and {last}" if first else last


def print_tables(tables: Sequence[Table], console: Console | None = None) -> None:
    """Print tables, by default to standard output: fitted to the width of a terminal, else at full width.

    In a terminal words wrap, and columns of numbers that do not fit continue in a block below, with the same labels.
    Names are printed in place of codes if that takes no more blocks.
    """
    console = console or Console()
    for table in map(_plain, tables):
        blocks = _blocks(table, console)
        if console.is_terminal and table.in_words is not None:
            in_words = _blocks(table.in_words, console)
            if len(in_words) <= len(blocks):
                table, blocks = table.in_words, in_words
        for number, widths in enumerate(blocks):
            title = f"{table.title}, continued" if number else table.title
            console.print(Text(title, style="bold"), highlight=False, soft_wrap=not console.is_terminal)
            console.print(_rich_table(table, widths))
        for note in table.notes:
            console.print(Text(note), highlight=False, soft_wrap=not console.is_terminal)
        console.print()


def _blocks(table: Table, console: Console) -> list[dict[int, int]]:
    """Return the widths of columns, by their numbers, for each block; what is no terminal is made wider."""
    natural = [max(cell_len(line[i]) for line in [table.headers, *table.rows]) for i in range(len(table.headers))]
    wide = sum(natural) + _GAP * len(natural) + 1
    if wide > console.width and console.is_terminal:
        return _fit(table, natural, console.width - 1)
    console.width = max(console.width, wide)
    return [dict(enumerate(natural))]


def _rich_table(table: Table, widths: Mapping[int, int]) -> RichTable:
    shown = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, width in widths.items():
        justify: JustifyMethod = "left" if i < table.labels else "right"
        shown.add_column(Text(table.headers[i]), justify=justify, width=width, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(row[i]) for i in widths))
    return shown


def _fit(table: Table, natural: Sequence[int], room: int) -> list[dict[int, int]]:
    """Return the widths of the columns in each block of a table that is wider than `room`, by column number.

    >>> _fit(Table("", ["model", "a", "b"], [["m" * 30, "1" * 9, "2" * 9]]), [30, 9, 9], 40)
    [{0: 16, 1: 9, 2: 9}]
    """
    narrow = [max(map(cell_len, [*header.split(), *column]), default=1) for header, column in _columns(table)]
    numbers = {i: narrow[i] for i in range(table.labels, len(narrow))}
    left = room - _GAP * len(narrow) - sum(numbers.values())
    readable = sum(min(width, _READABLE) for width in natural[: table.labels])
    if left < readable:  # not in one block
        most = room - _GAP * (table.labels + 1) - max(numbers.values(), default=0)
        left = min(max(room // 2, readable), most)
    labels = _shrink(natural[: table.labels], left)
    left = max(1, room - sum(labels) - _GAP * len(labels))
    blocks: list[dict[int, int]] = [{}]
    for i, width in numbers.items():
        fitting = max(1, min(width, left - _GAP))
        if blocks[-1] and sum(blocks[-1].values()) + _GAP * len(blocks[-1]) + fitting + _GAP > left:
            blocks.append({})
        blocks[-1][i] = fitting
    return [{**dict(enumerate(labels)), **block} for block in blocks]


def _columns(table: Table) -> Iterator[tuple[str, list[str]]]:
    for i, header in enumerate(table.headers):
        yield header, [row[i] for row in table.rows]


def _shrink(widths: Sequence[int], room: int) -> list[int]:
    """Make the widest column narrower until all columns fit."""
    found = list(widths)
    while sum(found) > room and max(found) > 1:
        found[found.index(max(found))] -= 1
    return found


def _plain(table: Table) -> Table:
    return Table(
        printable(table.title),
        [printable(header) for header in table.headers],
        [[printable(cell) for cell in row] for row in table.rows],
        table.labels,
        [printable(note) for note in table.notes],
        None if table.in_words is None else _plain(table.in_words),
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


def spreadsheet_value(value: Any) -> Any:
    """Prefix text with an apostrophe if a spreadsheet would read it as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


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
