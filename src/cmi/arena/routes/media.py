"""Sounds, played by their opaque ids: the database says where a file lies, no part of a request does."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import anyio
from fastapi import APIRouter, Request
from fastapi import Path as InPath
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from cmi.arena import sounds
from cmi.arena.bodies import Id
from cmi.arena.door import Anyone
from cmi.arena.ranges import Span, Unsatisfiable, requested_span
from cmi.arena.refusals import Refusal, not_found
from cmi.arena.state import arena_of

PLAYED = frozenset({"audio/wav", "audio/flac", "audio/mpeg", "audio/ogg", "audio/mp4"})
OTHER = "application/octet-stream"
CHUNK = 256 * 1024  # bytes

router = APIRouter()


@router.get("/media/{sound}", response_class=Response)
async def media(request: Request, session: Anyone, sound: Annotated[Id, InPath()]) -> Response:
    """A sound of the caller's own project, or the part of it that a Range header asks for."""
    located = await run_in_threadpool(sounds.locate, arena_of(request).database, session.project, sound)
    try:
        size = (await run_in_threadpool(os.stat, located.path)).st_size
    except OSError as error:
        raise not_found() from error
    tag = f'"{sound}"'  # an id names the same bytes for ever
    headers = {"accept-ranges": "bytes", "etag": tag, "cache-control": "private, max-age=3600"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    try:
        wanted = request.headers.get("range") if request.headers.get("if-range", tag) == tag else None
        span = requested_span(wanted, size)
    except Unsatisfiable as error:
        message = "The sound has no such part."
        raise Refusal(416, "range", message, {"content-range": f"bytes */{size}"}) from error
    start, stop = span or Span(0, size)
    headers["content-length"] = str(stop - start)
    if span is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{size}"
    media_type = located.media_type if located.media_type in PLAYED else OTHER
    content = _read(located.path, start, stop)
    return StreamingResponse(content, 200 if span is None else 206, headers, media_type)


async def _read(path: Path, start: int, stop: int) -> AsyncIterator[bytes]:
    async with await anyio.open_file(path, "rb") as file:
        await file.seek(start)
        while start < stop and (chunk := await file.read(min(CHUNK, stop - start))):
            yield chunk
            start += len(chunk)
