"""A piece of music: notes in parts, on beats with exact times.

Conventions
    Notes are placed in beats, from 0; `Piece.clock` turns beats into seconds. Pitches are MIDI numbers (60 is C4).
    A key is (tonic, mode): tonic in pitch classes 0-11 (C = 0), mode 'major' or 'minor'.
    Instruments have the names that captions use; their numbers are General MIDI's: programs from 0, drums as the keys
    of channel 10. Everything is immutable: a flaw returns another piece.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cmi._util.config import read_config

Role = Literal["melody", "harmony", "bass", "drums", "pad"]
Mode = Literal["major", "minor"]
Density = Literal["sparse", "moderate", "busy"]
SCALES: dict[Mode, tuple[int, ...]] = {"major": (0, 2, 4, 5, 7, 9, 11), "minor": (0, 2, 3, 5, 7, 8, 10)}


class Note(NamedTuple):
    start: float  # beats
    length: float  # beats
    pitch: int
    velocity: int  # 1-127


class MusicalKey(NamedTuple):
    tonic: int
    mode: Mode


class PieceSection(NamedTuple):
    name: str
    start: int  # bars, from 0
    bars: int


@dataclass(frozen=True)
class InstrumentPart:
    """The part of one instrument; `program` is not used for drums."""

    role: Role
    instrument: str  # in plain words, as captions say it
    program: int
    notes: tuple[Note, ...]
    cents: float = 0.0  # out of tune by


@dataclass(frozen=True)
class Attributes:
    style: str
    mood: str
    tempo: float  # beats a minute
    density: Density


@dataclass(frozen=True)
class Piece:
    name: str
    parts: tuple[InstrumentPart, ...]
    beats: tuple[float, ...]  # seconds at which each beat falls; the last is the end of the last beat
    metre: int  # beats in a bar
    key: MusicalKey
    attributes: Attributes
    sections: tuple[PieceSection, ...] = field(default_factory=tuple)

    def clock(self, beats: ArrayLike) -> NDArray[np.float64]:
        """Convert beats to seconds."""
        return clock(self.beats, beats)

    @property
    def downbeats(self) -> tuple[float, ...]:
        """Seconds at which each bar begins."""
        return self.beats[: -1 : self.metre]

    @property
    def seconds(self) -> float:
        return self.beats[-1]


def clock(times: tuple[float, ...], beats: ArrayLike) -> NDArray[np.float64]:
    """Convert beats to seconds by the `times` of whole beats; the last tempo continues beyond them."""
    wanted = np.asarray(beats, dtype=np.float64)
    last = len(times) - 1
    beyond = np.maximum(wanted - last, 0) * (times[-1] - times[-2])
    return np.interp(wanted, np.arange(len(times)), times) + beyond


def even_beats(count: int, tempo: float) -> tuple[float, ...]:
    """The times of `count` beats and of their end, at `tempo` beats a minute."""
    return tuple(i * 60 / tempo for i in range(count + 1))


def by_start(notes: Iterable[Note]) -> tuple[Note, ...]:
    return tuple(sorted(notes))


class Instrument(NamedTuple):
    program: int  # General MIDI, from 0
    roles: tuple[Role, ...]  # what it can play, the most natural first
    centre: int = 72  # the middle of its tunes


DRUMS: Mapping[str, int] = {
    "kick": 36, "rim": 37, "snare": 38, "clap": 39, "low tom": 45, "mid tom": 47, "high tom": 50, "closed hat": 42,
    "pedal hat": 44, "open hat": 46, "crash": 49, "ride": 51, "tambourine": 54, "shaker": 70,
}  # fmt: skip

INSTRUMENTS: Mapping[str, Instrument] = read_config(files("cmi.studio") / "instruments.toml", dict[str, Instrument])
