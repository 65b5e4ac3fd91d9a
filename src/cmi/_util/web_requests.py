"""Guard a web application: which requests reach it, how large and slow they may be, and how a refusal is answered."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cmi._util.errors import HttpRefusal, InputError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
SHOWN_DETAIL = 200  # characters
NO_STORE = (b"cache-control", b"no-store")


def too_large(most_bytes: int) -> HttpRefusal:
    message = f"this is larger than {most_bytes:,} bytes, the maximum"
    return HttpRefusal("too large", message, 413, {"connection": "close"})


def declared_bytes(scope: Scope, most: int) -> int:
    """The length that a request states for its body, 0 if it states none; HttpRefusal if it is above `most`."""
    declared = Headers(scope=scope).get("content-length", "0")
    if not (declared.isascii() and declared.isdecimal()) or int(declared[:20]) > most:
        raise too_large(most)
    return int(declared)


@asynccontextmanager
async def arriving_within(seconds: float) -> AsyncIterator[None]:
    """HttpRefusal if the block, which receives a request, takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        message = "the request took too long to arrive; try again"
        raise HttpRefusal("too slow", message, 408, {"connection": "close"}) from error


def counted(receive: Receive, most: int) -> Receive:
    """Limit the number of bytes of a request's body."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise too_large(most)
        return message

    return counting


async def read_ahead(receive: Receive, most: int, seconds: float) -> Receive:
    """Receive the whole body within its limits, and hand it out again."""
    counting = counted(receive, most)
    messages: list[Message] = []
    async with arriving_within(seconds):
        while not messages or messages[-1].get("more_body", False):
            messages.append(await counting())
    return replay(messages, receive)


def replay(messages: list[Message], receive: Receive) -> Receive:
    """Receive messages that were read before, and then what follows."""
    pending = iter(messages)

    async def replaying() -> Message:
        return next(pending, None) or await receive()

    return replaying


def host_name(host: str) -> str:
    """The name in a Host header, in lower case and without its port."""
    host = host.lower()
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0]


def as_refusal(error: Exception) -> HttpRefusal:
    """Convert an exception of a route to a refusal; unexpected ones become a 500 without details."""
    if isinstance(error, HttpRefusal):
        return error
    if isinstance(error, HTTPException) and error.status_code == 404:
        return HttpRefusal("not found", "there is nothing at this address", 404)
    if isinstance(error, HTTPException):
        return HttpRefusal("request", str(error.detail), error.status_code, error.headers)
    if isinstance(error, RequestValidationError):  # the first invalid field, without echoing what was sent
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return HttpRefusal("request", f"{where}: {first['msg']}"[:SHOWN_DETAIL], 422)
    if isinstance(error, InputError):
        return HttpRefusal("request", str(error), 422)
    return HttpRefusal("server", "something went wrong on the server: try again", 500)


def refusal_response(refusal: HttpRefusal) -> JSONResponse:
    """A refusal as JSON: a code for programs and a sentence for people."""
    return JSONResponse({"code": refusal.code, "message": str(refusal)}, refusal.status, refusal.headers)


class RequestGuard:
    """Middleware that passes a request on to `app`, or answers it; each is logged without address and query string.

    It is plain ASGI, so it cannot be bypassed. `log` names the logger of faults; that of requests is `log`.access.
    """

    def __init__(self, app: ASGIApp, log: str, headers: Mapping[str, str]) -> None:
        self._app = app
        self._log, self._access_log = logging.getLogger(log), logging.getLogger(f"{log}.access")
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._set = {name for name, _ in self._headers}

    async def admit(self, scope: Scope, receive: Receive) -> Receive:
        """Check a request and limit its body; HttpRefusal if it is not served."""
        raise NotImplementedError

    def respond(self, error: Exception, scope: Scope) -> Response:
        return refusal_response(as_refusal(error))

    def finish(self, scope: Scope, status: int, seconds: float) -> None:
        """Called when a request has been answered."""

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
                kept = [header for header in message["headers"] if header[0] not in self._set]
                uncached = [] if any(name == b"cache-control" for name, _ in kept) else [NO_STORE]
                message["headers"] = [*kept, *uncached, *self._headers]
            await send(message)

        try:
            await self._app(scope, await self.admit(scope, receive), send_with_headers)
        except Exception as error:
            response = self.respond(error, scope)
            if status or response.status_code == 500:
                self._log.exception("%s %s failed", scope["method"], scope["path"])
            if status:  # the response has begun and can only be aborted
                raise
            await response(scope, receive, send_with_headers)
        finally:
            took = time.perf_counter() - begin
            self.finish(scope, status, took)
            self._access_log.info("%s %s %d %.0f ms", scope["method"], scope["path"], status, 1000 * took)
