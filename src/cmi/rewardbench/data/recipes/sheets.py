"""Read the first sheet of a spreadsheet (.xlsx) as rows of text under a header."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from cmi._util.errors import InputError

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheet_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield each row below the header by column name, without empty cells."""
    try:
        with zipfile.ZipFile(path) as archive:
            # The files of a recipe are checked by hash: the XML is trusted.
            shared = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))  # noqa: S314
            sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))  # noqa: S314
    except (OSError, KeyError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise InputError(f"{path}: not a spreadsheet ({error})") from error
    strings = ["".join(text.text or "" for text in one.iter(f"{SPACE}t")) for one in shared]
    rows = [dict(_cells(row, strings)) for row in sheet.iter(f"{SPACE}row")]
    header = rows[0] if rows else {}
    yield from ({header[column]: value for column, value in row.items() if column in header} for row in rows[1:])


def _cells(row: ElementTree.Element, strings: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each non-empty cell by the letters of its column."""
    for cell in row:
        value = cell.findtext(f"{SPACE}v")
        if value is not None:
            column = re.sub(r"\d", "", cell.get("r", ""))
            yield column, strings[int(value)] if cell.get("t") == "s" else value
