"""Helpers for readers of data sets: find files, read tables and beat files, cut recordings into clips."""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import NamedTuple

from cmi._util.errors import InputError, require_extra
from cmi._util.records import read_text

BEAT_SECONDS = 30.0  # of a recording in questions about beats


class LabelledClip(NamedTuple):
    """One question of a data set without its wording: a clip and the expected answer."""

    dataset: str  # its name in `cmi.bench.catalog`
    id: str  # of this question, unique within the data set
    output: str  # the expected answer, as the authors write it
    audio: str  # relative to the audio folder; may be missing there
    start: float = 0.0  # seconds into the recording
    end: float | None = None  # None: to the end
    split: str = "test"
    wording: str = ""  # the question that came with it; empty: use ours


class Sounds:
    """The audio files under a folder, found by name without subfolder and suffix. Links are followed."""

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
        """Return the file with the first of these names that exists; if none does, the first name itself."""
        return next((self._by_name[name] for name in names if name in self._by_name), names[0])

    def has(self, path: str) -> bool:
        """Tell whether there is such a file inside the folder."""
        parts = PurePosixPath(path).parts
        return ".." not in parts and parts[:1] != ("/",) and (self.folder / path).is_file()


def walk(folder: Path) -> Iterator[Path]:
    """Yield every visible file under a folder; each folder is visited once even if several links lead to it."""
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
    """Return the files that match the first pattern with any match; InputError if there are none."""
    files = list(walk(folder))
    for pattern in patterns:
        if found := [file for file in files if file.match(pattern)]:
            return found
    raise InputError(f"{folder}: no file named {' or '.join(patterns)} under it")


def find_file(folder: Path, *patterns: str) -> Path:
    """Find one file; InputError if there are several."""
    found = find_files(folder, *patterns)
    if len(found) > 1:
        raise InputError(f"{folder}: both {found[0]} and {found[1]}; name the folder that holds one of them")
    return found[0]


def read_table(path: Path, columns: Sequence[str], delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row of a table with a header, with its place for errors; cells are stripped.

    Every row has every one of `columns`. In a tab-separated file the last column may contain tabs.
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
    """Parse a finite number; the InputError names the place."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:
        raise InputError(f"{place}: {text[:40]!r} is not a number")
    return value


class ClipSpan(NamedTuple):
    start: float  # seconds
    end: float


def whole_clips(seconds: float, length: float) -> list[ClipSpan]:
    """Cut a recording into whole clips without the rest at its end; a shorter recording is one clip."""
    count = int(seconds // length)
    return [ClipSpan(i * length, (i + 1) * length) for i in range(count)] or [ClipSpan(0.0, seconds)]


def clips_of_events(starts: Sequence[float], length: float) -> Iterator[tuple[ClipSpan, list[int]]]:
    """Yield clips from 0 to the last event, each with the indices of the events that begin in it."""
    by_clip: dict[int, list[int]] = {}
    for place, start in enumerate(starts):
        by_clip.setdefault(int(start // length), []).append(place)
    for i in range(max(by_clip, default=-1) + 1):
        yield ClipSpan(i * length, (i + 1) * length), by_clip.get(i, [])


def clips_of_recording(sounds: Sounds, audio: str, length: float) -> list[ClipSpan]:
    """Cut a recording into whole clips; only the first if the recording is missing or cannot be read."""
    seconds = 0.0
    if sounds.has(audio):
        decoder = _import_audio(sounds.folder / audio)
        with suppress(InputError):
            seconds = float(decoder.duration(sounds.folder / audio))
    return whole_clips(seconds or length, length)


def _import_audio(path: Path) -> ModuleType:
    """Import `cmi.audio` late, because it needs a decoder that other commands do not."""
    with require_extra(f"looking at the recordings of {path.name}", "bench-data"):
        return import_module("cmi.audio")


class Beat(NamedTuple):
    time: float
    place: int | None  # in the bar, from 1


def parse_beats(text: str, name: str | Path = "beats") -> list[Beat]:
    """Parse a beat file; the InputError names a bad line."""
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
    """Format times like an answer: '0.5s,1.02s'."""
    return ",".join(f"{round(time * 100) / 100}s" for time in times)


def beat_questions(path: Path, prefix: str, id_: str, audio: str, split: str) -> Iterator[LabelledClip]:
    """Yield a question about the beats of a file and, if it marks downbeats, one about these.

    A file has one beat per line: its time in seconds and, if known, its place in the bar (1 for a downbeat). As in the
    released annotations, times are rounded to 10 ms, and the few beats after BEAT_SECONDS are included.
    """
    return ask_beats(parse_beats(read_text(path), path), prefix, id_, audio, split)


def ask_beats(beats: list[Beat], prefix: str, id_: str, audio: str, split: str) -> Iterator[LabelledClip]:
    """Yield a question about beats and, if downbeats are marked, one about these."""
    downbeats = [beat for beat in beats if beat.place == 1]
    for question, asked in (("beat", beats), ("downbeat", downbeats)):
        if asked:
            times = write_times([beat.time for beat in asked])
            yield LabelledClip(f"{prefix}_{question}", id_, times, audio, 0.0, BEAT_SECONDS, split)
