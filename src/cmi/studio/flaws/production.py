"""Production flaws: damage to the recording.

Each takes samples (n, channels) in float32, their rate, a strength above 0 up to 1, and a random generator.
The random numbers do not depend on the strength, so with one seed the flaw only grows.

    flaw         what is done, and what strength 1 means                        measured by
    noise        white hiss, 6 dB below the music                               distortion
    hum          50 or 60 Hz and its harmonics, as loud as the music            distortion
    clipping     cut off at 0.3 of the RMS                                      distortion
    low-pass     24 dB an octave from 300 Hz                                    octaves_darker
    thin         high-pass, 24 dB an octave from 3 kHz                          octaves_brighter
    dropouts     four gaps a second of 30 to 120 ms                             distortion
    smear        codec-like: the phase of every short-time bin at random        distortion
    pumping      ducks by 24 dB at uneven intervals of 0.25 to 0.7 s            distortion
    over-reverb  a tail of 2 s, 9.5 dB above the dry sound                      distortion
    ringing      metallic: a resonating tube of 1.5 to 5 ms, 6 dB above the dry sound   distortion
    level        too quiet, by 40 dB                                            decibels_lost

Below 1: what is added (noise, hum, over-reverb, ringing) has amplitude strength², so 0.5 is 12 dB less than 1.
Corner frequencies and the clipping threshold move geometrically. Gaps grow in number and length, ducking and level in
dB, phases in angle.

`FLAWS[name].apply` also checks the strength and keeps the level, by `settled`.
"""

from math import ceil, exp, log, log2, pi

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import fft  # 2-4 times as fast as numpy's on float32

Sound = NDArray[np.float32]

FRAME_SECONDS = 0.046  # as long as a codec's frame, 2048 samples at 44.1 kHz
REVERB_SECONDS = 2.0  # until -60 dB
AIR_CORNER = 4000.0  # hertz; rooms absorb highs
LOW_PASS_CORNER = 300.0
THIN_CORNERS = (30.0, 3000.0)
GAPS_A_SECOND = 4
DEEPEST_DUCK = 24.0  # dB
QUIETEST = 40.0  # dB
COMB_DOUBLINGS = 7  # 128 echoes
COMB_FEEDBACK = 0.97


def noise(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    return blended(samples, rng.standard_normal(samples.shape, dtype=np.float32), 0.5 * strength**2)


def hum(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    mains = int(rng.choice((50, 60)))
    amplitudes, phases = rng.uniform(0.5, 1, 8), rng.uniform(0, 2 * pi, 8)
    t = np.arange(rate) / rate  # one second holds whole periods at any rate
    harmonics = [k for k in range(1, 9) if k * mains < rate / 2]
    second = sum(amplitudes[k - 1] / k * np.sin(2 * pi * k * mains * t + phases[k - 1]) for k in harmonics)
    return blended(samples, np.resize(np.asarray(second, dtype=np.float32), (len(samples), 1)), strength**2)


def clipping(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    threshold = _between(_peak(samples), 0.3 * rms(samples), strength)
    return np.clip(samples, -threshold, threshold)


def low_pass(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    corner = _between(rate / 2, LOW_PASS_CORNER, strength)
    return _respectrum(samples, rate, 1 / np.sqrt(1 + (_bins(rate) / corner) ** 8))


def thin(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    steep = (_bins(rate) / _between(*THIN_CORNERS, strength)) ** 4
    return _respectrum(samples, rate, steep / np.sqrt(1 + steep**2))


def dropouts(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    count = ceil(GAPS_A_SECOND * len(samples) / rate)
    starts = rng.integers(0, len(samples), count)
    lengths = np.minimum(rng.uniform(0.03, 0.12, count) * rate, len(samples) / 4)
    after = samples.copy()
    for start, length in list(zip(starts, lengths, strict=True))[: ceil(strength * count)]:
        after[start : start + ceil(strength * length)] = 0
    return after


def smear(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    hop = _frame_size(rate) // 2
    angles = rng.random((_frame_count(len(samples), hop), hop + 1), dtype=np.float32)  # the same for all channels
    angles = (2 * angles - 1) * (pi * strength)
    turns = np.empty(angles.shape, dtype=np.complex64)
    turns.real, turns.imag = np.cos(angles), np.sin(angles)
    return _respectrum(samples, rate, turns)


def pumping(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    attack, shortest, longest = 0.01, 0.25, 0.7
    seconds = len(samples) / rate
    intervals = rng.uniform(shortest, longest, ceil(seconds / shortest) + 2)
    ducked = np.cumsum(intervals) - intervals[0] * (1 + rng.random())  # the first before the beginning
    recovered = ducked[1:] - attack
    moments = np.sort(np.concatenate((ducked, recovered)))
    ducking = np.interp(np.arange(len(samples)) / rate, moments, 1.0 - np.arange(len(moments)) % 2)
    gain = np.exp(ducking.astype(np.float32) * (-strength * DEEPEST_DUCK / 20 * log(10)))
    return samples * gain[:, None]


def over_reverb(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    halved = samples[::2].copy()  # half the rate is half the work, and reverberation has few highs
    halved[: len(samples) // 2] += samples[1::2]
    wet = _convolved(halved, _room(samples.shape[1], rate / 2, rng))
    return blended(samples, np.repeat(wet, 2, axis=0)[: len(samples)], 3 * strength**2)


def ringing(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    delay = ceil(rng.uniform(0.0015, 0.005) * rate)
    ring = samples.copy()
    for doubling in range(COMB_DOUBLINGS):  # 1 + gz, times 1 + g²z², times 1 + g⁴z⁴ ... is the sum of all gᵏzᵏ
        echoes = 2**doubling
        ring[delay * echoes :] += COMB_FEEDBACK**echoes * ring[: max(0, len(ring) - delay * echoes)]
    return blended(samples, ring, 2 * strength**2)


def level(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    return samples * 10 ** (-strength * QUIETEST / 20)


def distortion(before: Sound, after: Sound) -> float:
    """Share of the energy in `after` that is not a scaled `before`, 0 to 1."""
    energies = _dot(before, before) * _dot(after, after)
    return max(0.0, 1 - _dot(before, after) ** 2 / energies) if energies else 0.0


def octaves_darker(before: Sound, after: Sound) -> float:
    """How far the spectral centroid fell."""
    was, now = _centroid(before), _centroid(after)
    return max(0.0, log2(was / now)) if was and now else 0.0


def octaves_brighter(before: Sound, after: Sound) -> float:
    """How far the spectral centroid rose."""
    return octaves_darker(after, before)


def decibels_lost(before: Sound, after: Sound) -> float:
    """How far the RMS fell."""
    was, now = rms(before), rms(after)
    return 20 * (log2(was) - log2(now)) / log2(10) if was and now else 0.0


def rms(samples: Sound) -> float:
    return (_dot(samples, samples) / samples.size) ** 0.5 if samples.size else 0.0


def settled(after: Sound, loudness: float | None) -> Sound:
    """Scale `after` to the RMS `loudness` as far as full scale allows; None keeps its level."""
    heard = rms(after)
    gain = loudness / heard if loudness is not None and heard else 1.0
    peak = _peak(after) * gain
    if peak <= 1:
        return np.ascontiguousarray(after * gain, dtype=np.float32)
    return np.clip(after * (gain / peak), -1, 1, dtype=np.float32, order="C")


def blended(samples: Sound, added: Sound, ratio: float) -> Sound:
    """Mix `samples` with `added` at `ratio` times their RMS, inverted if it would cancel them."""
    loudness = rms(added)
    if not loudness:
        return samples
    sign = -1 if _dot(samples, added) < 0 else 1
    return samples + added * (sign * ratio * rms(samples) / loudness)


def _respectrum(samples: Sound, rate: int, factor: NDArray[np.inexact]) -> Sound:
    """Multiply short-time spectra by `factor`, (bins) or (frames, bins), with overlap-add."""
    size = _frame_size(rate)
    hop = size // 2
    count = _frame_count(len(samples), hop)
    window = np.sin(pi * (np.arange(size, dtype=np.float32) + 0.5) / size)  # squares add up to 1 at half a frame
    padded = np.zeros((samples.shape[1], (count + 1) * hop), dtype=np.float32)
    padded[:, hop : hop + len(samples)] = samples.T
    framed = np.lib.stride_tricks.sliding_window_view(padded, size, axis=1)[:, ::hop]  # (channels, frames, size)
    spectra = fft.rfft(framed * window)
    spectra *= factor
    frames = fft.irfft(spectra, size, overwrite_x=True)
    frames *= window
    joined = frames[:, :-1, hop:] + frames[:, 1:, :hop]
    return np.ascontiguousarray(joined.reshape(samples.shape[1], -1)[:, : len(samples)].T)


def _room(channels: int, rate: float, rng: Generator) -> NDArray[np.complex64]:
    """Spectrum, padded to twice its length, of a decaying noise tail under a one-pole low-pass."""
    size = 2 ** round(log2(0.75 * REVERB_SECONDS * rate))  # what comes later is below -45 dB
    decay = np.exp(-log(1000) / (REVERB_SECONDS * rate) * np.arange(size, dtype=np.float32))
    tail = rng.standard_normal((channels, size), dtype=np.float32) * decay
    pole = exp(-2 * pi * AIR_CORNER / rate)
    air = (1 - pole) / (1 - pole * np.exp(-1j * np.linspace(0, pi, size + 1)))
    return fft.rfft(tail, 2 * size) * air.astype(np.complex64)


def _convolved(samples: Sound, room: NDArray[np.complex64]) -> Sound:
    """Convolve each channel with its `room`, truncated to the input's length."""
    size = room.shape[1] - 1
    wet = np.zeros((samples.shape[1], len(samples) + 2 * size), dtype=np.float32)
    for start in range(0, len(samples), size):  # block by block: small transforms stay in the cache
        spectra = fft.rfft(samples[start : start + size].T, 2 * size)
        spectra *= room
        wet[:, start : start + 2 * size] += fft.irfft(spectra, 2 * size, overwrite_x=True)
    return np.ascontiguousarray(wet[:, : len(samples)].T)


def _frame_size(rate: int) -> int:
    return 2 ** round(log2(FRAME_SECONDS * rate))


def _frame_count(length: int, hop: int) -> int:
    return ceil(length / hop) + 1


def _bins(rate: int) -> NDArray[np.float32]:
    """Frequencies of a short-time spectrum."""
    return fft.rfftfreq(_frame_size(rate), 1 / rate).astype(np.float32)


def _centroid(samples: Sound) -> float:
    """The mean bin of the spectrum's energy, over all channels; 0 for silence."""
    spectrum = np.abs(fft.rfft(samples, fft.next_fast_len(len(samples)), axis=0)) if len(samples) else samples
    energy = np.square(spectrum, dtype=np.float64).sum(axis=1)
    total = energy.sum()
    return float(energy @ np.arange(len(energy)) / total) if total else 0.0


def _between(start: float, end: float, strength: float) -> float:
    """Interpolate geometrically from `start` at strength 0 to `end` at 1."""
    return start ** (1 - strength) * end**strength


def _dot(a: Sound, b: Sound) -> float:
    return float(np.sum(a * b, dtype=np.float64))


def _peak(samples: Sound) -> float:
    return float(max(samples.max(), -samples.min()))
