"""Families of tags: which tags of a data set belong together, and which groups are set against which.

The file is `tag_families.toml` beside this module, or one in its layout; it opens with what it means.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.bench.prompts import labels_of

TAGGING = ("MTT", "MTG_genre", "MTG_emotion", "MTG_instrument", "MTG_top50tags")
NO_GROUP = ""


class Contrast(NamedTuple):
    """The mean over the groups `a` minus the mean over the groups `b`."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]


class Family(NamedTuple):
    dataset: str
    name: str
    groups: dict[str, tuple[str, ...]]
    contrasts: tuple[Contrast, ...]

    def tags(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(tag for group in groups for tag in self.groups[group])


def read_families(path: Path | None = None) -> list[Family]:
    """The families of a file, or ours. InputError says which entry is wrong."""
    name = str(path or "tag_families.toml")
    try:
        source = path or files("cmi.bench.analysis").joinpath("tag_families.toml")
        data = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not TOML ({error})") from error
    entries = data.get("family")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{name}: no [[family]] with a 'dataset', a 'name' and its groups")
    families = [_family(entry, f"{name}: family {i}") for i, entry in enumerate(entries, 1)]
    _require_one_place_a_tag(families, name)
    return families


def _family(entry: dict[str, Any], where: str) -> Family:
    dataset, name, groups = entry.get("dataset"), entry.get("name"), entry.get("groups")
    if dataset not in TAGGING:
        raise InputError(f"{where}: 'dataset' is {dataset!r}, expected one of {', '.join(TAGGING)}")
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: 'name' is missing or no text")
    if not isinstance(groups, dict) or not groups:
        raise InputError(f"{where}: [family.groups] is missing or empty")
    known = labels_of(dataset)
    named = {group: _texts(tags, f"{where}: group {group!r}") for group, tags in groups.items()}
    for group, tags in named.items():
        if unknown := [tag for tag in tags if tag not in known]:
            raise InputError(f"{where}: group {group!r} has {unknown[0]!r}, which is no tag of {dataset}")
    contrasts = entry.get("contrasts", [])
    if not isinstance(contrasts, list):
        raise InputError(f"{where}: 'contrasts' is no list of tables with 'name', 'a' and 'b'")
    return Family(dataset, name, named, tuple(_contrast(contrast, named, where) for contrast in contrasts))


def _contrast(entry: Any, groups: dict[str, tuple[str, ...]], where: str) -> Contrast:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise InputError(f"{where}: a contrast needs a 'name', and groups in 'a' and 'b'")
    sides = [_texts(entry.get(side), f"{where}: '{side}' of contrast {entry['name']!r}") for side in ("a", "b")]
    for group in (*sides[0], *sides[1]):
        if group not in groups:
            raise InputError(f"{where}: contrast {entry['name']!r} names {group!r}, which is none of its groups")
    return Contrast(entry["name"], *sides)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise InputError(f"{where} is no list of texts")
    return tuple(value)


def _require_one_place_a_tag(families: list[Family], name: str) -> None:
    """So that a table can say of each tag where it belongs."""
    seen: set[tuple[str, str]] = set()
    for family in families:
        for tag in family.tags(tuple(family.groups)):
            if (family.dataset, tag) in seen:
                raise InputError(f"{name}: {tag!r} of {family.dataset} is in two groups; leave it in one")
            seen.add((family.dataset, tag))
