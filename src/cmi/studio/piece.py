"""A piece of music: notes in parts, on beats with exact times.

Conventions
    Notes are placed in beats, from 0; `Piece.clock` turns beats into seconds. Pitches are MIDI numbers (60 is C4).
    A key is (tonic, mode): tonic in pitch classes 0-11 (C = 0), mode 'major' or 'minor'.
    Instruments have the names that captions use; their numbers are General MIDI's: programs from 0, drums as the keys
    of channel 10. Everything is immutable: a flaw returns another piece.
"""

from collections.abc import Iterable, Mapping
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
    density: Literal["sparse", "moderate", "busy"]


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

_CHORDS: tuple[Role, ...] = ("harmony", "melody", "pad", "bass")
_PADS: tuple[Role, ...] = ("pad", "harmony", "melody", "bass")
_TUNE: tuple[Role, ...] = ("melody",)
_LOW: tuple[Role, ...] = ("bass",)
_BOTH: tuple[Role, ...] = ("melody", "bass")

INSTRUMENTS: Mapping[str, Instrument] = {
    "piano": Instrument(0, _CHORDS, 73),
    "electric piano": Instrument(4, _CHORDS, 73),
    "harpsichord": Instrument(6, _CHORDS, 74),
    "celesta": Instrument(8, _CHORDS, 79),
    "music box": Instrument(10, _CHORDS, 79),
    "vibraphone": Instrument(11, _CHORDS, 74),
    "marimba": Instrument(12, _CHORDS, 72),
    "organ": Instrument(16, _CHORDS, 72),
    "church organ": Instrument(19, _CHORDS, 72),
    "accordion": Instrument(21, _CHORDS, 74),
    "classical guitar": Instrument(24, _CHORDS, 70),
    "acoustic guitar": Instrument(25, _CHORDS, 70),
    "jazz guitar": Instrument(26, _CHORDS, 70),
    "electric guitar": Instrument(27, _CHORDS, 70),
    "distorted guitar": Instrument(30, _CHORDS, 70),
    "harp": Instrument(46, _CHORDS, 74),
    "banjo": Instrument(105, _CHORDS, 72),
    "strings": Instrument(48, _PADS, 74),
    "synth strings": Instrument(50, _PADS, 74),
    "choir": Instrument(52, _PADS, 70),
    "synth pad": Instrument(89, _PADS, 72),
    "brass section": Instrument(61, ("melody", "harmony", "pad", "bass"), 70),
    "synth lead": Instrument(81, ("melody", "harmony", "pad", "bass"), 74),
    "violin": Instrument(40, _TUNE, 76),
    "fiddle": Instrument(110, _TUNE, 75),
    "cello": Instrument(42, _BOTH, 66),
    "trumpet": Instrument(56, _TUNE, 71),
    "trombone": Instrument(57, _BOTH, 66),
    "french horn": Instrument(60, ("melody", "harmony", "bass"), 67),
    "saxophone": Instrument(66, _TUNE, 68),
    "oboe": Instrument(68, _TUNE, 75),
    "bassoon": Instrument(70, _LOW),
    "clarinet": Instrument(71, _TUNE, 71),
    "flute": Instrument(73, _TUNE, 78),
    "pan flute": Instrument(75, _TUNE, 76),
    "harmonica": Instrument(22, _TUNE, 73),
    "tuba": Instrument(58, _LOW),
    "upright bass": Instrument(32, _LOW),
    "bass guitar": Instrument(33, _LOW),
    "synth bass": Instrument(38, _LOW),
}
