"""Parse a model's answer into a verdict, without guessing.

Accepted are one JSON object, alone, in a code fence or in prose; keys in any order and case, with others beside them;
choices as spelled in NAMES; marks as numbers, quoted or not. Several objects must agree. Everything else is Unparsed.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cmi._util.json_text import is_deep
from cmi.judge.prompt_file import Role
from cmi.judge.verdict import Opinion, Verdict
from cmi.llm.reading import read_integer
from cmi.take import Axis, Choice

LONGEST = 100_000  # characters of an answer
LONGEST_REASON = 4_000
MOST_OBJECTS = 1_000  # opening braces to try
NAMES: dict[str, Choice] = {  # spaces and hyphens count as underscores
    **dict.fromkeys(("model_a", "audio_a", "a", "model_1"), "a"),
    **dict.fromkeys(("model_b", "audio_b", "b", "model_2"), "b"),
    "both": "both",
    "neither": "neither",
}
_NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?")


class Unparsed(ValueError):
    """Says why an answer is not a verdict, without quoting it."""


def parse(text: str, role: Role) -> Verdict:
    """Parse a verdict; if `text` is not one, it has no opinions and says why."""
    try:
        found = [_verdict(value, role) for value in _objects(text, role)]
        if any((one.opinions, one.marks) != (found[0].opinions, found[0].marks) for one in found):
            raise Unparsed("it has several JSON objects that contradict each other")
    except Unparsed as error:
        return Verdict(raw=text, why=str(error))
    except (ValueError, OverflowError):  # JSON beyond Python's limits
        return Verdict(raw=text, why="it has JSON that cannot be read")
    return replace(found[-1], raw=text)


def why_unusable(text: str, role: Role) -> str | None:
    return parse(text, role).why or None


def _objects(text: str, role: Role) -> list[dict[str, Any]]:
    """The JSON objects of a text that contain a choice or a mark; if none does, its only object."""
    if len(text) > LONGEST:
        raise Unparsed(f"it is longer than {LONGEST:,} characters")
    found = list(_decoded(text))
    if not found:
        raise Unparsed("it has no JSON object")
    wanted = {keys.choice.lower() for keys in role.axes.values()} | {key.lower() for key in role.marks.values()}
    meant = [value for value in found if wanted & value.keys()]
    if not meant and len(found) > 1:
        raise Unparsed(f"none of its JSON objects has a {'choice' if role.axes else 'mark'}")
    return meant or found


def _decoded(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text, with keys in lower case."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_doubles, parse_int=read_integer)
    position, tries = text.find("{"), 0
    while position >= 0:
        tries += 1
        if tries > MOST_OBJECTS:
            raise Unparsed(f"it has more than {MOST_OBJECTS:,} braces")
        if is_deep(text, position):
            raise Unparsed("its braces are nested too deeply")
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            position = text.find("{", position + 1)
            continue
        yield value
        position = text.find("{", position)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name.strip().lower() for name, _ in pairs]
    if len(set(names)) < len(names):
        raise Unparsed("a key appears twice")
    return dict(zip(names, (value for _, value in pairs), strict=True))


def _verdict(value: dict[str, Any], role: Role) -> Verdict:
    opinions: dict[Axis, Opinion] = {}
    for axis, keys in role.axes.items():
        marks = [_mark(value, key, role.scale) for key in (keys.score_a, keys.score_b)]
        opinions[axis] = Opinion(_choice(value, keys.choice), *marks)
    reason = value.get(role.reason.lower(), "") if role.reason else ""
    given = {axis: _mark(value, key, role.scale) for axis, key in role.marks.items()}
    return Verdict(opinions, _clean(reason) if isinstance(reason, str) else "", marks=given)


def _choice(value: dict[str, Any], key: str) -> Choice:
    said = value.get(key.lower())
    if said is None:
        raise Unparsed(f"the key {key!r} is missing")
    choice = NAMES.get(re.sub(r"[\s_-]+", "_", said.strip().lower())) if isinstance(said, str) else None
    if choice is None:
        raise Unparsed(f"{key!r} is none of model_a, model_b, both, neither")
    return choice


def _mark(value: dict[str, Any], key: str, scale: tuple[float, float]) -> float:
    said = value.get(key.lower())
    if said is None:
        raise Unparsed(f"the key {key!r} is missing")
    if isinstance(said, str) and _NUMBER.fullmatch(said.strip()):
        said = float(said)
    low, high = scale
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        raise Unparsed(f"{key!r} is not a number")
    if not low <= said <= high:
        raise Unparsed(f"{key!r} is not from {low:g} to {high:g}")
    return float(said)


def _clean(text: str) -> str:
    """Replace control characters and cut the text to LONGEST_REASON."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text[:LONGEST_REASON])
