"""The time of day, made fit for measuring durations."""

import threading
import time
from collections.abc import Callable

FARTHEST = 86_400.0  # seconds that a clock may have been set back


class SteadyClock:
    """UTC in seconds since 1970, which never goes back while the process runs.

    When the system's clock is set back, time goes on from where it was: what somebody heard before that counts, and
    later votes stay later. When it is set forward, this clock follows.

    `latest` is the last time that an earlier process noted: this one goes on from there, unless that lies so far ahead
    that it must have been wrong.
    """

    def __init__(
        self,
        latest: float = 0.0,
        wall: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._ticks = ticks
        self._lock = threading.Lock()
        start = wall()
        self._now, self._tick = max(start, latest) if latest - start < FARTHEST else start, ticks()

    def __call__(self) -> float:
        with self._lock:
            tick = self._ticks()
            self._now, self._tick = max(self._wall(), self._now + tick - self._tick), tick
            return self._now
