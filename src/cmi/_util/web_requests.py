"""Refuse HTTP requests: what they may be in size and in the time they take to arrive, and how a refusal is answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope

from cmi._util.errors import HttpRefusal, InputError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
SHOWN_DETAIL = 200  # characters


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
    """Receive at most so many bytes."""
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
    """What a route raised, as a refusal; a fault of our own is a 500 that tells nothing."""
    if isinstance(error, HttpRefusal):
        return error
    if isinstance(error, HTTPException) and error.status_code == 404:
        return HttpRefusal("not found", "there is nothing under this name", 404)
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
