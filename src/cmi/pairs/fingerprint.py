"""Recognise the same sound again after a gain, a codec, another rate or a shift of up to two seconds.

    30 s or less from the beginning -> power in 8 bands (60 Hz to 8 kHz), 8 times a second -> decibels, without each
    band's mean

Two fingerprints are compared by their correlation where they overlap, at the shift at which it is greatest. Two takes
of one prompt with a correlation of SAME or more are the same sound (docs/pairs.md has error rates).
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cmi.audio import Waveform
from cmi.features import RATE

SECONDS = 30.0
FRAME, HOP = 8192, 2756  # samples; an eighth of a second
BANDS = 8
LOWEST, HIGHEST = 60.0, 8000.0  # hertz
RANGE = 60.0  # decibels below the loudest, from which nothing is heard
FARTHEST = 16  # frames of shift, 2 s
SHORTEST = 24  # frames of overlap, 3 s
UNHEARD = 0.05  # decibels squared; keeps the correlation of steady tones low
SAME = 0.97

Array = NDArray[np.float32]


def fingerprint(sound: Waveform) -> Array:
    """The levels of a recording at RATE: (frames * BANDS,), empty if it is shorter than a frame."""
    samples = sound.samples[: round(SECONDS * RATE)]
    if len(samples) < FRAME:
        return np.zeros(0, np.float32)
    window = np.hanning(FRAME).astype(np.float32)
    frames = sliding_window_view(samples, FRAME)[::HOP]
    power = np.square(np.abs(np.fft.rfft(frames * window)))  # (T, FRAME / 2 + 1)
    edges = np.searchsorted(np.fft.rfftfreq(FRAME, 1 / RATE), np.geomspace(LOWEST, HIGHEST, BANDS + 1))
    bands = np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1)  # (T, BANDS)
    level = 10 * np.log10(np.maximum(bands, max(float(bands.max()), 1e-12) * 10 ** (-RANGE / 10)))
    return (level - level.mean(axis=0)).astype(np.float32).ravel()


def correlations(prints: list[Array]) -> NDArray[np.float64]:
    """(n, n): how much each two fingerprints correlate at their best shift; 0 if they hardly overlap."""
    lengths = np.array([len(one) // BANDS for one in prints])
    longest = int(lengths.max(initial=0))
    levels = np.zeros((len(prints), longest, BANDS), np.float32)
    for row, one, length in zip(levels, prints, lengths, strict=True):
        row[:length] = one.reshape(-1, BANDS)
    energy = np.square(levels, dtype=np.float64).sum(axis=2) + UNHEARD * BANDS
    energy = np.concatenate([np.zeros((len(prints), 1)), energy.cumsum(axis=1)], axis=1)  # (n, longest + 1)
    best = np.zeros((len(prints), len(prints)))
    rows = np.arange(len(prints))
    for shift in range(min(FARTHEST, max(0, longest - 1)) + 1):
        late, early = levels[:, shift:].reshape(len(prints), -1), levels[:, : longest - shift].reshape(len(prints), -1)
        overlap = np.minimum(lengths[:, None] - shift, lengths[None, :])  # (late, early)
        overlap = np.maximum(overlap, 0)
        of_late = energy[rows[:, None], shift + overlap] - energy[:, shift][:, None]
        of_early = energy[rows[None, :], overlap]
        found = np.where(overlap >= SHORTEST, (late @ early.T) / np.sqrt(np.maximum(of_late * of_early, 1e-30)), 0.0)
        best = np.maximum(best, np.maximum(found, found.T))
    return best
