"""Make recordings from recipes; the same recipe always gives the same bytes.

    piece (composed, or a score of the corpus) -> its flaw -> rendered -> sung over -> cropped -> its flaw -> levelled
    track (a real recording)                                          -> cropped -> its flaw -> levelled

Each take gets the loudness of its recipe at the end, so that its level does not reveal a flaw.
"""

import hashlib
import io
import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray
from scipy import fft

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.studio.compose import compose
from cmi.studio.corpus import read_score, repeated
from cmi.studio.flaws import FLAWS, PieceFlaw, SoundFlaw
from cmi.studio.flaws.production import rms
from cmi.studio.piece import Note, Piece, clock
from cmi.studio.render import render
from cmi.studio.vocals import sing, sung

RATE = 32_000  # hertz
SECONDS = 30
LOUDNESS = -20.0  # dBFS RMS, before a recipe's own gain
PEAK = 0.98
VOICE_LEVEL = 1.0  # of the band's RMS

Sound = NDArray[np.float32]  # (n, 2)


@dataclass(frozen=True)
class TakeSource:
    """The source of a take: a seed and wishes for the composer, a score's name, or a track."""

    seed: int = 0
    wishes: tuple[tuple[str, str | float], ...] = ()
    seconds: int = SECONDS  # minimum length of a composed piece
    score: str = ""
    track: str = ""  # the first 16 hex digits of the hash of its file
    path: str = ""  # of the track; not part of the recipe's identity

    @property
    def name(self) -> str:
        """The same for all versions of a piece; determines its split."""
        return f"track {self.track}" if self.track else self.score or f"piece {self.seed}"


@dataclass(frozen=True)
class TakeRecipe:
    source: TakeSource
    offset: int = 0  # seconds into the piece
    flaw: str = ""
    strength: float = 0.0
    flaw_seed: int = 0
    lyrics: str = ""
    gain: float = 0.0  # decibels

    @property
    def name(self) -> str:
        """Twelve hex digits of the recipe's hash."""
        return hashlib.sha256(json.dumps(recipe_record(self), sort_keys=True).encode()).hexdigest()[:12]


class MeasuredTake(NamedTuple):
    """Simple features of a recording, used by null baselines."""

    loudness: float  # dBFS RMS of the mono mix
    seconds: float
    brightness: float  # hertz: the spectral centroid
    notes: int


@lru_cache(maxsize=64)
def piece_of(source: TakeSource) -> Piece:
    """The clean piece of a source that is not a track."""
    if source.score:
        return repeated(read_score(source.score), 2 * SECONDS)
    return compose(source.seed, seconds=source.seconds, **dict(source.wishes))  # type: ignore[arg-type]


def record(recipe: TakeRecipe, seconds: int = SECONDS) -> tuple[Sound, MeasuredTake]:
    """Make the recording of a recipe, of that length, and measure it."""
    flaw = FLAWS[recipe.flaw] if recipe.flaw else None
    rng = np.random.default_rng(recipe.flaw_seed)
    notes = 0
    if recipe.source.track:
        sound = _from_track(Path(recipe.source.path), recipe.offset, seconds)
        if isinstance(flaw, PieceFlaw):
            raise InputError(f"{recipe.source.path}: a recording has no notes that {recipe.flaw} could change")
    else:
        piece = piece_of(recipe.source)
        if isinstance(flaw, PieceFlaw):
            piece = flaw.apply(piece, recipe.strength, rng)
        sound = _fit(_played(piece, recipe.lyrics, recipe.offset, seconds), seconds * RATE)
        notes = _notes_between(piece, recipe.offset, recipe.offset + seconds)
    if isinstance(flaw, SoundFlaw):
        sound = flaw.apply(sound, RATE, recipe.strength, rng)
    sound = _at_level(sound, LOUDNESS + recipe.gain)
    decibels = round(20 * float(np.log10(max(_loudness(sound), 1e-9))), 3)
    return sound, MeasuredTake(decibels, len(sound) / RATE, _brightness(sound), notes)


def write_flac(sound: Sound, path: Path) -> None:
    """Write a file atomically; encoded in memory, because libsndfile does not say why writing failed."""
    encoded = io.BytesIO()
    soundfile.write(encoded, sound, RATE, format="FLAC", subtype="PCM_16")
    write_whole(path, encoded.getvalue())


@lru_cache(maxsize=4)  # takes of a pair often share everything up to here
def _played(piece: Piece, lyrics: str, offset: int, seconds: int = SECONDS) -> Sound:
    """Render a span of the piece at RATE; with lyrics, a voice replaces the melody instrument."""
    span = (offset, offset + seconds)
    melody = next((part for part in piece.parts if part.role == "melody"), None)
    if not lyrics or melody is None or not sung(len(melody.notes), lyrics):  # too few notes may be left after a flaw
        return render(piece, RATE, span=span)
    band = replace(piece, parts=tuple(part for part in piece.parts if part is not melody))
    backing = render(band, RATE, span=span)
    voice = _fit(_sung(melody.notes, piece.beats, lyrics)[offset * RATE :], len(backing))
    loudness = rms(voice[:, None])
    return backing + (voice * np.float32(VOICE_LEVEL * rms(backing) / loudness if loudness else 0))[:, None]


@lru_cache(maxsize=4)
def _sung(notes: tuple[Note, ...], beats: tuple[float, ...], lyrics: str) -> NDArray[np.float32]:
    """Sing the melody, transposed down by octaves into a voice's range."""
    lowered = [note._replace(pitch=note.pitch - 12 * max(0, -(-(note.pitch - 69) // 12))) for note in notes]
    return sing(lowered, partial(clock, beats), lyrics, RATE)


def _from_track(path: Path, offset: int, seconds: int) -> Sound:
    try:
        with soundfile.SoundFile(path) as file:
            file.seek(min(round(offset * file.samplerate), file.frames))
            sound = file.read(round(seconds * file.samplerate), dtype="float32", always_2d=True)
            rate = file.samplerate
    except soundfile.SoundFileError as error:
        raise InputError(
            f"{path}: cannot be read as a track ({error}); move it elsewhere to continue without it"
        ) from error
    stereo = np.repeat(sound, 2, axis=1) if sound.shape[1] == 1 else sound[:, :2]
    return _fit(soxr.resample(stereo, rate, RATE), seconds * RATE)


def _fit(sound: NDArray[np.float32], length: int) -> NDArray[np.float32]:
    """Cut or pad to an exact length, so that length is uninformative."""
    return np.pad(sound[:length], ((0, max(0, length - len(sound))), *[(0, 0)] * (sound.ndim - 1)))


def _at_level(sound: Sound, decibels: float) -> Sound:
    loudness, peak = _loudness(sound), float(np.abs(sound).max(initial=0))
    if not loudness:
        return sound
    return sound * np.float32(min(10 ** (decibels / 20) / loudness, PEAK / peak))


def _loudness(sound: Sound) -> float:
    """RMS of the mono mix, which is what models hear."""
    return rms((np.float32(0.5) * (sound[:, 0] + sound[:, 1]))[:, None])


def _brightness(sound: Sound) -> float:
    """Centroid of the power spectrum."""
    power = np.abs(fft.rfft((sound[:, 0] + sound[:, 1]) / 2)) ** 2
    total = float(power.sum())
    return round(float((power * np.fft.rfftfreq(len(sound), 1 / RATE)).sum()) / total, 1) if total else 0.0


def _notes_between(piece: Piece, start: float, stop: float) -> int:
    begins = [piece.clock([note.start for note in part.notes]) for part in piece.parts if part.notes]
    return int(sum(((times >= start) & (times < stop)).sum() for times in begins))


def recipe_record(recipe: TakeRecipe) -> dict[str, Any]:
    """The recipe's non-default fields, for a manifest."""
    source = {key: value for key, value in asdict(recipe.source).items() if key != "path"}
    plain = asdict(TakeRecipe(TakeSource()))
    return {key: value for key, value in {**asdict(recipe), "source": source}.items() if value != plain[key]}
