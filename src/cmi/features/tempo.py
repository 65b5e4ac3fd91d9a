"""Tempo over time, from what is new in the spectrum.

Onsets      how much 24 bands rise, 100 times a second, above what is usual within a second
Pulse       how well onsets repeat after one, two, three and four periods, in windows of 8 s
Tempo       the period whose pulse is clearest in all windows; of a period and its double or half the one nearer to
            usual tempos. In each window, the clearest period within a third of that one

A listener may tap twice as fast or half as fast: tempos are compared by `is_same_tempo`.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import fft

RATE = 22_050
HOP, FRAME = 220, 1024  # samples
FRAMES_PER_SECOND = RATE / HOP
BANDS, LOWEST, HIGHEST = 24, 40.0, 10_000.0  # hertz
WINDOW, STEP = 8.0, 1.0  # seconds
SLOWEST, FASTEST = 40.0, 240.0  # beats a minute
GRID = 600  # tempos between these that are tried
MULTIPLES = 4  # periods after which onsets are expected again
USUAL, OCTAVES = 110.0, 0.8  # beats a minute, and the spread of usual tempos
NEAR = 1.3  # the most by which a window's tempo may differ
SAME = 0.06  # relative difference of tempos that count as equal
CLEAR = 0.12  # of the pulse: below, no tempo is heard

Array = NDArray[np.float64]
TEMPOS: Array = np.geomspace(SLOWEST, FASTEST, GRID)


class TempoCurve(NamedTuple):
    """The tempo of a recording and of windows of 8 s, in beats a minute."""

    tempo: float
    clarity: float  # of the pulse, up to about 1
    times: Array  # of the windows' middles, in seconds
    tempos: Array  # of each window
    clarities: Array


def find_tempo(samples: NDArray[np.float32]) -> TempoCurve | None:
    """The tempo of mono sound at RATE; None if it is shorter than half a window, or has no pulse."""
    novelty = onset_strength(samples)
    size = min(round(WINDOW * FRAMES_PER_SECOND), len(novelty))
    if size < round(WINDOW * FRAMES_PER_SECOND) // 2:
        return None
    starts = np.arange(0, len(novelty) - size + 1, round(STEP * FRAMES_PER_SECOND))
    pulses = np.stack([pulse(novelty[start : start + size]) for start in starts])  # (windows, GRID)
    mean = pulses.mean(axis=0)
    usual = np.exp(-0.5 * np.square(np.log2(TEMPOS / USUAL) / OCTAVES))
    best = int(np.argmax(mean * usual))
    if mean[best] < CLEAR:
        return None
    near = np.abs(np.log(TEMPOS / TEMPOS[best])) < np.log(NEAR)
    own = np.where(near, pulses, -np.inf).argmax(axis=1)
    times = np.asarray((starts + size / 2) / FRAMES_PER_SECOND, np.float64)
    return TempoCurve(float(TEMPOS[best]), float(mean[best]), times, TEMPOS[own], pulses[np.arange(len(own)), own])


def is_same_tempo(one: float, other: float, octaves: bool = True) -> bool:
    """Whether two tempos differ by at most 6 %, or one is about the double or half of the other."""
    return any(abs(one / (other * factor) - 1) <= SAME for factor in ((1, 2, 0.5) if octaves else (1,)))


def onset_strength(samples: NDArray[np.float32]) -> Array:
    """How much is new in each frame, FRAMES_PER_SECOND times a second, at any level."""
    if len(samples) < FRAME + 2 * HOP:
        return np.zeros(0)
    frames = sliding_window_view(samples, FRAME)[::HOP] * np.hanning(FRAME).astype(np.float32)
    power = np.square(np.abs(fft.rfft(frames)))  # (T, 513)
    edges = np.unique(np.searchsorted(np.fft.rfftfreq(FRAME, 1 / RATE), np.geomspace(LOWEST, HIGHEST, BANDS + 1)))
    bands = np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1)
    level = np.log10(bands + 1e-6 * (bands.mean() + 1e-12))
    rise = np.maximum(level[2:] - level[:-2], 0).mean(axis=1)
    around = min(round(FRAMES_PER_SECOND), len(rise))
    return np.maximum(rise - np.convolve(rise, np.ones(around) / around, mode="same"), 0)


def pulse(novelty: Array) -> Array:
    """How well onsets repeat at each of TEMPOS: (GRID,), 0 for silence."""
    centred = (novelty - novelty.mean()) * np.hanning(len(novelty))
    size = 2 ** int(np.ceil(np.log2(2 * len(centred))))
    power = np.square(np.abs(np.fft.rfft(centred, size)))
    alike = np.fft.irfft(power)[: len(centred)]
    if alike[0] <= 1e-12:
        return np.zeros(GRID)
    window = np.hanning(len(novelty))
    overlap = np.fft.irfft(np.square(np.abs(np.fft.rfft(window, size))))[: len(centred)]
    alike = alike / alike[0] * (overlap[0] / np.maximum(overlap, 0.1 * overlap[0]))
    lags = 60 * FRAMES_PER_SECOND / TEMPOS
    multiples = np.arange(1, MULTIPLES + 1)[:, None] * lags  # (MULTIPLES, GRID)
    found = np.interp(multiples, np.arange(len(alike)), alike, right=0.0)
    return np.asarray(found.mean(axis=0))
