"""Timbre descriptor of 40 numbers, without a model: mean and standard deviation of mel-frequency cepstra.

    30 s or less from the beginning, mono, 16 kHz -> frames of 64 ms -> 40 mel bands, log -> cosine transform, 1 to 20

The first coefficient, the level, is left out, so that loudness does not matter.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from transformers.audio_utils import mel_filter_bank

from cmi.audio import Waveform, load, resample
from cmi.take import Audio

RATE = 16_000
SECONDS = 30.0
FRAME, HOP = 1024, 512  # samples
BANDS, COEFFICIENTS = 40, 20
LOWEST, HIGHEST = 40.0, 8000.0  # hertz
FLOOR = 1e-8  # of power, below which nothing is heard

Array = NDArray[np.float64]


def timbre(audio: Audio) -> Array:
    """(2 * COEFFICIENTS,): the coefficients' means over time, then their standard deviations."""
    sound = resample(audio, RATE) if isinstance(audio, Waveform) else load(audio, RATE, SECONDS)
    samples = sound.samples[: round(SECONDS * RATE)]
    padded = np.pad(samples, (0, max(0, FRAME - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP]  # (T, FRAME)
    power = np.abs(np.fft.rfft(frames * np.hanning(FRAME))) ** 2 / FRAME  # (T, FRAME / 2 + 1)
    cepstra = np.log(power @ _mel_bands() + FLOOR) @ _cosines().T  # (T, COEFFICIENTS)
    return np.concatenate([cepstra.mean(axis=0), cepstra.std(axis=0)])


@lru_cache(maxsize=1)
def _mel_bands() -> Array:
    """(FRAME / 2 + 1, BANDS): triangles that overlap by half, evenly spaced in mel."""
    return mel_filter_bank(FRAME // 2 + 1, BANDS, LOWEST, HIGHEST, RATE)


@lru_cache(maxsize=1)
def _cosines() -> Array:
    """(COEFFICIENTS, BANDS): the cosine transform (DCT-II, orthonormal) without its first row."""
    order, band = np.arange(1, COEFFICIENTS + 1)[:, None], np.arange(BANDS)
    return np.sqrt(2 / BANDS) * np.cos(np.pi * order * (2 * band + 1) / (2 * BANDS))
