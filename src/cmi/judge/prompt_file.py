"""What a judge is told: the roles of appendix H as data, and files of your own in the same form.

name, version     which words these are; both are in every record
scale             the lowest and the highest mark
reason            the key of an explanation, where one is asked for
requires          'text' or 'reference', where pairs without it can't be judged in this role
[axes.AXIS]       for musicality, alignment or overall: the answer's keys (choice, score_a, score_b)
[texts]           system: the task; reasoning: how to explain (optional)
[[examples]]      answers shown beforehand (optional): text, lyrics, a, b (paths beside the file), answer
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, get_args

from cmi._util.errors import InputError
from cmi._util.toml_files import parse_toml
from cmi.llm.message import Schema
from cmi.preferences import pair_of
from cmi.take import Axis, Pair

CHOICES = ("model_a", "model_b", "both", "neither")
DEFAULT = "two-axes"
_PACKAGED = files("cmi.judge") / "prompts"

T = TypeVar("T")


@dataclass(frozen=True)
class Keys:
    """Where an answer says what of one axis."""

    choice: str
    score_a: str
    score_b: str


@dataclass(frozen=True)
class Example:
    """An answer shown beforehand."""

    pair: Pair
    answer: str


@dataclass(frozen=True)
class Role:
    """A judge's task in words, and the form of its answer."""

    name: str
    version: int
    scale: tuple[float, float]
    axes: Mapping[Axis, Keys]
    system: str
    reason: str = ""
    reasoning: str = ""
    requires: str = ""
    examples: tuple[Example, ...] = ()
    sha256: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.name} v{self.version} ({self.sha256[:8]})"

    @cached_property
    def schema(self) -> Schema:
        properties: dict[str, Any] = {}
        for keys in self.axes.values():
            low, high = self.scale
            mark = {"type": "number", "minimum": low, "maximum": high}
            properties |= {keys.choice: {"type": "string", "enum": list(CHOICES)}}
            properties |= {keys.score_a: mark, keys.score_b: mark}
        if self.reason:
            properties[self.reason] = {"type": "string"}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return Schema("verdict", schema | {"additionalProperties": False})

    @property
    def form(self) -> str:
        """The answer's form, in words."""
        low, high = self.scale
        lines = []
        for axis, keys in self.axes.items():
            lines.append(f'"{keys.choice}": "model_a", "model_b", "both" or "neither" ({axis})')
            lines += [
                f'"{key}": the {axis} mark of {model}, from {low:g} to {high:g}'
                for key, model in ((keys.score_a, "model_a"), (keys.score_b, "model_b"))
            ]
        if self.reason:
            lines.append(f'"{self.reason}": your explanation, as text')
        return "Answer with one JSON object that has exactly these keys:\n" + "\n".join(lines)


def packaged() -> list[str]:
    """The names of the roles that come with cmi."""
    return sorted(entry.name.removesuffix(".toml") for entry in _PACKAGED.iterdir() if entry.name.endswith(".toml"))


def read_role(name: str) -> Role:
    """A role that comes with cmi, or one of your own by its file's name."""
    if name in packaged():
        return _role((_PACKAGED / f"{name}.toml").read_bytes(), name, Path())
    path = Path(name)
    try:
        data = path.read_bytes()
    except OSError as error:
        known = ", ".join(packaged())
        raise InputError(f"prompt {name!r}: neither a file ({error.strerror}) nor one of {known}") from error
    return _role(data, str(path), path.parent)


def _role(data: bytes, where: str, folder: Path) -> Role:
    table = parse_toml(data, where)
    texts = _field(table, "texts", dict, where)
    axes = {axis: _keys(axis, value, where) for axis, value in _field(table, "axes", dict, where).items()}
    if not axes:
        raise InputError(f"{where}: 'axes' is empty, expected [axes.musicality] or the like")
    scale = _field(table, "scale", list, where)
    if len(scale) != 2 or not all(_is_number(mark) for mark in scale) or not scale[0] < scale[1]:
        raise InputError(f"{where}: 'scale' is {scale}, expected the lowest and the highest mark")
    requires = table.get("requires", "")
    if requires not in ("", "text", "reference"):
        raise InputError(f"{where}: 'requires' is {requires!r}, expected text or reference")
    return Role(
        name=_field(table, "name", str, where),
        version=_field(table, "version", int, where),
        scale=(scale[0], scale[1]),
        axes=axes,
        system=_field(texts, "system", str, where).strip(),
        reason=_field(table, "reason", str, where, ""),
        reasoning=_field(texts, "reasoning", str, where, "").strip(),
        requires=requires,
        examples=tuple(_example(row, where, folder) for row in _field(table, "examples", list, where, [])),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _keys(axis: str, value: Any, where: str) -> Keys:
    if axis not in get_args(Axis):
        raise InputError(f"{where}: axis {axis!r}, expected one of {', '.join(get_args(Axis))}")
    if not isinstance(value, dict):
        raise InputError(f"{where}: 'axes.{axis}' is {type(value).__name__}, expected a table")
    return Keys(*(_field(value, key, str, f"{where} [axes.{axis}]") for key in ("choice", "score_a", "score_b")))


def _example(row: Any, where: str, folder: Path) -> Example:
    if not isinstance(row, dict):
        raise InputError(f"{where}: an example is {type(row).__name__}, expected a table")
    answer = row.get("answer")
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Example(pair_of(row, f"{where} [[examples]]", folder), text)


def _field(table: Mapping[str, Any], name: str, kind: type[T], where: str, default: T | None = None) -> T:
    value = table.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        found = "missing" if value is None else f"{type(value).__name__}"
        raise InputError(f"{where}: {name!r} is {found}, expected {kind.__name__}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
