"""How many requests a client may send, how large they may be, and how long they may take to arrive."""

import ipaddress
import math
import secrets
import struct
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from hashlib import blake2b
from multiprocessing.context import SpawnContext
from typing import Any, NamedTuple

from cmi.arena.store.errors import Refused

MOST_BUCKETS = 40_000  # 24 bytes each
WAYS = 8  # places where a key's bucket may be
_PLACES = struct.Struct(f"{WAYS}Q{WAYS}d{WAYS}d")  # keys, tokens, as of when
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


class SharedState:
    """What the processes of one server share: how many requests clients have sent, and when a session changed.

    `context` starts the processes; without one the state is this process's own. Buckets are in a table of fixed size:
    a key has WAYS places, of which it takes the least recently used. Dropping a bucket only favours its owner, because
    a new bucket is full. Keys are hashed with a secret, so nobody can choose whose bucket they share.
    """

    def __init__(self, context: SpawnContext | None = None, most_buckets: int = MOST_BUCKETS) -> None:
        size = math.ceil(most_buckets / WAYS) * _PLACES.size
        self.buckets: Any = context.RawArray("B", size) if context else bytearray(size)
        self.session_change: Any = context.RawArray("d", 1) if context else [0.0]  # by `time.monotonic`
        self.lock: AbstractContextManager[Any] = context.Lock() if context else nullcontext()
        self.secret = secrets.token_bytes(16)


class RateLimiter:
    """One token bucket per key. Not thread-safe, but safe between processes.

    A bucket holds up to `burst` tokens and is filled at `rate` tokens per second; a request takes its cost.
    """

    def __init__(
        self,
        allowed: Rate,
        what: str = "",
        shared: SharedState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = allowed
        self._what = what
        self._shared = shared or SharedState()
        self._clock = clock

    def require(self, key: str, cost: float = 1.0) -> None:
        """Take the tokens of a request; Refused if there are too few."""
        if wait := self.seconds_to_wait(key, cost):
            message = f"too many requests: try again in {wait} s"
            raise Refused("rate", message, 429, {"retry-after": str(wait)})

    def seconds_to_wait(self, key: str, cost: float = 1.0) -> int:
        """Take `cost` tokens and return 0, or return in how many whole seconds there will be enough."""
        hashed = blake2b(f"{self._what} {key}".encode(), digest_size=8, key=self._shared.secret).digest()
        number, buckets = int.from_bytes(hashed) or 1, self._shared.buckets
        start = number % (len(buckets) // _PLACES.size) * _PLACES.size
        with self._shared.lock:
            now = self._clock()
            places = list(_PLACES.unpack_from(buckets, start))
            keys, tokens, times = places[:WAYS], places[WAYS : 2 * WAYS], places[2 * WAYS :]
            if number in keys:
                way = keys.index(number)
                left = min(self._allowed.burst, tokens[way] + (now - times[way]) * self._allowed.rate)
            else:
                way, left = times.index(min(times)), self._allowed.burst
            granted = left >= cost
            keys[way], tokens[way], times[way] = number, left - cost if granted else left, now
            _PLACES.pack_into(buckets, start, *keys, *tokens, *times)
        return 0 if granted else math.ceil((cost - left) / self._allowed.rate)


@lru_cache(MOST_BUCKETS)
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
