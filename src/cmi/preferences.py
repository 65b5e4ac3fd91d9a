"""Preferences in files: one JSON object a line, the same for people, judges and construction.

    {"id", "text", "lyrics", "reference", "a", "b", "axis", "choice", "confidence", "rater", ...}

`a`, `b` and `reference` are paths, relative to the file's folder; text, lyrics, reference, confidence and rater may be
absent. `axis` is musicality, alignment or overall, `choice` is a, b, both or neither, `confidence` 1 to 5. Other fields
(`split`, `truth`, ...) are kept beside the preference as they are.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cmi.errors import InputError
from cmi.records import read_records
from cmi.take import Pair, Preference, Prompt, text_field, with_ids

FIELDS = ("id", "text", "lyrics", "reference", "a", "b", "axis", "choice", "confidence", "rater")


class Labelled(NamedTuple):
    """A preference with its id and whatever else its line says."""

    id: str
    preference: Preference
    about: dict[str, Any]


def read_preferences(path: Path) -> Iterator[Labelled]:
    """The preferences of a file, one at a time. InputError for what is wrong, with its line."""
    for name, where, row in with_ids(path, read_records(path)):
        yield Labelled(name, _preference(row, where, path.parent), {k: v for k, v in row.items() if k not in FIELDS})


def _preference(row: dict[str, Any], where: str, folder: Path) -> Preference:
    texts = {field: text_field(row, field, where) for field in FIELDS if field not in ("id", "confidence")}
    for field in ("a", "b", "axis", "choice"):
        if not texts[field]:
            raise InputError(f"{where}: {field!r} is missing")
    reference = folder / texts["reference"] if texts["reference"] else None
    pair = Pair(Prompt(texts["text"], texts["lyrics"], reference), folder / texts["a"], folder / texts["b"])
    try:
        return Preference(pair, texts["axis"], texts["choice"], row.get("confidence"), texts["rater"])  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def preference_row(labelled: Labelled, folder: Path) -> dict[str, Any]:
    """The line of a preference whose recordings are files; paths are written relative to `folder`."""
    preference, pair = labelled.preference, labelled.preference.pair
    row: dict[str, Any] = {"id": labelled.id, "text": pair.prompt.text, "lyrics": pair.prompt.lyrics}
    for field, sound in (("reference", pair.prompt.reference), ("a", pair.a), ("b", pair.b)):
        if sound is not None and not isinstance(sound, Path):
            raise TypeError(f"{field} is a waveform in memory, expected a file")
        row[field] = "" if sound is None else sound.relative_to(folder).as_posix()
    row |= {"axis": preference.axis, "choice": preference.choice}
    row |= {"confidence": preference.confidence, "rater": preference.rater}
    return row | labelled.about
