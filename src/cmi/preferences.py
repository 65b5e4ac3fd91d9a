"""Preferences in files: one JSON object a line, the same for people, judges and construction.

    {"id", "text", "lyrics", "reference", "a", "b", "axis", "choice", "confidence", "rater", ...}

`a`, `b` and `reference` are paths, relative to the file's folder; text, lyrics, reference, confidence and rater may be
absent. `axis` is musicality, alignment or overall, `choice` is a, b, both or neither, `confidence` 1 to 5. What our own
commands write besides (`split`, `truth`, ...) and fields of the user's own, which begin with `x_`, are kept beside the
preference as they are; any other field is an error.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.columns import Columns
from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.take import Pair, Preference, prompt_of, recording, text_field, with_ids

FIELDS = ("id", "text", "lyrics", "reference", "a", "b", "axis", "choice", "confidence", "rater")
ABOUT = (
    *("split", "truth", "month"),  # the studio's; what analyses group by
    *("generator_a", "generator_b", "system_a", "system_b", "gold"),  # what made the takes; gold pairs of the arena
    *("pair", "modality", "first", "feedback", "seconds", "voted", "corrections", "kind", "repeat"),  # its exports'
    "soft",  # a judge's shares of the votes
)
COLUMNS = Columns(FIELDS, ABOUT)


class Labelled(NamedTuple):
    """A preference with its id and whatever else its line says."""

    id: str
    preference: Preference
    about: dict[str, Any]


def read_preferences(path: Path) -> Iterator[Labelled]:
    """The preferences of a file, one at a time. InputError for what is wrong, with its line."""
    for name, where, row in with_ids(path, read_records(path, COLUMNS)):
        yield Labelled(name, _preference(row, where, path.parent), {k: v for k, v in row.items() if k not in FIELDS})


def _preference(row: dict[str, Any], where: str, folder: Path) -> Preference:
    for field in ("axis", "choice"):
        if not text_field(row, field, where):
            raise InputError(f"{where}: {field!r} is missing")
    return preference_of(row, where, pair_of(row, where, folder))


def preference_of(row: Mapping[str, Any], where: str, pair: Pair) -> Preference:
    """What a row that has an axis and a choice says of its pair."""
    axis, choice, rater = (text_field(row, field, where) for field in ("axis", "choice", "rater"))
    try:
        return Preference(pair, axis, choice, row.get("confidence"), rater)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def pair_of(row: Mapping[str, Any], where: str, folder: Path) -> Pair:
    """The pair that a row describes; its paths start at `folder`."""
    a, b = (recording(row, side, where, folder) for side in "ab")
    return Pair(prompt_of(row, where, folder), a, b)


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
