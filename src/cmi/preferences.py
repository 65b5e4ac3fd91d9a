"""Read, group, split and write preferences and ratings.

A preference of a person, a judge or a scorer is a row:

    {"id", "text", "lyrics", "reference", "a", "b", "axis", "choice", "confidence", "rater", ...}

`a`, `b` and `reference` are paths, relative to the file's folder; only `a`, `b`, `axis` and `choice` are required.
`axis` is musicality, alignment or overall, `choice` is a, b, both or neither (in any case), `confidence` 1 to 5. The
other columns that our commands write (`split`, `truth`, ...) and users' own, which begin with `x_`, are kept in
`about`; any other column is an error. A row without an axis or a choice is a pair to be judged.

Formats    JSON lines, one JSON array or CSV with a header, plain or gzip; Parquet; a folder that holds such a file
           called preferences (a studio set, an arena's export); a folder of takes, one subfolder for each prompt
           (`cmi.take.read_take_folders`), which gives all pairs of takes of each prompt.
Ratings    one row per take: {"audio", "musicality", "alignment", ...}, from 1 to 5; one of the two may be absent.
Splits     the column `split`; if no row of a file has one, splits are drawn by the prompt's words, so that no prompt is
           in two splits.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast, get_args

from cmi._util.errors import InputError
from cmi._util.fields import Row, is_nan, label_field, number_field, number_rows, text_field
from cmi._util.json_text import parse_json
from cmi._util.printable import printable
from cmi._util.records import Columns, read_table
from cmi._util.table_files import write_table
from cmi.take import (
    TAKES,
    Axis,
    Choice,
    Pair,
    Prompt,
    Take,
    prompt_of,
    read_take_folders,
    recording,
    relative_path,
    take_rows,
)

FIELDS = ("id", "text", "lyrics", "reference", "a", "b", "axis", "choice", "confidence", "rater")
ABOUT = (
    *("split", "truth", "month"),  # studio
    "source",  # the data set that it was exported from
    *("generator_a", "generator_b", "system_a", "system_b", "gold"),  # arena, studio
    *("pair", "modality", "first", "feedback", "seconds", "voted", "corrections", "kind", "repeat"),  # arena
    *("shown_as_a", "shown_as_b", "confidence_touched", "hidden"),  # arena
    "soft",  # judge
)
COLUMNS = Columns(FIELDS, ABOUT)
RATED: tuple[Axis, ...] = ("musicality", "alignment")
RATINGS = Columns((*TAKES.main, *RATED), TAKES.others)
AXES: tuple[Axis, ...] = get_args(Axis)
NAME = "preferences"  # of the file in a folder
FILES = tuple(NAME + suffix for suffix in (".jsonl", ".jsonl.gz", ".json", ".csv", ".csv.gz", ".parquet"))
RATING_FILES = tuple(name.replace(NAME, "ratings") for name in FILES)
PROMPT_ID = "x_prompt_id"  # the publisher's id of a prompt
SPLITS = {"train": 0.8, "valid": 0.1, "test": 0.1}

_AXES: dict[str, str] = {axis: axis for axis in AXES}
_CHOICES: dict[str, str] = {choice: choice for choice in get_args(Choice)}
_SAME = {"system_a": "generator_a", "system_b": "generator_b"}
# JSON in the cells of a table
_NOT_TEXT = ("truth", "soft", "gold", "seconds", "corrections", "repeat", "confidence_touched")


@dataclass(frozen=True)
class Preference:
    """Which take of a pair a rater preferred on an axis, with a confidence from 1 to 5 if it was asked for.

    `id` and `about` hold the other columns of the file.
    """

    pair: Pair
    axis: Axis
    choice: Choice
    confidence: int | None = None
    rater: str = ""
    id: str = ""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.axis not in AXES:
            raise InputError(f"axis {self.axis!r}, expected one of {', '.join(AXES)}")
        if self.choice not in get_args(Choice):
            raise InputError(f"choice {self.choice!r}, expected one of {', '.join(get_args(Choice))}")
        if self.confidence is not None and (isinstance(self.confidence, bool) or self.confidence not in range(1, 6)):
            raise InputError(f"confidence {self.confidence!r}, expected a whole number from 1 to 5, or none")

    @property
    def prompt(self) -> Prompt:
        return self.pair.prompt

    @property
    def is_tie(self) -> bool:
        return self.choice in ("both", "neither")


class Rating(NamedTuple):
    """A take's ratings by axis, from 1 to 5."""

    id: str
    take: Take
    ratings: dict[Axis, float]
    about: dict[str, Any]

    @property
    def prompt(self) -> Prompt:
        return self.take.prompt


Labelled = TypeVar("Labelled", Preference, Rating)


class NamedPair(NamedTuple):
    """A pair with its id, the choices that the file states, by axis, and the other columns of its first row."""

    id: str
    pair: Pair
    known: dict[Axis, Choice]
    about: Mapping[str, Any]


class PreferenceRow(NamedTuple):
    """A row of a file: a pair and, if it has been judged, the preference."""

    id: str
    where: str  # for messages
    pair: Pair
    about: dict[str, Any]
    axis: Axis | None = None
    choice: Choice | None = None
    confidence: int | None = None
    rater: str = ""


def read_preferences(path: Path | str, split: str = "") -> Iterator[Preference]:
    """Yield the preferences of a file or folder, optionally those of one split.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "votes.csv")
    >>> _ = path.write_text("text,a,b,axis,choice,rater\\nslow sad piano,1.wav,2.wav,Musicality,A,ann\\n")
    >>> [(one.prompt.text, one.pair.b.name, one.axis, one.choice, one.rater) for one in read_preferences(path)]
    [('slow sad piano', '2.wav', 'musicality', 'a', 'ann')]
    """
    return _of_split(lambda: _preferences(Path(path)), split)


def read_ratings(path: Path | str, split: str = "") -> Iterator[Rating]:
    """Yield the rated takes of a file, optionally those of one split."""
    return _of_split(lambda: _ratings(Path(path)), split)


def read_pairs(path: Path | str) -> list[NamedPair]:
    """Return the distinct pairs of a file or folder, in its order."""
    found: dict[Pair, NamedPair] = {}
    for row in read_rows(Path(path)):
        first = found.setdefault(row.pair, NamedPair(row.id, row.pair, {}, row.about))
        if row.axis and row.choice:
            first.known[row.axis] = row.choice
    if not found:
        raise InputError(f"{path}: no pairs in it")
    return list(found.values())


def read_rows(path: Path) -> Iterator[PreferenceRow]:
    """Yield the rows of a file or folder; an axis and a choice may be absent."""
    file = find_file(path)
    if file.is_dir():
        yield from _pairs_of_takes(file)
    else:
        for name, where, row in number_rows(file, read_table(file, COLUMNS, ("a", "b"))):
            yield _row(name, where, row, file.parent)


def find_file(path: Path) -> Path:
    """Return the file of preferences in a folder, or the path itself: a file or a folder of takes."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    return next((path / name for name in FILES if (path / name).is_file()), path) if path.is_dir() else path


def pair_of(row: Row, where: str, folder: Path) -> Pair:
    """Return the pair that a row describes; paths are relative to `folder`."""
    a, b = (recording(row, side, where, folder) for side in "ab")
    return Pair(prompt_of(row, where, folder), a, b)


def group_by_rater(preferences: Iterable[Preference]) -> list[dict[Axis, Preference]]:
    """Group the preferences of one rater on one pair, by axis. A second one on an axis starts another group."""
    groups: list[dict[Axis, Preference]] = []
    latest: dict[tuple[Pair, str], dict[Axis, Preference]] = {}
    for one in preferences:
        key = one.pair, one.rater
        if key not in latest or one.axis in latest[key]:
            latest[key] = {}
            groups.append(latest[key])
        latest[key][one.axis] = one
    return groups


def draw_split(prompt: Prompt | str) -> str:
    """Draw the split of a prompt (or of its words) by a hash of the words, so that it is the same in every file.

    >>> draw_split(Prompt("slow sad piano")) == draw_split(Prompt("Slow sad  piano", reference=Path("like.wav")))
    True
    """
    draw = draw_number(prompt if isinstance(prompt, str) else prompt_words(prompt))
    return "train" if draw < SPLITS["train"] else "valid" if draw < SPLITS["train"] + SPLITS["valid"] else "test"


def draw_number(words: str) -> float:
    """Return a pseudorandom number from 0 to 1 that depends only on the words."""
    return int(hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 2**32


def normalise_text(text: str) -> str:
    """Return a text without case and with single spaces, as prompts are compared everywhere."""
    return " ".join(text.casefold().split())


def prompt_words(prompt: Prompt) -> str:
    """Return the words that identify a prompt, or its reference's name if it has none; '' if it is empty."""
    words = normalise_text(f"{prompt.text} {prompt.lyrics}")
    return prompt.reference.name if not words and isinstance(prompt.reference, Path) else words


def prompt_key(label: "Preference | Rating") -> str:
    """Return the key of rows that belong in one split: the prompt's words, else its id, else the recordings' names."""
    takes = (label.pair.a, label.pair.b) if isinstance(label, Preference) else (label.take.audio,)
    known = prompt_words(label.prompt) or str(label.about.get(PROMPT_ID, ""))
    return known or " ".join(sorted(take.name for take in takes if isinstance(take, Path)))


def split_name(stated: str) -> str:
    """Return the usual name of a split: 'valid' for 'val', 'validation' or 'dev'."""
    return "valid" if stated in ("val", "validation", "dev") else stated


def write_preferences(preferences: Iterable[Preference], path: Path | str) -> None:
    """Write a .jsonl, .csv or .parquet file atomically, with paths relative to its folder.

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> pair = Pair(Prompt("slow sad piano"), folder / "1.wav", folder / "2.wav")
    >>> write_preferences([Preference(pair, "musicality", "a", rater="ann", id="1")], folder / "votes.csv")
    >>> print((folder / "votes.csv").read_text(), end="")
    id,text,lyrics,reference,a,b,axis,choice,confidence,rater
    1,slow sad piano,,,1.wav,2.wav,musicality,a,,ann
    """
    path = Path(path)
    write_rows((preference_row(preference, path.parent) for preference in preferences), path)


def preference_row(preference: Preference, folder: Path) -> dict[str, Any]:
    """Return the row of a preference in a file in `folder`."""
    prompt, pair = preference.prompt, preference.pair
    return {
        "id": preference.id,
        "text": prompt.text,
        "lyrics": prompt.lyrics,
        "reference": "" if prompt.reference is None else relative_path(prompt.reference, folder),
        "a": relative_path(pair.a, folder),
        "b": relative_path(pair.b, folder),
        "axis": preference.axis,
        "choice": preference.choice,
        "confidence": preference.confidence,
        "rater": preference.rater,
        **preference.about,
    }


def rating_row(rating: Rating, folder: Path) -> dict[str, Any]:
    """Return the row of a rated take in a file in `folder`."""
    prompt = rating.prompt
    return {
        "id": rating.id,
        "audio": relative_path(rating.take.audio, folder),
        "text": prompt.text,
        "lyrics": prompt.lyrics,
        "reference": "" if prompt.reference is None else relative_path(prompt.reference, folder),
        **{str(axis): value for axis, value in rating.ratings.items()},
        **rating.about,
    }


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows of preferences, ratings or prompts atomically, in the format of the file's suffix."""
    write_table(rows, path, FIELDS)


def _of_split(read: Callable[[], Iterator[Labelled]], split: str) -> Iterator[Labelled]:
    if not split:
        yield from read()
        return
    is_stated = any("split" in one.about for one in read())
    for one in read():
        if split == (one.about.get("split") if is_stated else draw_split(one.prompt)):
            yield one


def _preferences(path: Path) -> Iterator[Preference]:
    for row in read_rows(path):
        if row.axis is None or row.choice is None:
            raise InputError(f"{row.where}: {'axis' if row.axis is None else 'choice'!r} is missing")
        yield Preference(row.pair, row.axis, row.choice, row.confidence, row.rater, row.id, row.about)


def _ratings(path: Path) -> Iterator[Rating]:
    for name, take, where, row in take_rows(path, RATINGS):
        ratings = {axis: value for axis in RATED if (value := number_field(row, axis, where)) is not None}
        if not ratings:
            raise InputError(f"{where}: neither 'musicality' nor 'alignment' is rated")
        yield Rating(name, take, ratings, _about(row, RATINGS.main))


def _row(name: str, where: str, row: Row, folder: Path) -> PreferenceRow:
    confidence = number_field(row, "confidence", where)
    if confidence is not None and confidence != int(confidence):
        raise InputError(f"{where}: 'confidence' is {confidence:g}, expected a whole number from 1 to 5")
    return PreferenceRow(
        name,
        where,
        pair_of(row, where, folder),
        _about(row, FIELDS),
        cast(Axis | None, label_field(row, "axis", where, _AXES)),
        cast(Choice | None, label_field(row, "choice", where, _CHOICES)),
        None if confidence is None else int(confidence),
        text_field(row, "rater", where),
    )


def _about(row: Row, known: Sequence[str]) -> dict[str, Any]:
    """Return the columns that are not in `known`, without empty cells."""
    others = {name: value for name, value in row.items() if name not in known}
    found = {name: value for name, value in others.items() if value not in (None, "") and not is_nan(value)}
    for name in _NOT_TEXT:
        if isinstance(found.get(name), str):
            with suppress(ValueError):
                found[name] = parse_json(found[name].lower() if name in ("gold", "repeat") else found[name])
    for name, same in _SAME.items():
        if name in found:
            found[same] = found.pop(name)
    return found


def _pairs_of_takes(folder: Path) -> Iterator[PreferenceRow]:
    """Yield all pairs of takes of each prompt; files are named after their systems."""
    for name, prompt, takes in read_take_folders(folder):
        stems = [take.stem for take in takes]
        if len(set(stems)) < len(stems):
            twice = next(stem for stem in stems if stems.count(stem) > 1)
            raise InputError(f"{folder / name}: two takes are called {twice!r}; name each after its system")
        for a, b in combinations(takes, 2):
            about = {"generator_a": printable(a.stem), "generator_b": printable(b.stem)}
            yield PreferenceRow(f"{name}/{a.stem}-{b.stem}", str(folder / name), Pair(prompt, a, b), about)
