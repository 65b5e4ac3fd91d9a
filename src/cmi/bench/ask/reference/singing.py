"""Singing technique, as far as a pitch curve tells: a vibrato, a trill, a straight tone, or hardly a pitch at all.

A rule of thumb: belting, inhaled singing, lip trills and vocal fry are never given.
"""

import numpy as np
from numpy.typing import NDArray

from cmi.bench.ask import Question
from cmi.bench.ask.clips import clip
from cmi.bench.ask.reference.pitch import F0_RATE, PitchTracker

FRAMES_PER_SECOND = 62.5  # of swift-f0
SLOWEST, FASTEST = 4.0, 9.0  # hertz of a vibrato
WIDE, WIDER = 0.15, 0.7  # semitones (standard deviation) from which on it is a vibrato, a trill
VOICED = 0.4  # the share of frames with a pitch below which a voice speaks or breathes
SMOOTH = 25  # frames of the moving mean that is the melody without ornaments


class SingingSkill:
    def __init__(self) -> None:
        self._tracker = PitchTracker()

    def answer(self, question: Question) -> str:
        _, pitches, voiced = self._tracker.track(clip(question, F0_RATE))
        if voiced.mean() < VOICED:
            return "breathy"
        return technique(pitches[voiced])


def technique(pitches: NDArray[np.float64]) -> str:
    """By how far and how fast the pitch swings about its own moving mean."""
    swing = wobble(pitches)
    return "trill" if swing > WIDER else "vibrato" if swing > WIDE else "straight"


def wobble(pitches: NDArray[np.float64]) -> float:
    """The standard deviation, in semitones, of what swings at a vibrato's speed; the median over half seconds."""
    if len(pitches) < 2 * SMOOTH:
        return 0.0
    drift = np.convolve(np.pad(pitches, SMOOTH // 2, mode="edge"), np.ones(SMOOTH) / SMOOTH, mode="valid")
    swing = pitches - drift
    spectrum = np.fft.rfft(swing)
    speeds = np.fft.rfftfreq(len(swing), 1 / FRAMES_PER_SECOND)
    swing = np.fft.irfft(np.where((speeds >= SLOWEST) & (speeds <= FASTEST), spectrum, 0), len(swing))
    windows = np.array_split(swing, max(1, len(swing) // SMOOTH))
    return float(np.median([window.std() for window in windows]))
