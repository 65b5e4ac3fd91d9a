"""Beats, downbeats and keys: madmom's networks if they are installed, else BeatNet's network and key profiles.

madmom      Beats and downbeats: recurrent networks, and a model of bars of three or four beats that fits a tempo to
            their output (Böck, Krebs and Widmer, ISMIR 2014 and 2016). Key: a convolutional network, one of 24
            (Korzeniowski and Widmer, ISMIR 2018). Its models are not for commercial use, and it has no wheels for some
            platforms.
otherwise   Beats and downbeats: `beat_network` and `bars`. Key: `cmi.features.key`. They need only numpy.

Times are seconds from the clip's start.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.ask import clip
from cmi.bench.ask.reference import MADMOM, bars, beat_network, known_as, version
from cmi.bench.tasks.key import parse
from cmi.features import key as key_profiles
from cmi.features.key import Key

Times = NDArray[np.float64]


class RhythmSkill:
    """A skill of a rhythm model."""

    def __init__(self) -> None:
        self._model = NumpyRhythm() if version(MADMOM) is None else MadmomRhythm()


class BeatSkill(RhythmSkill):
    def __init__(self) -> None:
        super().__init__()
        if isinstance(self._model, NumpyRhythm):
            beat_network.read_weights(1)  # if they cannot be downloaded, that is tried once, not at every question

    def answer(self, question: Question) -> str:
        return format_times(self._model.beats(question))


class DownbeatSkill(BeatSkill):
    def answer(self, question: Question) -> str:
        return format_times(self._model.downbeats(question))


class KeySkill(RhythmSkill):
    def answer(self, question: Question) -> str:
        return str(self._model.key(question))


def format_times(seconds: Times) -> str:
    """Format times as the instructions ask: 0.5s,1.02s."""
    return ",".join(f"{round(max(0.0, float(second)), 2)}s" for second in seconds)


class NumpyRhythm:
    def beats(self, question: Question) -> Times:
        return self._find(question).frames / beat_network.FRAMES_PER_SECOND

    def downbeats(self, question: Question) -> Times:
        found = self._find(question)
        return found.frames[found.places == 0] / beat_network.FRAMES_PER_SECOND

    def key(self, question: Question) -> Key:
        return key_profiles.find_key(clip(question, key_profiles.RATE).samples)

    def _find(self, question: Question) -> bars.Beats:
        samples = clip(question, beat_network.RATE).samples
        if not samples.any():
            raise InputError("no beat was found: the clip is silent")
        beat, downbeat, _ = beat_network.activations(samples, question.dataset).T
        return bars.find_beats(beat, downbeat, beat_network.FRAMES_PER_SECOND)


class MadmomRhythm:
    RATE = 44_100
    FRAMES_PER_SECOND = 100

    def __init__(self) -> None:
        with known_as("madmom", MADMOM):
            import madmom  # noqa: F401

    def beats(self, question: Question) -> Times:
        network, tracker = self._beat_models
        return np.asarray(tracker(network(self._signal(question))))

    def downbeats(self, question: Question) -> Times:
        network, tracker = self._downbeat_models
        found = np.asarray(tracker(network(self._signal(question)))).reshape(-1, 2)  # time, place in the bar from 1
        return found[found[:, 1] == 1, 0]

    def key(self, question: Question) -> Key:
        from madmom.features.key import key_prediction_to_label

        label = key_prediction_to_label(self._key_model(self._signal(question)))  # in sharps: F# minor
        key = parse(label)
        if key is None:
            raise InputError(f"madmom calls the key {label!r}")
        return key

    @cached_property
    def _beat_models(self) -> tuple[Any, Any]:
        from madmom.features.beats import DBNBeatTrackingProcessor, RNNBeatProcessor

        return RNNBeatProcessor(), DBNBeatTrackingProcessor(fps=self.FRAMES_PER_SECOND)

    @cached_property
    def _downbeat_models(self) -> tuple[Any, Any]:
        from madmom.features.downbeats import DBNDownBeatTrackingProcessor, RNNDownBeatProcessor

        beats_per_bar = list(bars.BEATS_PER_BAR)
        tracker = DBNDownBeatTrackingProcessor(beats_per_bar=beats_per_bar, fps=self.FRAMES_PER_SECOND)
        return RNNDownBeatProcessor(), tracker

    @cached_property
    def _key_model(self) -> Any:
        from madmom.features.key import CNNKeyRecognitionProcessor

        return CNNKeyRecognitionProcessor()

    def _signal(self, question: Question) -> Any:
        """Return the clip, decoded by us, as a madmom signal."""
        from madmom.audio.signal import Signal

        waveform = clip(question, self.RATE)
        return Signal(waveform.samples, sample_rate=waveform.rate, num_channels=1)
