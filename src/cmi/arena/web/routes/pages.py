"""Serve the pages and scripts, which are read into a table at the start, so requests never name a path."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from cmi._util.wheels import Wheel, find_wheel, read_wheel
from cmi.arena.store.errors import NotFound
from cmi.arena.web.auth import Visitor
from cmi.arena.web.state import Arena, PageFile, ThisArena

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


PAGES = Path(__file__).parents[1] / "pages"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
HOMES = {"annotator": "/annotate", "owner": "/owner", "observer": "/owner"}
REVALIDATE = "no-cache"  # revalidate, so that an upgraded server does not meet old scripts


def read_files(player: Mapping[str, bytes]) -> dict[str, PageFile]:
    """Read all served files by path below PAGES, and the player's. Pages are put into the shell that they share."""
    found = {path.relative_to(PAGES).as_posix(): path.read_bytes() for path in PAGES.rglob("*") if path.suffix in TYPES}
    shell = found.pop("shell.html")
    for name, content in found.items():
        if name.endswith(".html"):
            head, _, body = content.partition(b"<body>\n")
            found[name] = shell.replace(b"<!-- head -->\n", head).replace(b"<!-- body -->\n", body)
    return {name: _page_file(name, content) for name, content in (found | dict(player)).items()}


def _page_file(name: str, content: bytes) -> PageFile:
    return PageFile(content, TYPES[Path(name).suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


router = APIRouter(include_in_schema=False)


@router.get("/")
async def home(request: Request, arena: ThisArena, session: Visitor) -> Response:
    """Redirect to the pages of the visitor's role, or serve the front page."""
    if session is None:
        return _serve(request, arena, "index.html")
    return RedirectResponse(HOMES[session.role], 303, {"cache-control": "no-store"})


@router.get("/join")
@router.get("/annotate")
@router.get("/owner")
async def page(request: Request, arena: ThisArena) -> Response:
    return _serve(request, arena, f"{request.url.path.removeprefix('/')}.html")


@router.get("/enter")
async def enter(request: Request, arena: ThisArena) -> Response:
    """Serve the page for people from recruiting platforms; the parameters of the link are read by its script."""
    return _serve(request, arena, "join.html")


@router.get("/static/{name:path}")
async def static(request: Request, arena: ThisArena, name: str) -> Response:
    return _serve(request, arena, "" if name.endswith(".html") else name)


def _serve(request: Request, arena: Arena, name: str) -> Response:
    file = arena.files.get(name)
    if file is None:
        raise NotFound("there is no such page")
    headers = {"etag": file.tag, "cache-control": REVALIDATE}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)
