"""Results to standard output or to a file, in the format that was asked for."""

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from cmi._util.files import write_whole
from cmi.report.tables import Table, print_tables, to_csv, to_json, to_latex, to_markdown

Format = Literal["table", "markdown", "latex", "csv", "json"]


def show(
    tables: Sequence[Table],
    records: Sequence[dict[str, Any]],
    records_name: str,
    provenance: Mapping[str, Any],
    format_: Format,
    output: Path | None,
) -> None:
    """The tables for people, or the records for machines; as JSON with their provenance beside them."""
    if format_ == "json":
        write(to_json({**provenance, records_name: records}), output)
    elif format_ == "csv":
        write(to_csv(records), output)
    elif format_ == "markdown":
        write(to_markdown(tables), output)
    elif format_ == "latex":
        write(to_latex(tables), output)
    elif output is None:
        print_tables(tables, Console())
    else:
        text = io.StringIO()
        print_tables(tables, Console(file=text))
        write(text.getvalue(), output)


def write(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    write_whole(output, text)
