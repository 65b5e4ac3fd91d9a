"""How many requests a client may send, how large they may be, and how long they may take to arrive."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from cmi.arena.store.errors import Refused

MOST_BUCKETS = 10_000
NETWORK_BITS = 64  # of an IPv6 address: one household owns the whole network


class Rate(NamedTuple):
    """Requests per second in the long run, and at once."""

    rate: float
    burst: float


class Limits(NamedTuple):
    """Limits per client; a class of thirty behind one address must be able to join and vote."""

    body_bytes: int = 64 * 1024
    body_seconds: float = 15.0
    upload_bytes: int = 50 * 1024 * 1024
    upload_transfer_seconds: float = 300.0
    upload_sound_seconds: float = 600.0
    uploads_at_once: int = 2
    address: Rate = Rate(100, 1000)
    person: Rate = Rate(20, 200)
    sign_in: Rate = Rate(1, 60)
    uploads: Rate = Rate(1, 30)


class RateLimiter:
    """One token bucket per key, in bounded memory. Not thread-safe.

    A bucket holds up to `burst` tokens and is filled at `rate` tokens per second; a request takes its cost. The least
    recently used buckets are dropped, which only favours their owners, because a new bucket is full.
    """

    def __init__(
        self, allowed: Rate, most_buckets: int = MOST_BUCKETS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowed = allowed
        self._most_buckets = most_buckets
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> tokens, as of when

    def __len__(self) -> int:
        return len(self._buckets)

    def require(self, key: str, cost: float = 1.0) -> None:
        """Take the tokens of a request; Refused if there are too few."""
        if wait := self.seconds_to_wait(key, cost):
            message = f"too many requests: try again in {wait} s"
            raise Refused("rate", message, 429, {"retry-after": str(wait)})

    def seconds_to_wait(self, key: str, cost: float = 1.0) -> int:
        """Take `cost` tokens and return 0, or return in how many whole seconds there will be enough."""
        now = self._clock()
        tokens, then = self._buckets.pop(key, (self._allowed.burst, now))
        tokens = min(self._allowed.burst, tokens + (now - then) * self._allowed.rate)
        granted = tokens >= cost
        self._buckets[key] = (tokens - cost if granted else tokens, now)
        if len(self._buckets) > self._most_buckets:
            self._buckets.popitem(last=False)
        return 0 if granted else math.ceil((cost - tokens) / self._allowed.rate)


def address_key(host: str | None) -> str:
    """The bucket's key for a client: its address, or the network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, NETWORK_BITS), strict=False))
