"""Recognise the same sound again after a gain, a codec, another rate or a shift of up to two seconds.

    30 s or less from the beginning -> power in 8 bands (60 Hz to 8 kHz), 8 times a second -> decibels

Two fingerprints are compared by their correlation where they overlap, without the mean of each band, at the shift at
which it is greatest. SAME or more is the same sound (docs/pairs.md has error rates). Recordings with less than SHORTEST
in common are not compared.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import fft

from cmi.audio import Waveform
from cmi.features import RATE

SECONDS = 30.0
FRAME, HOP = 16_384, 2756  # samples; long frames, so that a shift by half a hop changes little
BANDS = 8
LOWEST, HIGHEST = 60.0, 8000.0  # hertz
RANGE = 40.0  # decibels below the loudest that count; noise and codecs fill what is below
FARTHEST = 16  # frames of shift, 2 s
SHORTEST = 24  # frames of overlap: 3.7 s of sound
UNHEARD = 0.05  # decibels squared; keeps the correlation of steady tones low
ALIKE = 0.8  # by whole frames; a copy that is shifted by half a frame reaches 0.9
SAME = 0.98

Array = NDArray[np.float32]


def fingerprint(sound: Waveform) -> Array:
    """The levels of a recording at RATE: (frames * BANDS,), empty if it is shorter than a frame."""
    samples = sound.samples[: round(SECONDS * RATE)]
    if len(samples) < FRAME:
        return np.zeros(0, np.float32)
    window = np.hanning(FRAME).astype(np.float32)
    frames = sliding_window_view(samples, FRAME)[::HOP]
    power = np.square(np.abs(fft.rfft(frames * window)))  # (T, FRAME / 2 + 1)
    edges = np.searchsorted(np.fft.rfftfreq(FRAME, 1 / RATE), np.geomspace(LOWEST, HIGHEST, BANDS + 1))
    bands = np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1)  # (T, BANDS)
    level = 10 * np.log10(np.maximum(bands, max(float(bands.max()), 1e-12) * 10 ** (-RANGE / 10)))
    return (level - level.mean(axis=0)).astype(np.float32).ravel()  # small numbers, for exact sums


def similarities(prints: list[Array]) -> NDArray[np.float64]:
    """(n, n): how much each two fingerprints correlate at their best shift; 0 if they hardly overlap.

    Those that may be the same are compared a second time, at shifts by a quarter of a frame.
    """
    found = _correlations(prints)
    for i, j in np.argwhere(np.triu(found >= ALIKE, 1)).tolist():
        found[i, j] = found[j, i] = _correlate_finely(prints[i], prints[j])
    return found


def _correlations(prints: list[Array]) -> NDArray[np.float64]:
    """(n, n): as `similarities`, at shifts by whole frames."""
    count, lengths = len(prints), np.array([len(one) // BANDS for one in prints])
    longest = int(lengths.max(initial=0))
    levels = np.zeros((count, longest, BANDS), np.float32)
    for row, one, length in zip(levels, prints, lengths, strict=True):
        row[:length] = one.reshape(-1, BANDS)
    sums = np.zeros((count, longest + 1, BANDS))
    squares = np.zeros((count, longest + 1))
    levels.cumsum(axis=1, dtype=np.float64, out=sums[:, 1:])
    np.square(levels).sum(axis=2).cumsum(axis=1, dtype=np.float64, out=squares[:, 1:])
    rows, best = np.arange(count), np.zeros((count, count))
    for shift in range(min(FARTHEST, max(0, longest - SHORTEST)) + 1):
        overlap = np.maximum(np.minimum(lengths[:, None] - shift, lengths[None, :]), 0)  # (late, early)
        late_sum = sums[rows[:, None], shift + overlap] - sums[:, None, shift]  # (late, early, BANDS)
        early_sum = sums[rows[None, :], overlap]
        late_square = squares[rows[:, None], shift + overlap] - squares[:, None, shift]
        early_square = squares[rows[None, :], overlap]
        late, early = levels[:, shift:].reshape(count, -1), levels[:, : longest - shift].reshape(count, -1)
        frames = np.maximum(overlap, 1)
        together = late @ early.T - (late_sum * early_sum).sum(axis=2) / frames
        late_alone = late_square - np.square(late_sum).sum(axis=2) / frames
        early_alone = early_square - np.square(early_sum).sum(axis=2) / frames
        unheard = UNHEARD * BANDS * frames
        found = np.where(overlap >= SHORTEST, together / np.sqrt((late_alone + unheard) * (early_alone + unheard)), 0.0)
        best = np.maximum(best, np.maximum(found, found.T))
    return best


def _correlate_finely(one: Array, other: Array) -> float:
    """The correlation of two fingerprints at their best shift, to a quarter of a frame."""
    a, b = one.reshape(-1, BANDS), other.reshape(-1, BANDS)
    best = 0.0
    for early, late in ((a, b), (b, a)):
        for quarters in range(4 * FARTHEST + 1):
            whole, part = divmod(quarters, 4)
            ahead = late[whole:]
            if part:  # between two frames; frames overlap so much that a straight line will do
                ahead = ahead[:-1] + (ahead[1:] - ahead[:-1]) * np.float32(part / 4)
            frames = min(len(early), len(ahead))
            if frames < SHORTEST:
                break
            best = max(best, _correlation(early[:frames], ahead[:frames]))
    return best


def _correlation(a: Array, b: Array) -> float:
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    unheard = UNHEARD * a.size
    return float(np.vdot(a, b)) / float(np.sqrt((np.vdot(a, a) + unheard) * (np.vdot(b, b) + unheard)))
