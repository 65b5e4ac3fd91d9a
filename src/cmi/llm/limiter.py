"""How many requests may be in flight, and how fast they follow each other: as the endpoint takes them, found by asking.

Calls that are refused (429) met a wall, the same one if they were in flight together.

    before the first wall     the limit grows by one for each answer
    from the first wall on    calls are spread evenly over the time that an answer takes: endpoints that limit the rate
                              refuse bursts that they would take one by one
    from the second wall on   each wall takes the limit down by a tenth; then it grows by one in a round of as many
                              answers as it allows at once, by two in the next round, by four, until the next wall
"""

import asyncio

FIRST = 4.0
SHRINK = 0.9
SMOOTHING = 0.1  # of the time that answers take


class Limiter:
    """`async with limiter:` waits for a place and keeps it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = min(FIRST, float(most))
        self._in_flight = 0
        self._paced = False
        self._steady = False
        self._step = 1.0  # of the limit in a round of answers
        self._round = 0  # answers in it
        self._calls = 0
        self._last_wall = 0
        self._seconds = 0.0  # that an answer takes
        self._next_start = 0.0
        self._freed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._freed:
            await self._freed.wait_for(lambda: self._in_flight < int(self.limit))
            self._in_flight += 1
        if self._paced:
            now = asyncio.get_running_loop().time()
            start = max(now, self._next_start)
            self._next_start = start + self._seconds / self.limit
            await asyncio.sleep(start - now)

    async def __aexit__(self, *_: object) -> None:
        async with self._freed:
            self._in_flight -= 1
            self._freed.notify_all()

    def ticket(self) -> int:
        """The number of a call that begins now."""
        self._calls += 1
        return self._calls

    def answered(self, seconds: float) -> None:
        self._seconds += (seconds - self._seconds) * (SMOOTHING if self._seconds else 1.0)
        self.limit = min(float(self.most), self.limit + (self._step / self.limit if self._steady else 1.0))
        self._round += 1
        if self._round >= self.limit:
            self._step, self._round = min(2 * self._step, self.limit), 0

    def refused(self, ticket: int) -> None:
        """The call with this ticket got a 429. One that began before the last wall met the same."""
        if ticket > self._last_wall:
            if self._paced:
                self.limit = max(1.0, self.limit * SHRINK)
                self._steady = True
            self._paced = self._seconds > 0  # until something was answered, nobody knows the pace
            self._last_wall, self._step, self._round = self._calls, 1.0, 0
