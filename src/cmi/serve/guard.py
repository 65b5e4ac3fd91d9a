"""Middleware in front of every route: who may ask, how much is received at once, and what is counted.

A request is received whole before it is worked on, and its bytes count until it is answered, so that memory is bounded
however many clients there are. A request that finds no room is received and thrown away: a client that is still
sending would not see the answer.
"""

import hmac
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope

from cmi._util.errors import HttpRefusal
from cmi._util.web_requests import (
    LOOPBACK_HOSTS,
    RequestGuard,
    arriving_within,
    counted,
    declared_bytes,
    host_name,
    read_ahead,
)

MEGABYTE = 10**6
OPEN_TO_ALL = "/healthz"  # for load balancers
HELD = "cmi.held"  # of a scope: the bytes that it may hold
LONGEST_TAKE = 300.0  # seconds, the last bucket of the histograms


class ServeLimits(NamedTuple):
    body_bytes: int = 64 * MEGABYTE
    body_seconds: float = 60.0
    bytes_at_once: int = 512 * MEGABYTE  # of all requests that are not answered yet


LIMITS = ServeLimits()


class ServeMetrics:
    """The metrics of /metrics."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        seconds = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, LONGEST_TAKE)
        self.requests = Counter(
            "cmi_requests", "Requests by path and status.", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "cmi_request_seconds",
            "Time from the first byte to the response.",
            ["path"],
            buckets=seconds,
            registry=self.registry,
        )
        self.takes = Counter("cmi_takes", "Takes that the model scored.", registry=self.registry)
        self.batch = Histogram(
            "cmi_batch_takes",
            "Takes in one call of the model.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self.registry,
        )
        self.model_seconds = Counter("cmi_model_seconds", "Time that the model was busy.", registry=self.registry)
        self.waiting = Gauge("cmi_takes_waiting", "Takes waiting to be scored.", registry=self.registry)
        self.remembered = Gauge("cmi_takes_from_memory", "Takes answered from the cache.", registry=self.registry)

    def count_batch(self, takes: int, seconds: float) -> None:
        self.takes.inc(takes)
        self.batch.observe(takes)
        self.model_seconds.inc(seconds)


class ServeMiddleware(RequestGuard):
    """The reward server's guard."""

    def __init__(
        self, app: ASGIApp, limits: ServeLimits, token: str | None, metrics: ServeMetrics, paths: frozenset[str]
    ) -> None:
        super().__init__(app, "cmi.serve", {"x-content-type-options": "nosniff"})
        self._limits = limits
        self._token = token
        self._metrics = metrics
        self._paths = paths  # that are counted by name
        self._bytes = 0  # in requests that are not answered yet

    async def admit(self, scope: Scope, receive: Receive) -> Receive:
        self._check(scope)
        wanted = declared_bytes(scope, self._limits.body_bytes) or self._unstated(scope)
        if self._bytes + wanted > self._limits.bytes_at_once:
            await self._throw_away(receive)
            raise HttpRefusal("busy", "too many bytes are in flight: try again in 1 s", 429, {"retry-after": "1"})
        scope[HELD] = wanted
        self._bytes += wanted
        return await read_ahead(receive, self._limits.body_bytes, self._limits.body_seconds) if wanted else receive

    def finish(self, scope: Scope, status: int, seconds: float) -> None:
        self._bytes -= scope.get(HELD, 0)
        path = scope["path"] if scope["path"] in self._paths else "other"
        self._metrics.requests.labels(path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)

    def _check(self, scope: Scope) -> None:
        """Without a token only this machine's programs may ask, under loopback's names, and no page of another site."""
        headers = Headers(scope=scope)
        if self._token is not None:
            given = headers.get("authorization", "").removeprefix("Bearer ").strip()
            if scope["path"] != OPEN_TO_ALL and not hmac.compare_digest(given.encode(), self._token.encode()):
                message = "send the server's token in the header Authorization: Bearer TOKEN"
                raise HttpRefusal("token", message, 401, {"www-authenticate": "Bearer"})
        elif host_name(headers.get("host", "")) not in LOOPBACK_HOSTS:
            raise HttpRefusal("host", "this server does not serve that host name", 421)
        elif "origin" in headers and scope["method"] != "GET":
            raise HttpRefusal("origin", "pages of other sites may not use a server without a token", 403)
        if headers.get("content-encoding", "identity") != "identity":
            raise HttpRefusal("encoding", "compressed requests are not accepted: send them uncompressed", 415)

    def _unstated(self, scope: Scope) -> int:
        """Bytes to hold for a body of unknown length."""
        return self._limits.body_bytes if "transfer-encoding" in Headers(scope=scope) else 0

    async def _throw_away(self, receive: Receive) -> None:
        receiving = counted(receive, self._limits.body_bytes)
        async with arriving_within(self._limits.body_seconds):
            while (await receiving()).get("more_body", False):
                pass
