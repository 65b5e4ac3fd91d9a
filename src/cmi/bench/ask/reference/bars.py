"""Bars: the most likely beats and downbeats under a steady tempo, from probabilities in each frame.

A hidden Markov model (after Krebs, Böck and Widmer, ISMIR 2015). A state is a place in the bar and a tempo: which beat,
how many frames it lasts, and how many of them have passed. Time moves on by a frame at a time; the tempo changes only
where a beat begins, and small changes are likelier. A bar has the same number of beats throughout the clip.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BEATS_PER_BAR = (3, 4)
SLOWEST, FASTEST = 55.0, 215.0  # beats per minute
STEADINESS = 100.0  # the logarithm of a tempo's probability falls by this times its relative change
NARROWNESS = 16  # the first 1/16 of a beat is where it is heard
LEAST = 1e-12  # probability


class Beats(NamedTuple):
    frames: NDArray[np.int64]  # of each beat
    places: NDArray[np.int64]  # in the bar, from 0, the downbeat


def find_beats(beat: NDArray[np.floating], downbeat: NDArray[np.floating], frames_per_second: float) -> Beats:
    """Find the beats, given the probabilities of a beat that is not a downbeat and of a downbeat in each frame."""
    if not len(beat):
        return Beats(np.zeros(0, np.int64), np.zeros(0, np.int64))
    tempos = _Tempos.of(frames_per_second)
    return max((_best_path(beat, downbeat, tempos, beats) for beats in BEATS_PER_BAR), key=lambda path: path[0])[1]


class _Tempos(NamedTuple):
    """States of one beat, in a row: for each tempo, as many as the beat has frames."""

    lengths: NDArray[np.int64]  # of a beat, in frames
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    is_heard: NDArray[np.bool_]  # in which states the beat is heard
    changes: NDArray[np.float64]  # logarithms of probabilities, from one tempo to another

    @classmethod
    def of(cls, frames_per_second: float) -> "_Tempos":
        lengths = np.arange(round(60 * frames_per_second / FASTEST), round(60 * frames_per_second / SLOWEST) + 1)
        ends = np.cumsum(lengths)
        is_heard = np.concatenate([np.arange(length) * NARROWNESS < length for length in lengths])
        changes = -STEADINESS * np.abs(lengths / lengths[:, None] - 1)
        changes -= np.log(np.exp(changes).sum(axis=1, keepdims=True))
        return cls(lengths, ends - lengths, ends - 1, is_heard, changes)


def _best_path(
    beat: NDArray[np.floating], downbeat: NDArray[np.floating], tempos: _Tempos, beats_per_bar: int
) -> tuple[float, Beats]:
    """Viterbi's algorithm: the best path's logarithm of probability and its beats."""
    neither = np.log(np.maximum(1 - beat - downbeat, LEAST) / (NARROWNESS - 1))  # (T,)
    heard = np.log(np.maximum(np.stack([downbeat, *[beat] * (beats_per_bar - 1)], axis=1), LEAST))  # (T, B)
    states = len(tempos.is_heard)
    total = np.full((beats_per_bar, states), -np.log(beats_per_bar * states))
    came_from = np.zeros((len(beat), beats_per_bar, len(tempos.lengths)), np.int16)
    for frame in range(len(beat)):
        ends = np.roll(total[:, tempos.lasts], 1, axis=0)  # of the beat before
        ways = ends[:, :, None] + tempos.changes  # (B, tempo before, tempo)
        came_from[frame] = ways.argmax(axis=1)
        total = np.roll(total, 1, axis=1)
        total[:, tempos.firsts] = ways.max(axis=1)
        total += np.where(tempos.is_heard, heard[frame][:, None], neither[frame])
    place, state = (int(i) for i in np.unravel_index(total.argmax(), total.shape))
    tempo = int(np.searchsorted(tempos.firsts, state, side="right")) - 1
    begin = len(beat) - 1 - (state - int(tempos.firsts[tempo]))
    found = []
    while begin >= 0:
        width = -(-int(tempos.lengths[tempo]) // NARROWNESS)
        peak = int((beat + downbeat)[begin : begin + width].argmax())
        found.append((begin + peak, place))
        tempo = int(came_from[begin, place, tempo])
        place = (place - 1) % beats_per_bar
        begin -= int(tempos.lengths[tempo])
    frames, places = np.array(found[::-1], np.int64).reshape(-1, 2).T
    return float(total.max()), Beats(frames, places)
