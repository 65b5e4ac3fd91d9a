"""Token buckets: how often somebody may ask, in memory that does not grow with the number of strangers.

A bucket holds up to `burst` tokens and is filled at `rate` tokens a second; a request takes one, or what it costs. The
buckets used longest ago are forgotten first, which can only be in their owner's favour: a forgotten bucket is full.
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

MOST_BUCKETS = 10_000
NETWORK_BITS = 64  # of an IPv6 address: one household has them all, so that they share a bucket


class Rate(NamedTuple):
    """So many requests a second in the long run, so many at once."""

    rate: float
    burst: float


class RateLimiter:
    """One bucket for each key. For the event loop: not to be used from several threads."""

    def __init__(
        self, allowed: Rate, most_buckets: int = MOST_BUCKETS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowed = allowed
        self._most_buckets = most_buckets
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> tokens, as of when

    def __len__(self) -> int:
        return len(self._buckets)

    def seconds_to_wait(self, key: str, cost: float = 1.0) -> int:
        """0 and `cost` tokens less, or in how many whole seconds there will be as many."""
        now = self._clock()
        tokens, then = self._buckets.pop(key, (self._allowed.burst, now))
        tokens = min(self._allowed.burst, tokens + (now - then) * self._allowed.rate)
        granted = tokens >= cost
        self._buckets[key] = (tokens - cost if granted else tokens, now)
        if len(self._buckets) > self._most_buckets:
            self._buckets.popitem(last=False)
        return 0 if granted else math.ceil((cost - tokens) / self._allowed.rate)


def address_key(host: str | None) -> str:
    """Whose bucket a client's address draws on: the address, or the network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, NETWORK_BITS), strict=False))
