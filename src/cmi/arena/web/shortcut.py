"""Answer the three requests of every vote without FastAPI, which takes longer than all the rest of such a request.

Only requests in order are answered here, by the same functions as the routes. All others go to the routes, which say
what is wrong with them.
"""

import re

from pydantic import ValidationError
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cmi._util.web_requests import replay
from cmi.arena.store.people import Session
from cmi.arena.web import auth
from cmi.arena.web.bodies import VoteBody
from cmi.arena.web.routes import annotate
from cmi.arena.web.state import Arena

_PATH = re.compile(r"/api/(?:next|views/([A-Za-z0-9_-]{1,64})/(begin|vote))", re.ASCII)


class VotingShortcut:
    def __init__(self, app: ASGIApp, arena: Arena) -> None:
        self._app = app
        self._arena = arena

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = None
        path = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if path is not None and scope["method"] == ("POST" if path[2] else "GET"):
            response, receive = await self._try(HTTPConnection(scope), receive, path[1], path[2])
        await (response or self._app)(scope, receive, send)

    async def _try(
        self, connection: HTTPConnection, receive: Receive, view: str | None, step: str | None
    ) -> tuple[Response | None, Receive]:
        """The answer, if the request is in order, and what is left to receive."""
        session = await auth.find_session(connection, self._arena)
        if session is None or auth.why_not(connection, session, ("annotator",)):
            return None, receive
        body = None
        if step == "vote":
            body, receive = await _read_ballot(connection, receive)
            if body is None:
                return None, receive
        self._arena.person_rate.require(session.person)
        return await self._answer(session, view, body), receive

    async def _answer(self, session: Session, view: str | None, body: VoteBody | None) -> Response:
        if view is None:
            return await annotate.next_view(self._arena, session)
        if body is None:
            return await annotate.begin(self._arena, session, view)
        return await annotate.vote(self._arena, session, view, body)


async def _read_ballot(connection: HTTPConnection, receive: Receive) -> tuple[VoteBody | None, Receive]:
    """The ballot, or None if it is not one, and a way to receive it again."""
    messages: list[Message] = []
    while not messages or messages[-1].get("more_body", False):
        messages.append(await receive())
    again = replay(messages, receive)
    if connection.headers.get("content-type") != "application/json":
        return None, again
    try:
        return VoteBody.model_validate_json(b"".join(message.get("body", b"") for message in messages)), again
    except ValidationError:
        return None, again
