"""Render pieces to dry stereo sound with a General MIDI soundfont, at -18 dBFS RMS or a peak of 0.9.

A note that starts at `piece.clock(start)` seconds has its first sample there, to half a sample. Drums, pianos and
plucked strings sound within 10 ms; bowed strings and pads swell. Samples are the same in every run on one machine.
"""

import importlib.util
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError, MissingExtra
from cmi.studio.piece import InstrumentPart, Piece
from cmi.studio.soundfont import DRUM_BANK, Font, open_font, release, tone

LOUDNESS = 10 ** (-18 / 20)  # RMS
PEAK = 0.9
TAIL = 1.0  # seconds after the last beat in which notes die away
WELL_KNOWN = (  # where Debian's fluid-soundfont-gm and timgm6mb-soundfont put theirs
    Path("/usr/share/sounds/sf2/FluidR3_GM.sf2"),
    Path("/usr/share/sounds/sf2/TimGM6mb.sf2"),
)


@lru_cache(maxsize=1)
def soundfont() -> Path:
    """The soundfont in use: the first installed of the well-known ones, else pretty_midi's."""
    package = importlib.util.find_spec("pretty_midi")
    carried = [Path(folder) / "TimGM6mb.sf2" for folder in (package and package.submodule_search_locations) or ()]
    for path in (*WELL_KNOWN, *carried):
        if path.is_file():
            return path
    raise MissingExtra("rendering", "studio")


def render(
    piece: Piece,
    rate: int = 44_100,
    tail: float = TAIL,
    font: Path | None = None,
    span: tuple[float, float] = (0.0, np.inf),
) -> NDArray[np.float32]:
    """Render a piece as (n, 2) samples, with n = round((piece.seconds + tail) * rate).

    A span, in seconds, renders only that part: the same samples except for the level.
    """
    opened = open_font(soundfont() if font is None else font)
    end = round((piece.seconds + tail) * rate)
    begin, stop = (min(round(min(seconds, piece.seconds + tail) * rate), end) for seconds in span)
    sound = np.zeros((2, stop - begin), np.float32)
    for part in piece.parts:
        _play(piece, part, opened, sound, rate, begin)
    dying = round(tail * rate / 2)  # fade out what still sounds at the end
    first = max(begin, end - dying)
    sound[:, first - begin :] *= np.linspace(1, 0, dying, dtype=np.float32)[first - (end - dying) :][: stop - first]
    return levelled(np.ascontiguousarray(sound.T))


def levelled(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale to LOUDNESS, or less to stay below PEAK; silence is unchanged."""
    peak = float(np.abs(sound).max(initial=0))
    if not peak:
        return sound
    loudness = float(np.sqrt(np.vdot(sound, sound) / sound.size))
    return sound * np.float32(min(LOUDNESS / loudness, PEAK / peak))


def _play(piece: Piece, part: InstrumentPart, font: Font, sound: NDArray[np.float32], rate: int, begin: int) -> None:
    """Add a part to the sound, of shape (2, n), which begins at sample `begin` of the piece."""
    bank, program = (DRUM_BANK, 0) if part.role == "drums" else (0, part.program)
    starts = piece.clock([note.start for note in part.notes])
    ends = piece.clock([note.start + note.length for note in part.notes])
    scratch = np.empty_like(sound)  # reused, because allocating it for each note is 50 % slower
    for note, start, end in zip(part.notes, starts, ends, strict=True):
        if not (0 <= note.pitch <= 127 and 1 <= note.velocity <= 127 and note.start >= 0 and note.length > 0):
            raise InputError(f"{piece.name}: the {part.instrument} has {note}, which cannot be played")
        first, held = round(start * rate) - begin, round((end - start) * rate)
        voice = font.voice(bank, program, note.pitch, note.velocity)
        falling = release(voice.release, rate)
        missed = max(0, -first)  # samples before the sound begins
        if first >= sound.shape[1] or missed >= held + falling.size:
            continue
        sounding = tone(voice, part.cents, (held + falling.size) / rate, rate)[:, missed : held + falling.size]
        into = sound[:, max(0, first) :][:, : sounding.shape[1]]
        count = into.shape[1]
        heard = np.multiply(sounding[:, :count], np.float32((note.velocity / 127) ** 2), out=scratch[:, :count])
        dying = max(0, held - missed)
        heard[:, dying:] *= falling[max(0, missed - held) :][: max(0, count - dying)]
        into += heard
