"""A piece of music as it is written and played: notes in parts, on beats whose times are known exactly.

Conventions
    Notes are placed in beats, from 0; `Piece.clock` turns beats into seconds. Pitches are MIDI numbers (60 is C4).
    A key is (tonic, mode): tonic in pitch classes 0-11 (C = 0), mode 'major' or 'minor'.
    All of it is immutable: a flaw returns another piece.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Role = Literal["melody", "harmony", "bass", "drums", "pad"]
Mode = Literal["major", "minor"]


class Note(NamedTuple):
    start: float  # beats
    length: float  # beats
    pitch: int
    velocity: int  # 1-127


class Key(NamedTuple):
    tonic: int
    mode: Mode


class Section(NamedTuple):
    name: str
    start: int  # bars, from 0
    bars: int


@dataclass(frozen=True)
class Part:
    """What one instrument plays. `program` is a General MIDI number from 0; for drums it is not used."""

    role: Role
    instrument: str  # in plain words, as captions say it
    program: int
    notes: tuple[Note, ...]
    cents: float = 0.0  # out of tune by so much


@dataclass(frozen=True)
class Attributes:
    """What is known about a piece in words, for captions."""

    style: str
    mood: str
    tempo: float  # beats a minute
    density: Literal["sparse", "moderate", "busy"]


@dataclass(frozen=True)
class Piece:
    name: str
    parts: tuple[Part, ...]
    beats: tuple[float, ...]  # seconds at which each beat falls; the last is the end of the last beat
    metre: int  # beats in a bar
    key: Key
    attributes: Attributes
    sections: tuple[Section, ...] = field(default_factory=tuple)

    def clock(self, beats: ArrayLike) -> NDArray[np.float64]:
        """Beats to seconds, along the piece's own tempo."""
        return clock(self.beats, beats)

    @property
    def downbeats(self) -> tuple[float, ...]:
        """Seconds at which each bar begins."""
        return self.beats[: -1 : self.metre]

    @property
    def seconds(self) -> float:
        return self.beats[-1]


def clock(times: tuple[float, ...], beats: ArrayLike) -> NDArray[np.float64]:
    """Beats to seconds, where `times` are those of whole beats; beyond the last one its tempo goes on."""
    wanted = np.asarray(beats, dtype=np.float64)
    last = len(times) - 1
    beyond = np.maximum(wanted - last, 0) * (times[-1] - times[-2])
    return np.interp(wanted, np.arange(len(times)), times) + beyond


def even_beats(count: int, tempo: float) -> tuple[float, ...]:
    """The times of `count` beats and of their end, at `tempo` beats a minute."""
    return tuple(i * 60 / tempo for i in range(count + 1))


def by_start(notes: Iterable[Note]) -> tuple[Note, ...]:
    return tuple(sorted(notes))
