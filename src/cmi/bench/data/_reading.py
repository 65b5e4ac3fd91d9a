"""What the readers of data sets share: finding files, reading tables and beat files, cutting recordings into clips.

What cannot be read is one sentence that names the file and the line.
"""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import NamedTuple

from cmi._util.errors import InputError, MissingExtra

BEAT_SECONDS = 30.0  # of a recording that is asked about for its beats
LATE_BEATS = (
    "truths list beats after the 30 s that are heard, as released: in 40 of 685 ballroom files, 8 of 290 of GTZAN"
)


class LabelledClip(NamedTuple):
    """One question of one data set, before it is put into words: a clip and the answer that is true of it."""

    dataset: str  # its name in `cmi.bench.catalog`
    id: str  # of this question, unique within the data set
    output: str  # the expected answer, as the authors write it
    audio: str  # relative to the audio folder; a name that is not there if the recording is missing
    start: float = 0.0  # seconds into the recording
    end: float | None = None  # None: to the end
    split: str = "test"
    wording: str = ""  # the question that came with it; empty: ours


class Sounds:
    """The audio files under a folder, found by their names without folder and suffix.

    So a recording is found wherever the folder keeps it and however it was encoded. Links are followed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def paths(self) -> list[str]:
        """Every audio file, relative to the folder, in order."""
        suffixes = _import_audio(self.folder).AUDIO_SUFFIXES
        files = (file for file in walk(self.folder) if file.suffix.lower() in suffixes)
        return sorted(file.relative_to(self.folder).as_posix() for file in files)

    @cached_property
    def _by_name(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self.paths:
            found.setdefault(Path(path).stem, path)
        return found

    def find(self, *names: str) -> str:
        """The file with the first of these names that is there; if none is, that first name itself."""
        return next((self._by_name[name] for name in names if name in self._by_name), names[0])

    def has(self, path: str) -> bool:
        """Is there such a file in the folder? A path that leads out of it is none."""
        parts = PurePosixPath(path).parts
        return ".." not in parts and parts[:1] != ("/",) and (self.folder / path).is_file()


def walk(folder: Path) -> Iterator[Path]:
    """Every visible file under a folder; a folder that links lead to twice is visited once."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    seen: set[str] = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        here = os.path.realpath(parent)
        if here in seen:
            folders.clear()
            continue
        seen.add(here)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def find_files(folder: Path, *patterns: str) -> list[Path]:
    """The files whose names match the first of the patterns that matches any; InputError if none does."""
    files = list(walk(folder))
    for pattern in patterns:
        if found := [file for file in files if file.match(pattern)]:
            return found
    raise InputError(f"{folder}: no file named {' or '.join(patterns)} under it")


def find_file(folder: Path, *patterns: str) -> Path:
    """The one file that is looked for; InputError if there are several."""
    found = find_files(folder, *patterns)
    if len(found) > 1:
        raise InputError(f"{folder}: both {found[0]} and {found[1]}; name the folder that holds one of them")
    return found[0]


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte 0x{error.object[error.start]:02x})") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def read_table(path: Path, columns: Sequence[str], delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a table that has a header, with its place for errors; cells are stripped of outer blanks.

    Every row has every one of `columns`. Between tabs, the last column may go on: it is then kept with its tabs.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader, [])]
        if absent := [name for name in columns if name not in header]:
            raise InputError(f"{path} line 1: no column {' or '.join(map(repr, absent))}")
        for cells in reader:
            if not any(cells):
                continue
            cells = [cell.strip() for cell in cells]
            if len(cells) < len(header) or (len(cells) > len(header) and delimiter != "\t"):
                raise InputError(f"{path} line {reader.line_num}: {len(cells)} cells, expected {len(header)}")
            row = dict(zip(header, cells, strict=False))
            row[header[-1]] = "\t".join(cells[len(header) - 1 :])
            yield f"{path} line {reader.line_num}", row
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: {error}") from error


def number(text: str, place: str) -> float:
    """A finite number; InputError names the place."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:
        raise InputError(f"{place}: {text[:40]!r} is no number")
    return value


class ClipSpan(NamedTuple):
    start: float  # seconds
    end: float


def whole_clips(seconds: float, length: float) -> list[ClipSpan]:
    """The whole clips of a recording; what is left at its end is dropped. A recording shorter than a clip is one."""
    count = int(seconds // length)
    return [ClipSpan(i * length, (i + 1) * length) for i in range(count)] or [ClipSpan(0.0, seconds)]


def clips_of_events(starts: Sequence[float], length: float) -> Iterator[tuple[ClipSpan, list[int]]]:
    """Clips from 0 to the last event, each with the places in `starts` of the events that begin in it."""
    by_clip: dict[int, list[int]] = {}
    for place, start in enumerate(starts):
        by_clip.setdefault(int(start // length), []).append(place)
    for i in range(max(by_clip, default=-1) + 1):
        yield ClipSpan(i * length, (i + 1) * length), by_clip.get(i, [])


def clips_of_recording(sounds: Sounds, audio: str, length: float) -> list[ClipSpan]:
    """Its whole clips; just the first one of a recording that is missing or can't be read, whose length is unknown."""
    return whole_clips(_seconds(sounds.folder / audio) or length if sounds.has(audio) else length, length)


def _seconds(path: Path) -> float | None:
    """How long the recording is, by its header; None if it can't be read."""
    audio = _import_audio(path)
    try:
        return float(audio.duration(path))
    except InputError:
        return None


def _import_audio(path: Path) -> ModuleType:
    """`cmi.audio`, which needs a decoder; what else is said about data sets does not."""
    try:
        return import_module("cmi.audio")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"looking at the recordings of {path.name}", "bench-data") from error


class Beat(NamedTuple):
    time: float
    place: int | None  # in the bar, from 1


def parse_beats(text: str, name: str | Path = "beats") -> list[Beat]:
    """The beats that a file lists, in its order; InputError names the line that is none."""
    beats = []
    for i, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        values = [number(cell, f"{name} line {i}") for cell in cells]
        if len(values) > 2 or values[0] < 0:
            raise InputError(f"{name} line {i}: {line.strip()[:40]!r}, expected a time and a place in the bar")
        beats.append(Beat(values[0], int(values[1]) if len(values) == 2 else None))
    return beats


def write_times(times: list[float]) -> str:
    """Times as an answer gives them: '0.5s,1.02s'."""
    return ",".join(f"{round(time * 100) / 100}s" for time in times)


def beat_questions(path: Path, prefix: str, id_: str, audio: str, split: str) -> Iterator[LabelledClip]:
    """One question about the beats of a file and, if it marks downbeats, one about these.

    A file has one beat a line: its time in seconds and, where known, its place in the bar (1 for a downbeat). As in the
    released annotations, times are rounded to 10 ms, and the few beats after the seconds that are heard are listed too.
    """
    beats = parse_beats(read_text(path), path)
    downbeats = [beat for beat in beats if beat.place == 1]
    for question, asked in (("beat", beats), ("downbeat", downbeats)):
        if asked:
            times = write_times([beat.time for beat in asked])
            yield LabelledClip(f"{prefix}_{question}", id_, times, audio, 0.0, BEAT_SECONDS, split)
