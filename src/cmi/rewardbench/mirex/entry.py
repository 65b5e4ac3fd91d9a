"""The two files of a MIREX entry: the pairs that are asked about, and the predictions.

Input, JSON or JSONL: a unique id, a prompt, and the paths of two recordings, relative to the file's folder. Lyrics and
a reference are used if a row has them. Each field has a few accepted names:

    id           id, sample_id (the task's page)
    text         prompt (the task's page), text (`cmi`)
    a, b         audio_A, audio_B (the task's page), audio_a, audio_b, a, b (`cmi`), audio-path, audio2 (the benchmark)
    lyrics       lyrics
    reference    reference (`cmi`), ref_audio, ref-audio-path (the benchmark)

`source`, `split` and `modality` of the benchmark's rows, and fields that begin with `x_`, are ignored; any other field
is an error.

Predictions, JSONL: one line for each id, under the name that the id has in the input.

    preference_score        the probability that A is preferred, from 0 to 1
    preferred_candidate     "A" if the score is above 0.5, "B" if it is below; at 0.5 exactly, a tie, a fair coin that
                            depends on the id alone
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cmi._util.errors import InputError
from cmi._util.fields import number_rows
from cmi._util.records import Columns, read_table
from cmi.preferences import draw_number, pair_of
from cmi.take import Pair

Candidate = Literal["A", "B"]

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "sample_id"),
    "text": ("prompt", "text"),
    "a": ("audio_A", "audio_a", "a", "audio-path"),
    "b": ("audio_B", "audio_b", "b", "audio2"),
    "lyrics": ("lyrics",),
    "reference": ("reference", "ref_audio", "ref-audio-path"),
}
IGNORED = ("source", "split", "modality")
REQUIRED = {
    "id": "a text or a whole number that no other row has",
    "text": "what was asked for, or an empty text",
    "a": "the path of a recording",
    "b": "the path of a recording",
}
INPUT = Columns(
    ("id", "prompt", "audio_A", "audio_B", "lyrics", "reference"),
    (*(name for names in SPELLINGS.values() for name in names), *IGNORED),
)
SCORE, PREFERRED = "preference_score", "preferred_candidate"
PREDICTIONS = Columns(("id", SCORE, PREFERRED), ("sample_id",))
SHOWN = 10  # faults of a file in a message
_CANONICAL = {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings}


class MirexRow(NamedTuple):
    """A pair that is asked about. `name` is its id as text."""

    name: str
    id: str | int
    pair: Pair


class MirexInput(NamedTuple):
    """The rows of an input file, and the name that it gives to ids."""

    id_field: str
    rows: list[MirexRow]


def read_entry(path: Path) -> MirexInput:
    """Read an input file; InputError if a row is not as described above."""
    id_fields: dict[str, str] = {}  # with the place of the first row that has it
    rows = []
    for name, where, row in number_rows(path, _canonical_rows(path, id_fields)):
        _require_local(row, where)
        rows.append(MirexRow(name, row["id"], pair_of(row, where, path.parent)))
    if not rows:
        raise InputError(f"{path}: no pairs in it")
    if len(id_fields) > 1:
        (first, _), (second, where) = list(id_fields.items())[:2]
        raise InputError(f"{where}: the id is called {second!r} here and {first!r} before; use one name")
    return MirexInput(next(iter(id_fields)), rows)


def _canonical_rows(path: Path, id_fields: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield rows with our names of fields."""
    for place, row in read_table(path, INPUT):
        where = f"{path} {place}"
        found: dict[str, str] = {}
        for spelling in row:
            name = _CANONICAL.get(spelling)
            if name in found:
                raise InputError(f"{where}: {found[name]!r} and {spelling!r} mean the same; keep one of them")
            if name:
                found[name] = spelling
        for name, expected in REQUIRED.items():
            if name not in found or row[found[name]] is None or (name != "text" and row[found[name]] == ""):
                raise InputError(f"{where}: {SPELLINGS[name][0]!r} is missing, expected {expected}")
        id_fields.setdefault(found["id"], where)
        yield place, {name: row[spelling] for name, spelling in found.items()}


def _require_local(row: Mapping[str, Any], where: str) -> None:
    for side in ("a", "b", "reference"):
        if str(row.get(side, "")).lower().startswith(("http://", "https://")):
            raise InputError(f"{where}: {_shorten(row[side])} is an address; download it first and give its path")


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:80] + "..."


def candidate(name: str, score: float) -> Candidate:
    """Return the preferred candidate of the pair called `name`; a tie is decided by a coin of the name's own.

    >>> candidate("1", 0.7), candidate("1", 0.2), {candidate(str(i), 0.5) for i in range(20)} == {"A", "B"}
    ('A', 'B', True)
    """
    if score == 0.5:
        return "A" if draw_number(f"tie {name}") < 0.5 else "B"
    return "A" if score > 0.5 else "B"


def prediction_record(entry: MirexInput, row: MirexRow, score: float) -> dict[str, Any]:
    return {entry.id_field: row.id, SCORE: score, PREFERRED: candidate(row.name, score)}


class CheckedPredictions(NamedTuple):
    """What a valid file of predictions holds."""

    rows: int
    ties: int
    prefers_a: int


def check_predictions(path: Path, entry: MirexInput) -> CheckedPredictions:
    """InputError that lists the faults unless each id of the input has one valid prediction."""
    asked = {row.name: row for row in entry.rows}
    faults: list[str] = []
    places: dict[str, str] = {}
    ties = prefers_a = 0
    for place, row in read_table(path, PREDICTIONS):
        fault = _fault(row, entry, asked, places)
        if fault:
            faults.append(f"{place}: {fault}")
        else:
            places[str(row[entry.id_field])] = place
            ties += row[SCORE] == 0.5
            prefers_a += row[PREFERRED] == "A"
    missing = [name for name in asked if name not in places]
    if missing and not faults:
        faults.append(f"no prediction for {len(missing):,} of {len(asked):,} ids, such as {_shorten(missing[0])!r}")
    if faults:
        more = f"; and {len(faults) - SHOWN} more faults" if len(faults) > SHOWN else ""
        raise InputError(f"{path}: {'; '.join(faults[:SHOWN])}{more}")
    return CheckedPredictions(len(asked), ties, prefers_a)


def _fault(row: Mapping[str, Any], entry: MirexInput, asked: Mapping[str, MirexRow], places: Mapping[str, str]) -> str:
    """Say what is wrong with a prediction; '' if nothing is."""
    lacking = [name for name in (entry.id_field, SCORE, PREFERRED) if name not in row]
    if lacking:
        return f"{lacking[0]!r} is missing"
    name, score, preferred = row[entry.id_field], row[SCORE], row[PREFERRED]
    if isinstance(name, bool) or not isinstance(name, str | int) or str(name) not in asked:
        return f"{_shorten(repr(name))} is not an id of the input"
    if type(name) is not type(asked[str(name)].id):
        return f"the id {name!r} is {asked[str(name)].id!r} in the input"
    if str(name) in places:
        return f"the id {name!r} was in {places[str(name)]} already"
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return f"{SCORE!r} is {_shorten(repr(score))}, expected a number from 0 to 1"
    if preferred not in ("A", "B"):
        return f"{PREFERRED!r} is {_shorten(repr(preferred))}, expected 'A' or 'B'"
    if score != 0.5 and preferred != candidate("", score):
        return f"{PREFERRED!r} is {preferred!r}, but a {SCORE} of {score:g} prefers the other"
    return ""


def tie_note(ties: Sequence[str]) -> str:
    """Say which pairs were ties, in one sentence."""
    named = ", ".join(map(repr, ties[:3])) + (", ..." if len(ties) > 3 else "")
    return f"ties: {len(ties)} ({named}); {SCORE} is 0.5 there, and a coin that depends on the id chose the candidate"
