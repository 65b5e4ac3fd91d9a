"""Cutting recordings into clips of one length."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError, MissingExtra
from cmi.bench.data.files import Sounds


class Clip(NamedTuple):
    start: float  # seconds
    end: float


def whole_clips(seconds: float, length: float) -> list[Clip]:
    """The whole clips of a recording; what is left at its end is dropped. A recording shorter than a clip is one."""
    count = int(seconds // length)
    return [Clip(i * length, (i + 1) * length) for i in range(count)] or [Clip(0.0, seconds)]


def clips_of_events(starts: Sequence[float], length: float) -> Iterator[tuple[Clip, list[int]]]:
    """Clips from 0 to the last event, each with the places in `starts` of the events that begin in it."""
    by_clip: dict[int, list[int]] = {}
    for place, start in enumerate(starts):
        by_clip.setdefault(int(start // length), []).append(place)
    for i in range(max(by_clip, default=-1) + 1):
        yield Clip(i * length, (i + 1) * length), by_clip.get(i, [])


def clips_of_recording(sounds: Sounds, audio: str, length: float) -> list[Clip]:
    """Its whole clips; just the first one of a recording that is missing or can't be read, whose length is unknown."""
    return whole_clips(_seconds(sounds.folder / audio) or length if sounds.has(audio) else length, length)


def _seconds(path: Path) -> float | None:
    """How long the recording is, by its header; None if it can't be read."""
    try:
        from cmi import audio
    except ModuleNotFoundError as error:
        raise MissingExtra(f"measuring {path.name}", "bench-data") from error
    try:
        return audio.duration(path)
    except InputError:
        return None
