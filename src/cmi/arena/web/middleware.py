"""Middleware in front of every route: checks host, origin, rate and size of requests, and sets response headers.

Bodies are counted as they arrive. A JSON body is read here, within its
limits; an upload is only counted, because it is streamed to a file. Errors become JSON that a page can show.
"""

import logging

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope

from cmi._util.errors import HttpRefusal
from cmi._util.files import DISK_FULL
from cmi._util.web_requests import (
    RequestGuard,
    as_refusal,
    counted,
    declared_bytes,
    host_name,
    read_ahead,
    refusal_response,
)
from cmi.arena.store.errors import DiskFull, NotFound, Refused, Unavailable
from cmi.arena.web import security
from cmi.arena.web.languages import preferred_language, write_sentence
from cmi.arena.web.limits import RateLimiter, address_key
from cmi.arena.web.state import ServerSettings

UPLOAD_PATH = "/api/owner/sounds"
COSTLY = ("/api/", "/media/")
PAGE_COST = 0.1  # of a page or script from memory; opening the pages requests about forty
NO_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})

log = logging.getLogger("cmi.arena")


class ArenaMiddleware(RequestGuard):
    """The arena's guard."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        super().__init__(app, log.name, security.response_headers(settings.public_url))
        self._limits = settings.limits
        self._hosts = security.own_hosts(settings.public_url)
        self._origins = security.own_origins(settings.public_url)
        self._addresses = RateLimiter(settings.limits.address, "address", settings.shared)

    def respond(self, error: Exception, scope: Scope) -> Response:
        return respond(error, scope)

    async def admit(self, scope: Scope, receive: Receive) -> Receive:
        self._check(scope)
        return await self._limited(scope, receive)

    def _check(self, scope: Scope) -> None:
        client = scope.get("client")
        cost = 1.0 if scope["path"].startswith(COSTLY) else PAGE_COST
        self._addresses.require(address_key(client[0] if client else None), cost)
        headers = Headers(scope=scope)
        if host_name(headers.get("host", "")) not in self._hosts:
            raise Refused("host", "this server does not serve that host name", 421)
        if scope["method"] not in security.SAFE_METHODS and not security.is_own_origin(headers, self._origins):
            raise Refused("origin", "this request does not come from a page of the arena", 403)

    async def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Limit the request's body; Refused if it is too large or too slow."""
        is_upload = scope["path"] == UPLOAD_PATH
        most = self._limits.upload_bytes if is_upload else self._limits.body_bytes
        declared = declared_bytes(scope, most)
        if is_upload:
            return counted(receive, most)
        if scope["method"] in NO_BODY and not declared:
            return receive
        return await read_ahead(receive, most, self._limits.body_seconds)


def respond(error: Exception, scope: Scope) -> Response:
    """An error as JSON: a code for the page and a sentence for the person, in the language that the request prefers.

    A browser that opens an unknown address gets a page.
    """
    refused = _as_refusal(error)
    headers = Headers(scope=scope)
    if refused.status == 404 and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
        page = scope["app"].state.arena.files["lost.html"]
        return Response(page.content, 404, media_type=page.media_type)
    sentence = write_sentence(str(refused), preferred_language(headers.get("accept-language", "")))
    return refusal_response(HttpRefusal(refused.code, sentence, refused.status, refused.headers))


def _as_refusal(error: Exception) -> HttpRefusal:
    if isinstance(error, NotFound):
        return Refused("not found", "there is nothing at this address", 404)
    if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in DISK_FULL):
        log.error("%s", error)
        message = "the server's disk is full, so this was not saved. Send it again when there is space"
        return Refused("full", message, 503, {"retry-after": "30"})
    if isinstance(error, Unavailable):
        log.error("%s", error)
        message = "the database cannot be reached at the moment: try again soon"
        return Refused("unavailable", message, 503, {"retry-after": "2"})
    return as_refusal(error)
