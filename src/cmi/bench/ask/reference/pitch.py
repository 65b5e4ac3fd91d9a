"""The pitch of a single note, as a MIDI number: basic-pitch where it is, swift-f0 otherwise.

An organ's 16-foot stop sounds an octave below the key that is played, and fools whoever looks for the lowest
fundamental. So where three octaves of one note sound together and strongly, the middle one is the pitch; overtones of
other instruments stay far below that.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.bench.ask import Question
from cmi.bench.ask.clips import clip
from cmi.bench.ask.reference import notes
from cmi.bench.ask.reference.parts import require

F0_RATE = 16_000
STACKED = 0.4  # a note's mean activation in a stack of octaves; overtones were seen at 0.27 at most
OCTAVE = 12
LONGEST = 8.0  # seconds


class PitchSkill:
    def __init__(self) -> None:
        self._pitch, self._rate = _best_method()

    def answer(self, question: Question) -> str:
        return str(self._pitch(clip(question, self._rate, LONGEST)))


def _best_method() -> tuple[Callable[[Waveform], int], int]:
    try:
        network = notes.NoteNetwork()
    except InputError:
        tracker = PitchTracker()
        return lambda waveform: round(float(np.median(tracker.voiced(waveform)))), F0_RATE
    return lambda waveform: from_activations(network.activations(waveform)), notes.RATE


def from_activations(activations: NDArray[np.float32]) -> int:
    """The MIDI pitch of a single note, from how surely each note sounds in each frame."""
    sounding = activations[activations.max(axis=1) > activations.max() / 2]
    strength = sounding.mean(axis=0)
    note = int(strength.argmax())
    stack = strength[note : note + 2 * OCTAVE + 1 : OCTAVE]
    is_stack = len(stack) == 3 and bool((stack > STACKED).all())
    return notes.LOWEST + note + (OCTAVE if is_stack else 0)


class PitchTracker:
    """swift-f0: one fundamental in each frame."""

    def __init__(self) -> None:
        require("pitch", "swift-f0")
        from swift_f0 import SwiftF0

        self._detector = SwiftF0(threads=1)

    def track(self, waveform: Waveform) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Times, MIDI pitches, and whether a pitch is heard."""
        found = self._detector.detect(waveform.samples, waveform.rate)
        return found.timestamps, 69 + 12 * np.log2(np.maximum(found.pitch_hz, 1.0) / 440), found.confidence >= 0.5

    def voiced(self, waveform: Waveform) -> NDArray[np.float64]:
        _, pitches, voiced = self.track(waveform)
        if not voiced.any():
            raise InputError("no pitch is heard")
        return pitches[voiced]
