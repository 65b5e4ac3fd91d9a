"""Melody as a list of (seconds, MIDI pitch), out of a solo or out of a mix.

Solo    swift-f0's fundamental; silence is pitch 0, as the task reads it.
Mix     the one path through basic-pitch's notes that is strong, high and steady. A path stays on its note unless
        leaving pays; wide leaps cost more; of two equally strong notes the higher is the melody's.

How many notes sound at once tells which it is. With one of the two packages alone, that one has to do.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.clips import clip
from cmi.bench.ask.reference import notes
from cmi.bench.ask.reference.pitch import F0_RATE, PitchTracker

SOUNDING = 0.3  # of an activation
MOST_IN_A_SOLO = 2.0  # notes at once, on average: a sung solo had 1.2, the studio's mixes 3.8 and more
# Chosen on ten of the studio's pieces (seed 1), where the whole range tried moved raw pitch accuracy by 0.13.
HEIGHT = 0.02  # what a semitone of height is worth, in nepers of activation
HIGHEST = 84  # the MIDI pitch beyond which height is worth no more
LEAVING = 4.0
LEAP = 0.2  # a semitone, up to an octave
FLOOR = 0.05  # of an activation

T = TypeVar("T")


class MelodySkill:
    def __init__(self) -> None:
        self._network = _if_there(notes.NoteNetwork)
        self._tracker = _if_there(PitchTracker)
        if self._network is None and self._tracker is None:
            PitchTracker()  # says what is missing

    def answer(self, question: Question) -> str:
        if self._network is not None:
            activations = self._network.activations(clip(question, notes.RATE))
            if self._tracker is None or notes_at_once(activations) >= MOST_IN_A_SOLO:
                path = notes.LOWEST + melody_path(activations)
                return str(note_list(notes.frame_times(len(path)), path))
        assert self._tracker is not None
        times, pitches, voiced = self._tracker.track(clip(question, F0_RATE))
        return str(note_list(times, np.where(voiced, np.round(pitches), 0).astype(np.int64)))


def _if_there(load: type[T]) -> T | None:
    try:
        return load()
    except InputError:
        return None


def notes_at_once(activations: NDArray[np.float32]) -> float:
    """How many notes sound where any does."""
    count = (activations > SOUNDING).sum(axis=1)
    return float(count[count > 0].mean()) if count.any() else 0.0


def melody_path(activations: NDArray[np.float32]) -> NDArray[np.int64]:
    """The column of the melody's note in each frame, by Viterbi's algorithm: (T, 88) -> (T,)."""
    columns = np.arange(activations.shape[1])
    gains = np.log(activations + FLOOR) + HEIGHT * np.minimum(columns, HIGHEST - notes.LOWEST)
    distance = np.abs(columns[:, None] - columns)
    costs = LEAVING * (distance > 0) + LEAP * np.minimum(distance, 12)
    total, came_from = gains[0], np.zeros(activations.shape, np.int64)
    for frame in range(1, len(gains)):
        ways = total[:, None] - costs
        came_from[frame] = ways.argmax(axis=0)
        total = ways.max(axis=0) + gains[frame]
    path = np.empty(len(gains), np.int64)
    path[-1] = total.argmax()
    for frame in range(len(gains) - 1, 0, -1):
        path[frame - 1] = came_from[frame, path[frame]]
    return path


def note_list(times: NDArray[np.float64], pitches: NDArray[np.int64]) -> list[tuple[float, int]]:
    """(seconds, MIDI pitch) wherever the pitch changes."""
    if not pitches.any():
        raise InputError("no melody is heard")
    begins = np.flatnonzero(np.diff(pitches, prepend=-1))
    return [(round(float(times[i]), 3), int(pitches[i])) for i in begins]
