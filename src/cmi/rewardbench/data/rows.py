"""Helpers for readers of published data, beside `cmi._util.fields`: votes, paths, splits, rows to leave out.

Paths must stay inside the data set's folder. Whether a recording exists is not checked here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from cmi._util.errors import InputError
from cmi._util.fields import label_field, number_field, text_field
from cmi.preferences import draw_split, prompt_words
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Axis, Choice

WORDS = {"a": "a", "model_a": "a", "b": "b", "model_b": "b", "both": "both", "neither": "neither", "tie": ""}

Row = dict[str, Any]


class LeftOut(NamedTuple):
    """A row that is not an item of the benchmark, and why."""

    reason: str
    split: str = ""


def of_split(found: Iterable[RatedItem | LeftOut], split: str) -> Iterator[RatedItem | LeftOut]:
    """Leave out the rows of other splits."""
    for each in found:
        belongs = each.about.get("split", "") if isinstance(each, RatedItem) else each.split
        yield each if belongs == split else LeftOut(f"split {belongs or 'not stated'}", belongs)


def with_splits(found: Iterable[RatedItem | LeftOut]) -> list[RatedItem | LeftOut]:
    """State the split of each item: if no row of the data set does, the prompt decides (`cmi.preferences`)."""
    rows = list(found)
    if any("split" in each.about for each in rows if isinstance(each, RatedItem)):
        return rows
    return [
        replace(each, about={**each.about, "split": draw_split(_prompt_key(each))})
        if isinstance(each, RatedItem)
        else each
        for each in rows
    ]


def _prompt_key(item: RatedItem) -> str:
    names = " ".join(sorted(take.name for take in item.takes if isinstance(take, Path)))
    return prompt_words(item.prompt) or item.about.get("prompt_id", "") or names


def identifier(row: Row, field: str, where: str) -> str:
    """Return a field with text or a whole number as text; '' if it is absent."""
    value = row.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_field(row, field, where)


def required(row: Row, field: str, where: str) -> str:
    """Return a field's text; InputError if it is absent."""
    found = text_field(row, field, where)
    if not found:
        raise InputError(f"{where}: {field!r} is missing")
    return found


def votes(row: Row, where: str) -> dict[Axis, Vote]:
    """Read the votes of a row of CMI-Pref; 'tie' is not a vote, as in the released evaluator."""
    found: dict[Axis, Vote] = {}
    axes: tuple[Axis, ...] = ("musicality", "alignment")
    for axis in axes:
        choice = label_field(row, f"preference-{axis}", where, WORDS)
        sure = number_field(row, f"confidence_preference-{axis}", where)
        if choice:
            found[axis] = Vote(cast(Choice, choice), sure)
    return found


def present(**about: str) -> dict[str, str]:
    """Return the values that are not empty, for `Item.about`."""
    return {name: value for name, value in about.items() if value}


def inside(folder: Path, path: str, where: str) -> Path:
    """Resolve a row's path against `folder`; InputError if it leads out of it."""
    parts = PurePosixPath(path.replace("\\", "/"))
    if parts.is_absolute() or not parts.parts or ".." in parts.parts or ":" in path or "\0" in path:
        raise InputError(f"{where}: the path {path!r} leads out of {folder}, expected one inside it")
    return folder / parts


def first_of(folder: Path, *places: str) -> Path:
    """Return the first of `places` that exists in a folder; the InputError names the first one."""
    for place in places:
        if (folder / place).exists():
            return folder / place
    raise InputError(f"{folder}: no {places[0]} in it, expected a data set as it was published")
