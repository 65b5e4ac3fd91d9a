"""What the studio says of its pieces is found again in their sound, by means that know nothing of the notes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cmi.studio.compose import compose
from cmi.studio.mir import melody_of
from cmi.studio.piece import Piece
from cmi.studio.render import render

RATE, HOP, SIZE = 22_050, 220, 1024
# Krumhansl and Kessler's key profiles: how well each pitch class fits a key, from the tonic up
PROFILES = {
    "major": (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88),
    "minor": (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17),
}


@pytest.fixture(scope="module")
def pieces() -> list[Piece]:
    return [compose(seed, seconds=30) for seed in range(20)]


def heard(piece: Piece, *roles: str) -> np.ndarray:
    """The piece, or what parts of some roles play, in mono."""
    parts = tuple(part for part in piece.parts if not roles or part.role in roles)
    return render(replace(piece, parts=parts), RATE).mean(axis=1)


def frames(sound: np.ndarray, size: int, hop: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(np.pad(sound, size // 2), size)[::hop] * np.hanning(size)


def tonic_of(sound: np.ndarray, mode: str) -> int:
    spectra, hertz = np.abs(np.fft.rfft(frames(sound, 8192, 4096))), np.fft.rfftfreq(8192, 1 / RATE)
    used = (hertz > 100) & (hertz < 2000)
    classes = np.round(12 * np.log2(hertz[used] / 440) + 69).astype(int) % 12
    chroma = np.array([spectra[:, used][:, classes == k].sum() for k in range(12)])
    return int(np.argmax([np.corrcoef(np.roll(PROFILES[mode], k), chroma)[0, 1] for k in range(12)]))


def onset_strength(sound: np.ndarray) -> np.ndarray:
    spectra = np.log1p(100 * np.abs(np.fft.rfft(frames(sound, SIZE, HOP))))
    return np.append(0, np.maximum(np.diff(spectra, axis=0), 0).sum(axis=1))


def strength_at(strength: np.ndarray, times: np.ndarray) -> float:
    places = np.round(times * RATE / HOP).astype(int)
    return float(np.mean([strength[i - 1 : i + 3].max() for i in places if 2 < i < len(strength) - 3]))


def test_the_key_is_the_one_that_is_heard(pieces):
    pitched = ("melody", "harmony", "bass", "pad")
    right = [tonic_of(heard(piece, *pitched), piece.key.mode) == piece.key.tonic for piece in pieces]
    assert np.mean(right) >= 0.8  # of twelve; profiles take a fifth for the tonic now and then


def test_beats_are_where_most_begins(pieces):
    """Of sixteen places in each beat the first, or a neighbour whose window still holds it."""
    for piece in pieces:
        strength, beats = onset_strength(heard(piece)), np.array(piece.beats[:-1])
        lengths = np.diff(piece.beats)
        best = int(np.argmax([strength_at(strength, beats + lengths * part / 16) for part in range(16)]))
        assert best in (15, 0, 1), piece.name


def test_downbeats_are_where_the_accompaniment_begins_most(pieces):
    right = []
    for piece in pieces:
        strength = onset_strength(heard(piece, "harmony", "bass", "pad"))
        bars = np.array(piece.beats[:-1])[: (len(piece.beats) - 1) // piece.metre * piece.metre]
        at_beat = [strength_at(strength, bars[beat :: piece.metre]) for beat in range(piece.metre)]
        right.append(int(np.argmax(at_beat)) == 0)
    assert np.mean(right) >= 0.7  # of three or four; waltzes and marches answer the bass after the beat


def pitch_of(sound: np.ndarray) -> float:
    """The MIDI pitch of a steady tone, by autocorrelation."""
    sound = sound * np.hanning(len(sound))
    alike = np.fft.irfft(np.abs(np.fft.rfft(sound, 2 * len(sound))) ** 2)[: len(sound)]
    alike /= np.linspace(1, 0.4, len(sound))
    first = int(np.argmax(alike < 0))
    lag = first + int(np.argmax(alike[first : RATE // 60] > 0.85 * alike[first : RATE // 60].max()))
    lag += int(np.argmax(alike[lag : lag + max(2, lag // 8)]))
    return 69 + 12 * np.log2(RATE / lag / 440)


def test_the_melody_is_the_tune_that_is_heard(pieces):
    """Notes that sound alone for a fifth of a second, in their middle; an octave may be mistaken, a step may not."""
    told, off = 0, 0
    for piece in pieces:
        part = next(part for part in piece.parts if part.role == "melody")
        sound, tune = heard(piece, "melody"), melody_of(piece, part)
        lengths = dict(zip(piece.clock([n.start for n in part.notes]).round(3), part.notes, strict=True))
        for (start, pitch), (following, _) in pairwise(tune):
            note = lengths[start]
            end = min(float(piece.clock(note.start + note.length)), following)
            chord = sum(other.start == note.start for other in part.notes) > 1
            if end - start < 0.2 or chord:
                continue
            middle = sound[int((start + 0.06) * RATE) : int((start + 0.18) * RATE)]
            told += 1
            off += abs((pitch_of(middle) - pitch + 6) % 12 - 6) > 0.5
    assert told > 300
    assert off / told < 0.1
