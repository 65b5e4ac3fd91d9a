"""The arena over HTTP: routes, the middleware in front of them, and errors as JSON that a page can show."""

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from cmi._util.errors import InputError
from cmi._util.files import DISK_FULL
from cmi.arena.store.database import Database
from cmi.arena.store.errors import DiskFull, NotFound, Refused, Unavailable
from cmi.arena.web.middleware import ArenaMiddleware
from cmi.arena.web.refusals import Refusal, not_found
from cmi.arena.web.routes import annotate, media, owner, pages, results, sign_in
from cmi.arena.web.settings import ServerSettings
from cmi.arena.web.state import Arena

STATUS = {"role": 403, "withdrawn": 403, "consent": 403, "ballot": 422}  # of a refusal by the store; 409 otherwise
SHOWN_DETAIL = 200  # characters

log = logging.getLogger("cmi.arena")


def create_app(database: Database, settings: ServerSettings) -> FastAPI:
    """Create the ASGI application; closing the database is up to the caller."""
    app = FastAPI(title="cmi arena", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.arena = Arena(database, settings, pages.read_files(settings.pages, settings.player))
    for module in (sign_in, annotate, media, owner, results, pages):
        app.include_router(module.router)
    app.add_api_route("/healthz", _healthy, include_in_schema=False)
    app.add_middleware(ArenaMiddleware, settings=settings)
    app.add_exception_handler(Refusal, _refusal)
    app.add_exception_handler(InputError, _input_error)
    app.add_exception_handler(OSError, _os_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_exception)
    return app


async def _healthy() -> dict[str, bool]:
    """Health check."""
    return {"ok": True}


def _refusal(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)
    return error.response()


def _input_error(_: Request, error: Exception) -> JSONResponse:
    if isinstance(error, NotFound):
        return not_found().response()
    if isinstance(error, Refused):
        return Refusal(STATUS.get(error.code, 409), error.code, _sentence(str(error))).response()
    if isinstance(error, DiskFull):
        return _disk_full(error)
    if isinstance(error, Unavailable):
        log.error("%s", error)
        message = "The database can't be reached just now: try again in a moment."
        return Refusal(503, "unavailable", message, {"retry-after": "2"}).response()
    return Refusal(422, "request", _sentence(str(error))).response()


def _os_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OSError)
    if error.errno not in DISK_FULL:
        raise error
    return _disk_full(error)


def _disk_full(error: Exception) -> JSONResponse:
    log.error("%s", error)
    message = "The server's disk is full, so this was not saved. It can be sent again when there is room."
    return Refusal(503, "full", message, {"retry-after": "30"}).response()


def _invalid_request(_: Request, error: Exception) -> JSONResponse:
    """Name the first invalid field, without echoing what was sent."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "The request"
    return Refusal(422, "request", _sentence(f"{where}: {first['msg']}"[:SHOWN_DETAIL])).response()


def _http_exception(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return not_found().response()
    headers = dict(error.headers) if error.headers else None
    return Refusal(error.status_code, "request", _sentence(str(error.detail)), headers).response()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
