"""The pages and their scripts, read once at the start: a request names a key of a table, never a path."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from cmi.arena.web.auth import find_session
from cmi.arena.web.refusals import not_found
from cmi.arena.web.state import PageFile, arena_of

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
HOMES = {"annotator": "/annotate", "owner": "/owner", "observer": "/owner"}
REVALIDATE = "no-cache"  # kept, but asked about: an upgraded server must not meet scripts of the old one


def read_files(pages: Path, player: Mapping[str, bytes]) -> dict[str, PageFile]:
    """What can be asked for, by its path below `pages`, with the player's files beside."""
    found = {
        path.relative_to(pages).as_posix(): path.read_bytes()
        for path in sorted(pages.rglob("*"))
        if path.is_file() and path.suffix in TYPES
    }
    return {name: _page_file(name, content) for name, content in (found | dict(player)).items()}


def _page_file(name: str, content: bytes) -> PageFile:
    return PageFile(content, TYPES[Path(name).suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


router = APIRouter(include_in_schema=False)


@router.get("/")
async def home(request: Request) -> Response:
    """Where the visitor belongs: to the pages of their role, or to the front page."""
    session = await find_session(request)
    if session is None:
        return _serve(request, "index.html")
    return RedirectResponse(HOMES[session.role], 303, {"cache-control": "no-store"})


@router.get("/join")
@router.get("/annotate")
@router.get("/owner")
async def page(request: Request) -> Response:
    return _serve(request, f"{request.url.path.removeprefix('/')}.html")


@router.get("/static/{name:path}")
async def static(request: Request, name: str) -> Response:
    if name.endswith(".html"):
        raise not_found()
    return _serve(request, name)


def _serve(request: Request, name: str) -> Response:
    file = arena_of(request).files.get(name)
    if file is None:
        raise not_found()
    headers = {"etag": file.tag, "cache-control": REVALIDATE}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
