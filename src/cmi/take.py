"""The nouns of reward modelling: what was asked, what was offered, who preferred what, and how good it is.

Audio is a path, or a Waveform in memory. A part of a prompt that is absent is '' (text, lyrics) or None (reference).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

from cmi._util.columns import Columns
from cmi._util.errors import InputError
from cmi._util.printable import is_whole
from cmi._util.records import csv_records, read_records
from cmi.audio import Waveform

Audio = Path | Waveform
Modality = Literal["text", "text+lyrics", "text+audio", "text+lyrics+audio"]
Axis = Literal["musicality", "alignment", "overall"]
Choice = Literal["a", "b", "both", "neither"]

ABSENT = {"", "none", "null"}  # what spreadsheets and dumps write where there is nothing
JSON_SUFFIXES = {".jsonl", ".json", ".ndjson"}
# A manifest may also be one for `cmi pick`, ratings, or what `cmi studio generate` writes.
TAKES = Columns(
    ("id", "audio", "text", "lyrics", "reference"),
    ("group", "truth", "musicality", "alignment", "split", "generator", "month", "rater"),
)
RATINGS = Columns((*TAKES.main, "musicality", "alignment"), TAKES.others)


@dataclass(frozen=True)
class Prompt:
    """What was asked for: a description, words to be sung, a recording to be like. Any part may be absent."""

    text: str = ""
    lyrics: str = ""
    reference: Audio | None = None

    def __post_init__(self) -> None:
        for field, value in (("text", self.text), ("lyrics", self.lyrics)):
            if not isinstance(value, str):
                raise TypeError(f"{field} is {type(value).__name__}, expected a string ('' where there is none)")
        if self.reference is not None:
            _require_audio("reference", self.reference)

    @property
    def modality(self) -> Modality:
        """What the prompt is made of; text comes first even where it is empty."""
        if self.lyrics:
            return "text+lyrics" if self.reference is None else "text+lyrics+audio"
        return "text" if self.reference is None else "text+audio"


@dataclass(frozen=True)
class Take:
    """One recording offered as an answer to a prompt."""

    prompt: Prompt
    audio: Audio

    def __post_init__(self) -> None:
        _require_audio("audio", self.audio)


@dataclass(frozen=True)
class Pair:
    """Two recordings, `a` and `b`, offered as answers to the same prompt."""

    prompt: Prompt
    a: Audio
    b: Audio

    def __post_init__(self) -> None:
        _require_audio("a", self.a)
        _require_audio("b", self.b)

    @property
    def takes(self) -> tuple[Take, Take]:
        return Take(self.prompt, self.a), Take(self.prompt, self.b)


@dataclass(frozen=True)
class Preference:
    """Which take of a pair was preferred on an axis, how surely (1 to 5, None where not asked), and by whom."""

    pair: Pair
    axis: Axis
    choice: Choice
    confidence: int | None = None
    rater: str = ""

    def __post_init__(self) -> None:
        if self.axis not in get_args(Axis):
            raise InputError(f"axis {self.axis!r}, expected one of {', '.join(get_args(Axis))}")
        if self.choice not in get_args(Choice):
            raise InputError(f"choice {self.choice!r}, expected one of {', '.join(get_args(Choice))}")
        if self.confidence is not None and (isinstance(self.confidence, bool) or self.confidence not in range(1, 6)):
            raise InputError(f"confidence {self.confidence!r}, expected a whole number from 1 to 5, or none")


class Score(NamedTuple):
    """What a scorer gives a take; higher is better."""

    musicality: float
    alignment: float


class Scorer(Protocol):
    """A reward model: one score per take, in their order, each independent of the others."""

    def score(self, takes: Sequence[Take]) -> list[Score]: ...


def read_takes(path: Path) -> Iterator[tuple[str, Take]]:
    """The takes of a manifest with their ids, one at a time: JSON-lines or CSV with a header.

    Fields: audio; optionally id (by default the row's number, from 1), text, lyrics, reference. Those that ratings and
    other commands' manifests have besides, and those that begin with x_, are ignored; any other is an InputError.
    Relative paths start at the manifest's folder. Memory holds one row and the ids.
    """
    for take_id, take, _, _ in take_rows(path, TAKES):
        yield take_id, take


def take_rows(path: Path, known: Columns) -> Iterator[tuple[str, Take, str, dict[str, Any]]]:
    """The takes of a manifest with their ids, and each one's place and row for what else is wanted of it."""
    for take_id, where, row in with_ids(path, rows_of(path, known, ["audio"])):
        yield take_id, Take(prompt_of(row, where, path.parent), recording(row, "audio", where, path.parent)), where, row


def with_ids(path: Path, rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each row with its id (its number from 1 where it has none) and its place. An id twice is an InputError."""
    seen: set[str] = set()
    for number, (place, row) in enumerate(rows, 1):
        where = f"{path} {place}"
        name = _identifier(row, where) or str(number)
        if name in seen:
            raise InputError(f"{where}: 'id' is {name!r}, which an earlier row has too")
        seen.add(name)
        yield name, where, row


def prompt_of(row: Mapping[str, Any], where: str, folder: Path) -> Prompt:
    """What a row asks for; the reference's path starts at `folder`."""
    reference = path_field(row, "reference", where)
    return Prompt(
        text_field(row, "text", where), text_field(row, "lyrics", where), folder / reference if reference else None
    )


def recording(row: Mapping[str, Any], field: str, where: str, folder: Path) -> Path:
    """The recording that a row must name; its path starts at `folder`."""
    path = path_field(row, field, where)
    if not path:
        raise InputError(f"{where}: {field!r} is missing, expected the path of a recording")
    return folder / path


def text_field(row: Mapping[str, Any], field: str, where: str) -> str:
    """A field's text, '' if it is absent: not there, null, blank, or the words 'None' and 'null' alone."""
    value = _words(row, field, where)
    if not is_whole(value):
        raise InputError(f"{where}: {field!r} has a character that is not whole, a lone surrogate")
    return value


def path_field(row: Mapping[str, Any], field: str, where: str) -> str:
    """A field's text if a file can be called that; a name that is not UTF-8 has surrogates in it."""
    value = _words(row, field, where)
    try:
        is_name = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InputError(f"{where}: {field!r} is {value!r}, which cannot be the name of a file")
    return value


def _words(row: Mapping[str, Any], field: str, where: str) -> str:
    value = row.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {field!r} is {type(value).__name__}, expected text")
    return "" if value.strip().lower() in ABSENT else value


def _identifier(row: Mapping[str, Any], where: str) -> str:
    value = row.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: 'id' is {type(value).__name__}, expected text or a whole number")
    text_field(row, "id", where)
    return value or ""


def rows_of(
    path: Path, known: Columns | None = None, required: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a file named .jsonl or .csv with its place; a CSV file must have the `required` columns."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() in JSON_SUFFIXES:
        return read_records(path, known)
    if path.suffix.lower() == ".csv":
        return csv_records(path, required, known)
    raise InputError(f"{path}: expected a file named .jsonl or .csv")


def _require_audio(field: str, value: object) -> None:
    if not isinstance(value, Audio):
        raise TypeError(f"{field} is {type(value).__name__}, expected a Path or a Waveform")
