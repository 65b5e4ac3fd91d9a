"""Decide whether times are relative to the recording or to the 10-second clip cut from it.

The truths of Guzheng_Tech99 and MedleyDB are relative to the recording. Answers are taken to be relative to the
recording if all their times then lie inside the clip, and relative to the clip otherwise.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cmi.bench.evaluation import Item

LENGTH = 10.0  # seconds


class ClipClock(NamedTuple):
    start: float  # seconds into the recording
    length: float

    def offset(self, times: Sequence[float]) -> float:
        """Return what to subtract from `times` to make them relative to the clip."""
        return self.start if all(self.start <= time < self.start + self.length for time in times) else 0.0


def clip_of(item: Item, truth_times: Sequence[float]) -> ClipClock:
    """Return the item's clip; an unknown start is the multiple of 10 s below the first true event."""
    start = item.start if item.start is not None else LENGTH * (min(truth_times, default=0.0) // LENGTH)
    return ClipClock(start, item.length or LENGTH)
