"""A voice from WORLD's frames: what `pyworld.synthesize` does, several times as fast.

Frames of a word are turned into filters once, and one word is sung on many notes: that is where the time goes. As in
WORLD, each pulse of the voice sets off the minimum-phase response of the periodic part of its frame, and what is not
periodic is noise through a filter of its own.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

STEPS = 64  # places between two samples where a pulse may fall: a hundredth of a cent, at middle C
QUIETEST = 1e-12  # of power: silence has no logarithm

Filters = NDArray[np.complex64]  # (frames, bins)


class Frames(NamedTuple):
    """What a voice does in each frame of `hop` samples."""

    pitch: NDArray[np.float64]  # hertz, 0 where there is none: (frames,)
    periodic: Filters
    noise: Filters


def periodic_filters(power: NDArray[np.float64], aperiodicity: NDArray[np.float64]) -> Filters:
    """From WORLD's spectral envelope and aperiodicity, both (frames, bins)."""
    filters = minimum_phase(power * (1 - aperiodicity**2))
    filters[:, 0] = 0  # pulses all of one sign would shift the whole sound
    return filters


def noise_filters(power: NDArray[np.float64], aperiodicity: NDArray[np.float64]) -> Filters:
    return minimum_phase(power * aperiodicity**2)


def minimum_phase(power: NDArray[np.float64]) -> Filters:
    """The filters with these power spectra whose energy comes as early as can be: cepstra folded into the past."""
    size = 2 * (power.shape[1] - 1)
    cepstra = fft.irfft(np.log(np.maximum(power, QUIETEST)) / 2, size)
    cepstra[:, 1 : size // 2] *= 2
    cepstra[:, size // 2 + 1 :] = 0
    return np.exp(fft.rfft(cepstra)).astype(np.complex64)


def synthesize(frames: Frames, hop: int, rate: int) -> NDArray[np.float32]:
    """The voice: len(frames.pitch) * hop samples, the same in each run."""
    size, count = 2 * (frames.periodic.shape[1] - 1), len(frames.pitch) * hop
    sound = np.zeros(count + size, np.float32)
    places = pulses(frames.pitch, hop, rate)
    whole = np.floor(places).astype(int)
    at = whole // hop
    late = _delays(size)[np.floor((places - whole) * STEPS).astype(int)]
    louder = np.sqrt(rate / frames.pitch[at]).astype(np.float32)  # fewer pulses carry as much power
    responses = fft.irfft(frames.periodic[at] * late, size) * louder[:, None]
    for place, response in zip(whole.tolist(), responses, strict=True):
        sound[place : place + size] += response
    hiss = np.random.default_rng(0).standard_normal((len(frames.pitch), hop), dtype=np.float32)
    breaths = fft.irfft(fft.rfft(hiss, size) * frames.noise, size)
    for frame, breath in enumerate(breaths):
        sound[frame * hop : frame * hop + size] += breath
    return sound[:count]


@lru_cache(maxsize=2)
def _delays(size: int) -> Filters:
    """The filter that delays by each of STEPS parts of a sample: (STEPS, bins)."""
    parts = np.arange(STEPS) / STEPS
    return np.exp(-2j * np.pi / size * parts[:, None] * np.arange(size // 2 + 1)).astype(np.complex64)


def pulses(pitch: NDArray[np.float64], hop: int, rate: int) -> NDArray[np.float64]:
    """Where the voice's pulses fall, in samples and parts of them: one whenever the phase of the pitch comes round."""
    steps = np.repeat(pitch / rate, hop)
    phase = np.cumsum(steps)
    turned = np.flatnonzero(np.floor(phase) > np.floor(phase - steps))
    return turned - (phase[turned] - np.floor(phase[turned])) / steps[turned] + 1
