"""Key by profiles: how much each pitch class sounds, compared with what is usual in the 24 keys.

Chroma      The peaks of the spectrum between 100 and 2,000 Hz, moved by the clip's own tuning, each counted for the
            nearest of twelve pitch classes, the less the further it is off. Frames count alike, however loud.
Profiles    How often the notes of a scale occurred in a large corpus of scores (Albrecht and Shanahan, Music Perception
            2013), from the tonic up. The key is the one whose profile correlates best with the chroma.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cmi._util.errors import InputError

RATE = 11_025
FRAME, HOP = 8192, 2048  # samples
LOWEST, HIGHEST = 100.0, 2000.0  # hertz
FLOOR = 1e-9
TONICS = ("C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B")

PROFILES = {
    "major": (0.238, 0.006, 0.111, 0.006, 0.137, 0.094, 0.016, 0.214, 0.009, 0.080, 0.008, 0.081),
    "minor": (0.220, 0.006, 0.104, 0.123, 0.019, 0.103, 0.012, 0.214, 0.062, 0.022, 0.061, 0.052),
}


class Key(NamedTuple):
    """Tonic in pitch classes 0-11 (C = 0), mode 'major' or 'minor'."""

    tonic: int
    mode: str

    def __str__(self) -> str:
        return f"{TONICS[self.tonic]} {self.mode}"


def find_key(samples: NDArray[np.float32]) -> Key:
    """Return the likeliest key; InputError if nothing with a pitch is heard."""
    return key_of(chroma(samples))


def key_of(heard: NDArray[np.float64]) -> Key:
    """Return the likeliest key of a chroma (12,)."""
    keys = [Key(tonic, mode) for mode in PROFILES for tonic in range(12)]
    profiles = np.stack([np.roll(PROFILES[mode], tonic) for tonic, mode in keys])  # (24, 12)
    centred = profiles - profiles.mean(axis=1, keepdims=True)
    return keys[int(np.argmax((centred / np.linalg.norm(centred, axis=1, keepdims=True)) @ heard))]


def chroma(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return how much each pitch class sounds, C first: (12,). InputError if none does."""
    frames, hertz, levels, count = spectral_peaks(samples)
    pitches = 12 * np.log2(hertz / 440) + 69
    tuning = np.angle(levels @ np.exp(2j * np.pi * pitches)) / (2 * np.pi)  # semitones
    nearest = np.round(pitches - tuning)
    weights = levels * np.cos(np.pi * (pitches - tuning - nearest)) ** 2
    kept = (hertz >= LOWEST) & (hertz < HIGHEST)
    by_frame = np.zeros((count, 12))
    np.add.at(by_frame, (frames[kept], nearest[kept].astype(np.int64) % 12), weights[kept])
    heard = (by_frame / (np.linalg.norm(by_frame, axis=1, keepdims=True) + FLOOR)).mean(axis=0)
    if np.ptp(heard) < FLOOR:
        raise InputError("no pitch was found")
    return np.asarray(heard)


def spectral_peaks(
    samples: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], int]:
    """Return the frame, the frequency in hertz and the level of each local maximum, and the number of frames."""
    from scipy import fft  # here, because the names of keys are needed where scipy is not installed

    count = max(1, 1 + -(-(len(samples) - FRAME) // HOP))
    padded = np.zeros(FRAME + (count - 1) * HOP, np.float32)
    padded[: len(samples)] = samples
    windows = sliding_window_view(padded, FRAME)[::HOP] * np.hanning(FRAME)
    levels = np.abs(fft.rfft(windows))
    middle = levels[:, 1:-1]
    frames, bins = np.nonzero((middle > levels[:, :-2]) & (middle >= levels[:, 2:]))
    below, at, above = (np.log(levels[frames, bins + side] + FLOOR) for side in (0, 1, 2))
    shift = 0.5 * (below - above) / (below - 2 * at + above - FLOOR)  # of a parabola's top
    hertz = (bins + 1 + shift) * RATE / FRAME
    kept = (hertz > LOWEST / 2) & (hertz < 2 * HIGHEST)
    return frames[kept], hertz[kept], levels[frames, bins + 1][kept], count
