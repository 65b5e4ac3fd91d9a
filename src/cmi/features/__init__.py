"""What a recording is like without listening to the music: level, length, brightness and density."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform, duration, load, resample
from cmi.take import Audio

RATE = 22_050
SECONDS = 120.0
FRAME = 4096  # samples
FLOOR = 1e-9  # of amplitude
ONSET_HOP, ONSET_FRAME = 512, 1024  # samples
ONSET_NEAR, ONSET_AROUND = 3, 20  # frames to each side, for the maximum and for the mean
ONSET_RISE = 1.5  # times the mean around
ONSET_SHARE = 0.02  # the least share of the spectrum that is new at an onset


class TakeFeatures(NamedTuple):
    """Simple features of a recording."""

    loudness: float  # dBFS RMS
    seconds: float
    brightness: float  # hertz
    density: float  # onsets per second


def measure_features(audio: Audio) -> TakeFeatures:
    """Measure a recording; InputError if it cannot be decoded."""
    sound = resample(audio, RATE) if isinstance(audio, Waveform) else load(audio, RATE, SECONDS)
    samples = sound.samples[: round(SECONDS * RATE)]
    loudness = 20 * float(np.log10(max(float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))), FLOOR)))
    return TakeFeatures(loudness, _seconds(audio), _centroid(samples), _onsets(samples) / (len(samples) / RATE))


def _centroid(samples: NDArray[np.float32]) -> float:
    """Return the centroid of the mean power spectrum in hertz; 0 for silence."""
    frames = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
    power = np.square(np.abs(np.fft.rfft(frames * np.hanning(FRAME)))).sum(axis=0)
    total = float(power.sum())
    return float(power @ np.fft.rfftfreq(FRAME, 1 / RATE)) / total if total else 0.0


def _onsets(samples: NDArray[np.float32]) -> int:
    """Count the frames whose spectral flux is a local maximum and clearly above the mean around it."""
    if len(samples) < 2 * ONSET_FRAME:
        return 0
    frames = sliding_window_view(samples, ONSET_FRAME)[::ONSET_HOP] * np.hanning(ONSET_FRAME).astype(np.float32)
    spectrum = np.log1p(np.abs(np.fft.rfft(frames)))  # (T, 513)
    new = np.maximum(np.diff(spectrum, axis=0), 0).sum(axis=1)  # (T - 1,)
    near = sliding_window_view(np.pad(new, ONSET_NEAR), 2 * ONSET_NEAR + 1).max(axis=1)
    around = sliding_window_view(np.pad(new, ONSET_AROUND, mode="reflect"), 2 * ONSET_AROUND + 1).mean(axis=1)
    enough = np.maximum(ONSET_RISE * around, ONSET_SHARE * spectrum[1:].sum(axis=1))
    return int(((new == near) & (new > enough)).sum())


def _seconds(audio: Audio) -> float:
    if isinstance(audio, Waveform):
        return audio.seconds
    try:
        return duration(audio)
    except InputError:  # a stream without a stated length
        return load(audio, RATE).seconds
