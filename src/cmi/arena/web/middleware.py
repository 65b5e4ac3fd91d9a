"""Middleware in front of every route: checks host, origin, rate and size of requests, and sets response headers.

It is plain ASGI, so it cannot be bypassed and counts bodies as they arrive. A JSON body is read here, within its
limits; an upload is only counted, because it is streamed to a file.
"""

import asyncio
import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cmi.arena.web import security
from cmi.arena.web.rate_limit import RateLimiter, address_key
from cmi.arena.web.refusals import Refusal, too_large, too_often, too_slow
from cmi.arena.web.settings import ServerSettings

UPLOAD_PATH = "/api/owner/sounds"
COSTLY = ("/api/", "/media/")
PAGE_COST = 0.1  # of a page or script from memory; opening the pages requests about forty
FAILURE = Refusal(500, "server", "Something went wrong on the server: try again.")
NO_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})

log = logging.getLogger("cmi.arena")
access_log = logging.getLogger("cmi.arena.access")


class ArenaMiddleware:
    """Passes a request on to `app`, or answers it."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._limits = settings.limits
        self._hosts = security.own_hosts(settings.public_url)
        self._origins = security.own_origins(settings.public_url)
        self._headers = security.response_headers(settings.public_url)
        self._addresses = RateLimiter(settings.limits.address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = time.perf_counter()
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, await self._limited(scope, receive), send_with_headers)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send_with_headers)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if status:  # the response has begun and can only be aborted
                raise
            await FAILURE.response()(scope, receive, send_with_headers)
        finally:
            # neither address nor query string: the log holds no personal data and no secret
            took = 1000 * (time.perf_counter() - begin)
            access_log.info("%s %s %d %.0f ms", scope["method"], scope["path"], status, took)

    def _check(self, scope: Scope) -> None:
        client = scope.get("client")
        cost = 1.0 if scope["path"].startswith(COSTLY) else PAGE_COST
        if wait := self._addresses.seconds_to_wait(address_key(client[0] if client else None), cost):
            raise too_often(wait)
        headers = Headers(scope=scope)
        if security.host_name(headers.get("host", "")) not in self._hosts:
            raise Refusal(421, "host", "This server does not have that name.")
        if scope["method"] not in security.SAFE_METHODS and not security.is_own_origin(headers, self._origins):
            raise Refusal(403, "origin", "This request does not come from a page of the arena.")

    async def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Limit the request's body; Refusal if it is too large or too slow."""
        is_upload = scope["path"] == UPLOAD_PATH
        most = self._limits.upload_bytes if is_upload else self._limits.body_bytes
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared[:20]) > most:
            raise too_large(most)
        if is_upload:
            return _counted(receive, most)
        if scope["method"] in NO_BODY and declared == "0":
            return receive
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                return await _read_ahead(receive, most)
        except TimeoutError as error:
            raise too_slow() from error


def _counted(receive: Receive, most: int) -> Receive:
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise too_large(most)
        return message

    return counting


async def _read_ahead(receive: Receive, most: int) -> Receive:
    counting = _counted(receive, most)
    messages: list[Message] = []
    while not messages or messages[-1].get("more_body", False):
        messages.append(await counting())
    pending = iter(messages)

    async def replaying() -> Message:
        return next(pending, None) or await receive()

    return replaying
