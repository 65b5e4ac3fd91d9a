"""The arena over HTTP: routes, and the middleware in front of them."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from cmi.arena.store.database import Database
from cmi.arena.web.middleware import ArenaMiddleware, respond
from cmi.arena.web.routes import annotate, browse, media, owner, pages, ratings, recruit, results, sign_in
from cmi.arena.web.shortcut import VotingShortcut
from cmi.arena.web.state import Arena, ServerSettings


def create_app(database: Database, settings: ServerSettings) -> FastAPI:
    """Create the ASGI application; closing the database is up to the caller."""
    app = FastAPI(title="cmi arena", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.arena = Arena(database, settings, pages.read_files(settings.player))
    for module in (sign_in, recruit, annotate, ratings, media, owner, browse, results, pages):
        app.include_router(module.router)
    app.add_api_route("/healthz", _healthy, include_in_schema=False)
    app.add_middleware(VotingShortcut, arena=app.state.arena)
    app.add_middleware(ArenaMiddleware, settings=settings)  # the last one is in front
    for kind in (RequestValidationError, HTTPException):  # the others go up to the middleware
        app.add_exception_handler(kind, lambda request, error: respond(error, request.scope))
    return app


async def _healthy() -> dict[str, bool]:
    """Health check."""
    return {"ok": True}
