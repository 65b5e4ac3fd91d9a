"""Serve sounds: to annotators by view and part, to owners by id.

Requests never contain paths. The same sound has another address and tag in each view, so a hidden repeat cannot be
recognised. The bytes sent are a copy without metadata (`cmi.arena.audio.playback`).
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, NamedTuple

import anyio
from fastapi import APIRouter, Request
from fastapi import Path as InPath
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from cmi.arena.audio import sounds
from cmi.arena.audio.originals import Original
from cmi.arena.audio.playback import MEDIA_TYPE
from cmi.arena.store.database import Database
from cmi.arena.store.views import Part, find_original
from cmi.arena.web.auth import Annotator, Reader
from cmi.arena.web.bodies import Id
from cmi.arena.web.refusals import Refusal, not_found
from cmi.arena.web.state import arena_of

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
LONGEST_HEADER = 64  # characters


class ByteSpan(NamedTuple):
    """Bytes `start` to `stop` (exclusive) of a file."""

    start: int
    stop: int


class Unsatisfiable(Exception):
    """No byte of the range is in the file."""


def requested_span(header: str | None, size: int) -> ByteSpan | None:
    """Parse a Range header; None means all bytes."""
    if header is None or len(header) > LONGEST_HEADER:
        return None
    found = _ONE.fullmatch(header.strip())
    if found is None:
        return None
    first, last = found.groups()
    if first:
        span = ByteSpan(int(first), min(size, int(last) + 1) if last else size)
        if last and int(last) < int(first):
            return None
    elif last:
        span = ByteSpan(max(0, size - int(last)), size)
    else:
        return None
    if span.start >= span.stop:
        raise Unsatisfiable
    return span


CHUNK = 256 * 1024  # bytes

router = APIRouter()


@router.get("/media/{view}/{part}", response_class=Response)
async def media(
    request: Request, session: Annotator, view: Annotated[Id, InPath()], part: Annotated[Part, InPath()]
) -> Response:
    """Serve a sound of the caller's view, or the range requested."""
    original = await arena_of(request).run(_find, session.person, view, part)
    return await _answer(request, original, f'"{view}-{part}"')


@router.get("/media/{sound}", response_class=Response)
async def media_by_id(request: Request, session: Reader, sound: Annotated[Id, InPath()]) -> Response:
    """Serve a sound of the caller's project to its owners and observers."""
    original = await run_in_threadpool(sounds.find, arena_of(request).database, session.project, sound)
    return await _answer(request, original, f'"{sound}"')


def _find(database: Database, person: str, view: str, part: Part) -> Original:
    with database.reading() as connection:
        return find_original(connection, person, view, part)


async def _answer(request: Request, original: Original, tag: str) -> Response:
    """`tag` always stands for the same bytes, because copies are made only from the imported file."""
    path = await run_in_threadpool(arena_of(request).copies.find, original)
    try:
        size = (await run_in_threadpool(os.stat, path)).st_size
    except OSError as error:
        raise not_found() from error
    headers = {"accept-ranges": "bytes", "etag": tag, "cache-control": "private, max-age=3600"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    try:
        wanted = request.headers.get("range") if request.headers.get("if-range", tag) == tag else None
        span = requested_span(wanted, size)
    except Unsatisfiable as error:
        message = "The sound has no such part."
        raise Refusal(416, "range", message, {"content-range": f"bytes */{size}"}) from error
    start, stop = span or ByteSpan(0, size)
    headers["content-length"] = str(stop - start)
    if span is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{size}"
    return StreamingResponse(_read(path, start, stop), 200 if span is None else 206, headers, MEDIA_TYPE)


async def _read(path: Path, start: int, stop: int) -> AsyncIterator[bytes]:
    async with await anyio.open_file(path, "rb") as file:
        await file.seek(start)
        while start < stop and (chunk := await file.read(min(CHUNK, stop - start))):
            yield chunk
            start += len(chunk)
