"""Read the prompts of clips from the repositories' files by the rules of a recipe.

name      the clip's own name, with spaces for hyphens and underscores
file      a text file; {key} in its path is the clip's name
html      the longest cell of the table row in which a page plays the clip; comments are ignored
script    two lists of a script: names, and texts in their order
csv       a column of the row whose key is the clip's name
labels    the genres among the AudioSet identifiers in such a column; a clip has the first of them as its text
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.records import csv_records
from cmi.rewardbench.data.recipes import Recipe, RecipeFile

STRING = re.compile(r"'((?:[^'\\]|\\.)*)'")
TAG = re.compile(r"<[^>]+>")


class Said(NamedTuple):
    """A clip's text and all its names: a text that shares a name is not wrong for it."""

    text: str
    names: tuple[str, ...]


def text_of(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> Said | None:
    """Return a clip's text; None if its repository has none, or the file with it is missing."""
    found = RULES[rule["rule"]](recipe, rule, file, key, folder)
    text = " ".join(found[0].split()) if found else ""
    return Said(text, found) if text else None


def _name(_recipe: Recipe, _rule: Mapping[str, Any], _file: RecipeFile, key: str, _folder: Path) -> tuple[str, ...]:
    return (re.sub(r"[-_]+", " ", key).rstrip(". "),)


def _place(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, folder: Path, key: str = "") -> Path:
    source = recipe.sources[rule.get("source", file.source.repository)]
    return folder / source.folder / rule["file"].format(key=key)


def _file(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> tuple[str, ...]:
    path = _place(recipe, rule, file, folder, key)
    return (path.read_text(encoding="utf-8"),) if path.exists() else ()


def _html(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, _key: str, folder: Path) -> tuple[str, ...]:
    path = _place(recipe, rule, file, folder)
    text = html_texts(path).get(file.path) if path.exists() else None
    return (text,) if text else ()


def _script(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> tuple[str, ...]:
    path = _place(recipe, rule, file, folder)
    if not path.exists():
        return ()
    names, texts = (script_list(path, rule[field]) for field in ("names", "texts"))
    text = dict(zip(names, texts, strict=True)).get(key)
    return (text,) if text else ()


def _csv(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> tuple[str, ...]:
    path = _place(recipe, rule, file, folder)
    if not path.exists():
        return ()
    text = csv_column(path, rule["key"], rule["column"]).get(f"{rule['prefix']}{key}{rule['suffix']}")
    return (text,) if text else ()


def _labels(recipe: Recipe, rule: Mapping[str, Any], file: RecipeFile, key: str, folder: Path) -> tuple[str, ...]:
    found = _csv(recipe, rule, file, key, folder)
    return tuple(recipe.labels[name] for text in found for name in text.split(",") if name in recipe.labels)


RULES: Mapping[str, Callable[[Recipe, Mapping[str, Any], RecipeFile, str, Path], tuple[str, ...]]] = {
    "name": _name,
    "file": _file,
    "html": _html,
    "script": _script,
    "csv": _csv,
    "labels": _labels,
}


@cache
def html_texts(path: Path) -> dict[str, str]:
    """Collects the longest cell of each row that plays a clip, by clip."""
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
        if self._cells and not self._plays:  # what a player says where it can't play is no text
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
