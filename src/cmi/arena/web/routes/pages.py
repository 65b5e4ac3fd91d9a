"""Serve the pages and scripts, which are read into a table at the start, so requests never name a path."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from cmi._util.wheels import Wheel, find_wheel, read_wheel
from cmi.arena.web.auth import find_session
from cmi.arena.web.refusals import not_found
from cmi.arena.web.state import PageFile, arena_of

WHEEL = Wheel(
    "wavesurfer",
    "0.3.9",
    "17fe610b68d4a64f65ca153046a668445b81d19ca90e64c0214be83a078dc6bf",
    "the waveform player",
    0.2,
)
FILES = {
    "wavesurfer.js": "wavesurfer/js/wavesurfer.min.js",
    "wavesurfer-regions.js": "wavesurfer/js/plugins/regions.min.js",
    "wavesurfer-licence.txt": "wavesurfer/js/vendor-licenses/wavesurfer.js.LICENSE",
}


def read_player(folder: Path | None = None) -> dict[str, bytes]:
    """Read the player's files by served name, downloading them to `folder` (by default the cache) if necessary."""
    content = read_wheel(WHEEL, find_wheel(WHEEL, folder))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(inside) for name, inside in FILES.items()}


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
REVALIDATE = "no-cache"  # revalidate, so that an upgraded server does not meet old scripts


def read_files(pages: Path, player: Mapping[str, bytes]) -> dict[str, PageFile]:
    """Read all served files by path below `pages`, and the player's files."""
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
    """Redirect to the pages of the visitor's role, or serve the front page."""
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
