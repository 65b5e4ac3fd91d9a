"""The time of day, made fit for measuring durations."""

import threading
import time
from collections.abc import Callable


class SteadyClock:
    """UTC in seconds since 1970, which never goes back while the process runs.

    When the system's clock is set back, time goes on from where it was: what somebody heard before that counts, and
    later votes stay later. When it is set forward, this clock follows.
    """

    def __init__(self, wall: Callable[[], float] = time.time, ticks: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._ticks = ticks
        self._lock = threading.Lock()
        self._now, self._tick = wall(), ticks()

    def __call__(self) -> float:
        with self._lock:
            tick = self._ticks()
            self._now, self._tick = max(self._wall(), self._now + tick - self._tick), tick
            return self._now
