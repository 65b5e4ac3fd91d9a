"""Checks of what a system returns; failed takes are counted by reason.

not audio     not a Waveform or a GeneratedSound, or samples of another type or shape
empty         no samples
not finite    samples that are NaN or infinite
silent        no sample above SILENT
clipped       more than MOST_CLIPPED of the samples stand at the peak, which is at full scale
too short     below SHORTEST seconds, or shorter than asked for by more than TOLERANCE
too long      above LONGEST seconds, or more than MOST_TIMES as long as asked for
"""

import numpy as np
from numpy.typing import NDArray

from cmi._util.decode import HIGHEST_RATE, LOWEST_RATE
from cmi.audio import Waveform
from cmi.generate import GeneratedSound, GenerationError

SHORTEST = 1.0  # seconds
LONGEST = 1200.0  # seconds
TOLERANCE = 0.1  # of the length that was asked for
MOST_TIMES = 3.0
SILENT = 10 ** (-60 / 20)
MOST_CLIPPED = 0.05  # a sine at full scale has 0.03 of its samples there
MOST_CHANNELS = 2


def check_sound(made: object, seconds: float | None) -> GeneratedSound:
    """Return the sound that a system made, with one or two channels; GenerationError if it cannot be a take."""
    if isinstance(made, Waveform):
        made = GeneratedSound(made.samples[:, None], made.rate)
    if not isinstance(made, GeneratedSound):
        raise GenerationError("not audio", f"returned {type(made).__name__}, expected a Waveform or a GeneratedSound")
    samples, rate = made.samples, made.rate
    if not isinstance(samples, np.ndarray) or samples.dtype != np.float32 or samples.ndim != 2:
        described = f"{samples.dtype} of shape {samples.shape}" if isinstance(samples, np.ndarray) else type(samples)
        raise GenerationError("not audio", f"samples are {described}, expected float32 of shape (n, channels)")
    if not samples.size:
        raise GenerationError("empty", "no samples")
    if samples.shape[1] > MOST_CHANNELS:
        raise GenerationError("not audio", f"{samples.shape[1]} channels, expected one or two")
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise GenerationError("not audio", f"a rate of {rate} Hz, expected {LOWEST_RATE:,} to {HIGHEST_RATE:,} Hz")
    if not np.isfinite(samples).all():
        raise GenerationError("not finite", "samples that are NaN or infinite")
    _check_level(samples)
    _check_length(len(samples) / rate, seconds)
    return made


def _check_level(samples: NDArray[np.float32]) -> None:
    loudness = np.abs(samples)
    peak = float(loudness.max())
    if peak < SILENT:
        raise GenerationError("silent", f"the peak is {20 * np.log10(peak or 1e-10):.0f} dBFS")
    clipped = float(np.count_nonzero(loudness >= 0.999 * peak)) / samples.size
    if peak >= 0.99 and clipped > MOST_CLIPPED:
        raise GenerationError("clipped", f"{clipped:.0%} of the samples are at the peak")


def _check_length(length: float, asked: float | None) -> None:
    least, most = (SHORTEST, LONGEST) if asked is None else (asked * (1 - TOLERANCE), min(asked * MOST_TIMES, LONGEST))
    wanted = "" if asked is None else f", {asked:g} s were asked for"
    if length < max(least, SHORTEST):
        raise GenerationError("too short", f"{length:.2f} s{wanted}")
    if length > most:
        raise GenerationError("too long", f"{length:.1f} s{wanted}")
