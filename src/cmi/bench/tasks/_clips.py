"""Which clock is a list of times on: the recording's, or that of the 10-second clip cut from it?

The truths of Guzheng_Tech99 and MedleyDB are on the recording's clock. A model hears the clip alone, but may know the
recording's times. So times are taken to be on the recording's clock if all of them lie inside the clip by that clock,
and on the clip's clock otherwise.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cmi.bench.evaluation import Item

LENGTH = 10.0  # seconds


class ClipClock(NamedTuple):
    start: float  # seconds into the recording
    length: float

    def offset(self, times: Sequence[float]) -> float:
        """What to take off `times` so that they are on the clip's clock."""
        return self.start if all(self.start <= time < self.start + self.length for time in times) else 0.0


def clip_of(item: Item, truth_times: Sequence[float]) -> ClipClock:
    """The item's clip; if the source does not say where it starts: the multiple of 10 s below its first true event."""
    start = item.start if item.start is not None else LENGTH * (min(truth_times, default=0.0) // LENGTH)
    return ClipClock(start, item.length or LENGTH)
