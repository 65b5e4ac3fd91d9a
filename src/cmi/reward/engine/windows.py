"""How much of a recording is heard, and what is judged together.

A recording is judged in sections, each on its own; its score is the mean of theirs, weighted by their seconds. A
section is encoded in chunks, each on its own too. The last section and the last chunk may be short; a rest that is too
short for the encoder (43 ms for MuQ-MuLan) is left out.

    first10     the first 10 s
    mean10      sections of 10 s, of the first 120 s
    first120    the first 120 s in chunks of 30 s: one section, as the published model was trained
    full        sections of 120 s in chunks of 30 s, up to two hours: what the model was trained on, repeated

A reference is one section: of 10 s under `first10`, else of 120 s in chunks of 30 s.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cmi import audio
from cmi._util.errors import InputError
from cmi.audio import LONGEST
from cmi.take import Audio

SPAN = 120  # seconds decoded at a time, so that memory does not grow with a recording


@dataclass(frozen=True)
class Window:
    name: str
    section: int  # seconds judged together
    chunk: int  # seconds encoded together
    limit: int  # seconds heard at most

    @property
    def of_reference(self) -> "Window":
        seconds = min(self.limit, SPAN)
        return Window("reference", seconds, min(seconds, 30), seconds)


WINDOWS = {
    window.name: window
    for window in (
        Window("first10", 10, 10, 10),
        Window("mean10", 10, 10, 120),
        Window("first120", 120, 30, 120),
        Window("full", 120, 30, int(LONGEST)),
    )
}
DEFAULT_WINDOW = "first120"


def find_window(name: str) -> Window:
    if name not in WINDOWS:
        raise InputError(f"window {name!r}, expected one of {', '.join(WINDOWS)}")
    return WINDOWS[name]


class AudioSpan(NamedTuple):
    """A stretch of a recording that is decoded at once; in seconds."""

    offset: int
    seconds: int
    section: int  # judged together
    chunk: int  # encoded together


def spans(sound: Audio, window: Window) -> Iterator[AudioSpan]:
    """What of a recording is decoded; InputError if that depends on a length that its file does not tell."""
    if window.limit <= SPAN:
        yield AudioSpan(0, window.limit, window.section, window.chunk)
        return
    seconds = audio.duration(sound) if isinstance(sound, Path) else sound.seconds
    if seconds > window.limit:
        raise InputError(f"{sound}: {seconds / 3600:.1f} hours, at most {window.limit // 3600} are heard")
    for offset in range(0, max(1, int(seconds)), SPAN):
        yield AudioSpan(offset, SPAN, window.section, window.chunk)
