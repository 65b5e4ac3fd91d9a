"""Recipes of data sets that consist of files in public repositories.

NAME.toml      written by hand: repositories with their commits and licences, and groups of clips
NAME.sha256    hash, size and place (owner+name/path) of every file that the groups name; `make_list` writes it
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cmi._util.config import read_config
from cmi._util.repositories import RecipeFile, RecipeSource, read_file_list

HERE = Path(__file__).parent
Kind = Literal["ratings", "votes", "scores", "order", "text", "edit", "reference"]
PATTERNS = ("files", "better", "worse", "references")


class Recipe(NamedTuple):
    name: str
    sources: Mapping[str, RecipeSource]  # by their repositories
    files: Mapping[str, RecipeFile]  # by their places
    groups: Mapping[Kind, list[dict[str, Any]]]
    families: Mapping[str, list[list[str]]]
    labels: Mapping[str, str]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    def matches(self, repository: str, pattern: str) -> Iterator[tuple[RecipeFile, re.Match[str]]]:
        """Yield the files of a repository whose whole paths match."""
        for file in self.files.values():
            if file.source.repository == repository and (found := re.fullmatch(pattern, file.path)):
                yield file, found


@dataclass(frozen=True)
class RecipeTables:
    """The content of NAME.toml: repositories, groups of clips by kind, families, labels."""

    source: list[RecipeSource]
    groups: dict[Kind, list[dict[str, Any]]]
    families: dict[str, list[list[str]]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


@cache
def read_recipe(name: str, folder: Path = HERE) -> Recipe:
    """Read a recipe of this package."""
    given = read_config(folder / f"{name}.toml", RecipeTables)
    sources = {one.repository: one for one in given.source}
    files = read_file_list(folder / f"{name}.sha256", sources)
    return Recipe(name, sources, files, given.groups, given.families, given.labels)


def make_list(name: str, mirrors: Path, folder: Path = HERE) -> str:
    """Return the content of NAME.sha256 for checked-out trees: MIRRORS/owner+name/path."""
    lines = set()
    groups = read_config(folder / f"{name}.toml", RecipeTables).groups.values()
    for repository, pattern in (found for kind in groups for group in kind for found in _patterns(group)):
        tree = mirrors / repository.replace("/", "+")
        for path in (each for each in tree.rglob("*") if each.is_file()):
            if re.fullmatch(pattern, path.relative_to(tree).as_posix()):
                content = path.read_bytes()
                lines.add((path.relative_to(mirrors).as_posix(), hashlib.sha256(content).hexdigest(), len(content)))
    return "".join(f"{sha256} {size} {place}\n" for place, sha256, size in sorted(lines))


def _patterns(group: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the repository and the regular expression of the files that a group needs."""
    source = group["source"]
    yield from ((source, group[name]) for name in PATTERNS if name in group)
    if "answers" in group:
        yield source, re.escape(group["answers"])
    for rule in (group.get(name, {}) for name in ("text", "value")):
        if "file" in rule:
            parts = re.split(r"\{\w+\}", rule["file"])  # a {name} matches any part of a path
            yield rule.get("source", source), "[^/]+".join(map(re.escape, parts))
