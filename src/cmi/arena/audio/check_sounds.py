"""The sounds of the sound checks, made by this code: 44.1 kHz, stereo, 16 bits.

Headphones: three tones of 200 Hz, 1 s each with ramps of 0.1 s, 0.5 s apart. Two have a peak of TONE_PEAK on each side
(-20 dBFS), the quiet one half of that (-26 dBFS). One of the loud ones has the right side inverted.
Device: one second of pink noise, 80 Hz to 8 kHz, on the left, on the right or, the same noise, on both sides.
Calibration: five seconds of that noise on both sides, as loud as the median of the study's recordings.
"""

import io
from functools import lru_cache

import numpy as np
import soundfile
from numpy.typing import NDArray

from cmi.arena.audio.measure import LEVEL
from cmi.arena.store.checks import HEADPHONE_TRIALS, HeadphoneTrial, Kind
from cmi.features.loudness import LoudnessMeter

RATE = 44_100
MEDIA_TYPE = "audio/flac"
TONE_HZ = 200.0
TONE_SECONDS, GAP_SECONDS, RAMP_SECONDS = 1.0, 0.5, 0.1
TONE_PEAK = 0.1
QUIETER_DB = 6.0
NOISE_HZ = (80.0, 8000.0)
SIDE_SECONDS, CALIBRATION_SECONDS = 1.0, 5.0
QUIETEST, LOUDEST = -40, -16  # LUFS of the calibration sound: louder noise would be clipped


@lru_cache(len(HEADPHONE_TRIALS) + 3)
def trial_sound(kind: Kind, plan: int) -> bytes:
    """The file of a trial: for headphones `plan` is a place in HEADPHONE_TRIALS, else 0 left, 1 right, 2 both sides."""
    return _encode(headphone_samples(HEADPHONE_TRIALS[plan]) if kind == "headphones" else side_samples(plan))


def calibration_sound(lufs: float | None) -> bytes:
    """A file as loud as asked for, to the nearest LU between QUIETEST and LOUDEST; None: as loud as matched takes."""
    return _calibration(round(min(LOUDEST, max(QUIETEST, LEVEL if lufs is None else lufs))))


@lru_cache(LOUDEST - QUIETEST + 1)
def _calibration(lufs: int) -> bytes:
    noise = _noise(CALIBRATION_SECONDS, lufs, seed=1)
    return _encode(np.stack([noise, noise], axis=1))


def headphone_samples(trial: HeadphoneTrial) -> NDArray[np.float64]:
    times = np.arange(round(TONE_SECONDS * RATE)) / RATE
    tone = TONE_PEAK * np.sin(2 * np.pi * TONE_HZ * times) * _ramps(len(times), RAMP_SECONDS)
    gap = np.zeros((round(GAP_SECONDS * RATE), 2))
    parts = []
    for place in range(3):
        left = tone * 10 ** (-QUIETER_DB / 20) if place == trial.quiet else tone
        parts += [gap, np.stack([left, -left if place == trial.inverted else left], axis=1)]
    return np.concatenate(parts[1:])


def side_samples(side: int) -> NDArray[np.float64]:
    noise = _noise(SIDE_SECONDS, LEVEL, seed=2)
    return np.stack([noise * (side != 1), noise * (side != 0)], axis=1)


def _noise(seconds: float, lufs: float, seed: int) -> NDArray[np.float64]:
    """Pink noise that has this loudness when both sides play it."""
    count = round(seconds * RATE)
    hertz = np.fft.rfftfreq(count, 1 / RATE)
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(hertz))
    inside = (hertz >= NOISE_HZ[0]) & (hertz <= NOISE_HZ[1])
    spectrum = np.where(inside, np.exp(1j * phases) / np.sqrt(np.maximum(hertz, 1.0)), 0)
    noise = np.fft.irfft(spectrum, count) * _ramps(count, RAMP_SECONDS)
    noise *= 0.1 / np.abs(noise).max()
    meter = LoudnessMeter(RATE, 2)
    meter.add(np.stack([noise, noise], axis=1).astype(np.float32))
    loudness = meter.integrated()
    assert loudness is not None  # it is well above the gates
    return noise * 10 ** ((lufs - loudness) / 20)


def _ramps(count: int, seconds: float) -> NDArray[np.float64]:
    """Raised-cosine ramps at both ends."""
    edge = round(seconds * RATE)
    rising = 0.5 - 0.5 * np.cos(np.pi * np.arange(edge) / edge)
    return np.concatenate([rising, np.ones(count - 2 * edge), rising[::-1]])


def _encode(samples: NDArray[np.float64]) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()
