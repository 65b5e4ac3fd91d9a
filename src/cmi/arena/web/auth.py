"""Authentication: the session behind a request's cookie, and what its role may do.

Every API route that needs a session takes one of the roles below as a parameter. This checks the session, the role, the
person's request rate and, for requests that change something, the CSRF token, so no route can forget one of them.
"""

from collections.abc import Collection
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from cmi.arena.store.errors import Refused
from cmi.arena.store.people import Session
from cmi.arena.web import security
from cmi.arena.web.state import ThisArena


async def find_session(request: HTTPConnection, arena: ThisArena) -> Session | None:
    """The session that the request's cookie names, if there is one."""
    token = request.cookies.get(arena.cookie)
    return await arena.sessions.find(token) if security.plausible_token(token) else None


Visitor = Annotated[Session | None, Depends(find_session)]


def why_not(request: HTTPConnection, session: Session, roles: Collection[str]) -> Refused | None:
    """Why a session may not make the request, or None."""
    changes = request.scope["method"] not in security.SAFE_METHODS
    if changes and not security.equal(request.headers.get(security.CSRF_HEADER), session.csrf):
        return Refused("csrf", "the page is out of date: reload it and try again", 403)
    if session.role not in roles:
        return Refused("role", "your role does not allow this")
    return None


class RequireRole:
    def __init__(self, *roles: str) -> None:
        self._roles = frozenset(roles)

    async def __call__(self, request: Request, arena: ThisArena, session: Visitor) -> Session:
        if session is None:
            raise Refused("session", "you are not signed in: open your invitation link again", 401)
        arena.person_rate.require(session.person)
        if refused := why_not(request, session, self._roles):
            raise refused
        return session


Anyone = Annotated[Session, Depends(RequireRole("owner", "observer", "annotator"))]
Annotator = Annotated[Session, Depends(RequireRole("annotator"))]
Reader = Annotated[Session, Depends(RequireRole("owner", "observer"))]
Owner = Annotated[Session, Depends(RequireRole("owner"))]
