"""Results to standard output or to a file; notes and errors, one line each, to standard error."""

import io
import logging
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import cmi
from cmi._util.files import write_whole
from cmi._util.printable import printable
from cmi.cli.options import ShowOptions
from cmi.report.tables import Table, print_tables, to_csv, to_json, to_latex, to_markdown

if TYPE_CHECKING:
    from cmi.take import Prompt

_verbosity = 0  # -1 with -q, 1 with -v


def show(
    tables: Sequence[Table],
    records: Sequence[dict[str, Any]],
    records_name: str,
    provenance: Mapping[str, Any],
    how: ShowOptions,
) -> None:
    """Print the tables, or the records as CSV or as JSON with their provenance."""
    match "json" if how.as_json else how.format_:
        case "json":
            text = to_json({**provenance, records_name: records})
        case "csv":
            text = to_csv(records)
        case "markdown":
            text = to_markdown(tables)
        case "latex":
            text = to_latex(tables)
        case _:
            captured = io.StringIO()
            print_tables(tables, Console() if how.output is None else Console(file=captured))
            text = captured.getvalue()
    if how.output is None:
        sys.stdout.write(text)
    else:
        write_whole(how.output, text)


def print_result(tables: Sequence[Table], record: object, as_json: bool) -> None:
    """Print tables, or the record as JSON."""
    if as_json:
        sys.stdout.write(to_json(record))
    else:
        print_tables(tables)


def write_page(path: Path, html: str) -> None:
    """Write a page and print its path."""
    write_whole(path, html)
    note(f"the page is {path}")


def set_verbosity(level: int) -> None:
    """-1: results and errors only; 0: progress and notes too; 1: also what is read, cached and downloaded."""
    global _verbosity
    _verbosity = level
    if level > 0:
        logging.basicConfig(format="cmi: %(message)s", stream=sys.stderr)
        logging.getLogger("cmi").setLevel(logging.DEBUG)


def verbosity() -> int:
    return _verbosity


def show_error(sentence: str, error: BaseException | None = None) -> None:
    """Print an error; with -v also what caused it."""
    _print_line(sentence)
    cause = error.__cause__ or error.__context__ if error and _verbosity > 0 else None
    while cause is not None:
        _print_line(f"  because of {type(cause).__name__}: {cause}")
        cause = cause.__cause__ or cause.__context__


def _print_line(sentence: str) -> None:
    """Print one line, even if names in it contain line breaks."""
    print(f"cmi: {printable(' '.join(sentence.split()))}", file=sys.stderr, flush=True)


def note(sentence: str) -> None:
    """Print a line to standard error, unless -q was given."""
    if _verbosity >= 0:
        _print_line(sentence)


def print_warnings_as_notes() -> None:
    """From now on print what cmi itself warns about as notes; other packages' warnings keep Python's form."""
    usual = warnings.showwarning
    package = Path(cmi.__file__).parent

    def show_warning(message: Warning | str, category: type[Warning], filename: str, *where: Any, **more: Any) -> None:
        if package in Path(filename).parents:
            note(str(message))
        else:
            usual(message, category, filename, *where, **more)

    warnings.showwarning = show_warning


def note_if_nothing_asked(file: Path | str, prompts: Iterable["Prompt"]) -> None:
    """Print a note if no row of a file has a prompt, which is often a mistake."""
    if not any(prompt.text or prompt.lyrics or prompt.reference for prompt in prompts):
        note(f"{file}: no row has a text, lyrics or a reference; takes are scored with an empty prompt")
