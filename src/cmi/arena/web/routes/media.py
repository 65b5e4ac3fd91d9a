"""Serve sounds: to annotators by view and part, to owners by id.

Requests never contain paths. The same sound has another address and tag in each view, so a hidden repeat cannot be
recognised. The bytes sent are a copy without metadata (`cmi.arena.audio.playback`).
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import anyio
from fastapi import APIRouter, Request
from fastapi import Path as InPath
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from cmi.arena.audio import sounds
from cmi.arena.audio.playback import MEDIA_TYPE
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.views import Original, Part, find_original
from cmi.arena.web.auth import Annotator, Reader
from cmi.arena.web.bodies import PathId
from cmi.arena.web.state import Arena, ThisArena

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
LONGEST_HEADER = 64  # characters
CHUNK = 256 * 1024  # bytes

router = APIRouter()


@router.get("/media/{view}/{part}", response_class=Response)
async def media(
    request: Request, arena: ThisArena, session: Annotator, view: PathId, part: Annotated[Part, InPath()]
) -> Response:
    """Serve a sound of the caller's view, or the range requested."""
    original = await arena.run(find_original, session.person, view, part)
    return await serve_sound(request, arena, original, f'"{view}-{part}"')


@router.get("/media/{sound}", response_class=Response)
async def media_by_id(request: Request, arena: ThisArena, session: Reader, sound: PathId) -> Response:
    """Serve a sound of the caller's project to its owners and observers."""
    original = await run_in_threadpool(sounds.find, arena.database, session.project, sound)
    return await serve_sound(request, arena, original, f'"{sound}"')


async def serve_sound(request: Request, arena: Arena, original: Original, tag: str) -> Response:
    """`tag` always stands for the same bytes, because copies are made only from the imported file."""
    path = await run_in_threadpool(arena.copies.find, original)
    try:
        size = (await run_in_threadpool(os.stat, path)).st_size
    except OSError as error:
        raise NotFound("this sound is gone") from error
    headers = {"accept-ranges": "bytes", "etag": tag, "cache-control": "private, max-age=3600"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    span = requested_bytes(request.headers.get("range", ""), size)
    if span is None or request.headers.get("if-range", tag) != tag:
        headers["content-length"] = str(size)
        return StreamingResponse(_read(path, 0, size), 200, headers, MEDIA_TYPE)
    if not span:
        raise Refused(
            "range", "the recording does not have the requested range", 416, {"content-range": f"bytes */{size}"}
        )
    headers["content-length"] = str(len(span))
    headers["content-range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
    return StreamingResponse(_read(path, span.start, span.stop), 206, headers, MEDIA_TYPE)


def requested_bytes(header: str, size: int) -> range | None:
    """The bytes that a Range header asks for, empty if the file has none of them; None means the whole file."""
    found = _ONE.fullmatch(header.strip()) if len(header) <= LONGEST_HEADER else None
    first, last = found.groups() if found else ("", "")
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)


async def _read(path: Path, start: int, stop: int) -> AsyncIterator[bytes]:
    async with await anyio.open_file(path, "rb") as file:
        await file.seek(start)
        while start < stop and (chunk := await file.read(min(CHUNK, stop - start))):
            yield chunk
            start += len(chunk)
