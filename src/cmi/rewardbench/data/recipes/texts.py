"""Read the prompts of clips from the repositories' files by the rules of a recipe, and answers from spreadsheets.

name      the clip's own name, with spaces for hyphens and underscores
file      a text file; {key} in its path is the clip's name
html      the longest cell of the table row in which a page plays the clip; comments are ignored
script    two lists of a script: names, and texts in their order
csv       a column of the row whose key is the clip's name
labels    the genres among the AudioSet identifiers in such a column; a clip has the first of them as its text
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from cmi._util.errors import InputError
from cmi._util.records import csv_records
from cmi._util.repositories import RecipeFile
from cmi.rewardbench.data.recipes import Recipe

STRING = re.compile(r"'((?:[^'\\]|\\.)*)'")
SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
TAG = re.compile(r"<[^>]+>")


class ClipText(NamedTuple):
    """A clip's text and all its names: a text that shares a name is not wrong for it."""

    text: str
    names: tuple[str, ...]


def text_of(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> ClipText | None:
    """Return a clip's text; None if its repository has none, or the file with it is missing."""
    found = tuple(_found(recipe, rule, file, key, folder))
    text = " ".join(found[0].split()) if found else ""
    return ClipText(text, found) if text else None


def _found(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> Iterable[str]:
    if rule["rule"] == "name":
        return [re.sub(r"[-_]+", " ", key).rstrip(". ")]
    source = recipe.sources[rule.get("source", file.source.repository)]
    path = folder / source.folder / rule["file"].format(key=key)
    if not path.exists():
        return []
    match rule["rule"]:
        case "file":
            text = path.read_text(encoding="utf-8")
        case "html":
            text = html_texts(path).get(file.path, "")
        case "script":
            names, texts = (script_list(path, rule[field]) for field in ("names", "texts"))
            text = dict(zip(names, texts, strict=True)).get(key, "")
        case _:
            text = csv_column(path, rule["key"], rule["column"]).get(f"{rule['prefix']}{key}{rule['suffix']}", "")
    if rule["rule"] == "labels":
        return [recipe.labels[name] for name in text.split(",") if name in recipe.labels]
    return [text]


@cache
def html_texts(path: Path) -> dict[str, str]:
    """Collect the longest cell of each row that plays a clip, by clip."""
    rows = _Rows()
    rows.feed(path.read_text(encoding="utf-8"))
    rows.end_row()
    return rows.texts


class _Rows(HTMLParser):
    """Rows may lack their end: the next one ends them."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._cells: list[str] = []
        self._plays: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.end_row()
        elif tag == "td":
            self._cells.append("")
        elif tag == "source" and (played := dict(attrs).get("src")):
            self._plays.append(played)

    def handle_data(self, data: str) -> None:
        if self._cells and not self._plays:  # a player says something else if it cannot play
            self._cells[-1] += data

    def end_row(self) -> None:
        cells = [" ".join(cell.split()) for cell in self._cells]
        self.texts |= dict.fromkeys(self._plays, max(cells, key=len, default=""))
        self._cells, self._plays = [], []


@cache
def script_list(path: Path, name: str) -> list[str]:
    """Return the strings of `name = ['...', '...']` in a script, without markup."""
    found = re.search(rf"^{name}\s*=\s*\[\n(.*?)^\]", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if found is None:
        raise InputError(f"{path}: no list {name!r} in it")
    return [TAG.sub("", re.sub(r"\\(.)", r"\1", one)) for one in STRING.findall(found[1])]


@cache
def csv_column(path: Path, key: str, column: str) -> dict[str, str]:
    return {row[key]: row[column] for _, row in csv_records(path, (key, column))}


def sheet_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield each row of the first sheet of an .xlsx file by the header's names, without empty cells."""
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
