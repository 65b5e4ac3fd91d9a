"""Authentication: the session behind a request's cookie, and what its role may do.

Every API route that needs a session takes one of the roles below as a parameter. This checks the session, the role, the
person's request rate and, for requests that change something, the CSRF token, so no route can forget one of them.
"""

from typing import Annotated

from fastapi import Depends, Request

from cmi.arena.store.people import Session
from cmi.arena.web import security
from cmi.arena.web.refusals import Refusal, too_often
from cmi.arena.web.state import arena_of


async def find_session(request: Request) -> Session | None:
    """The session that the request's cookie names, if there is one."""
    token = request.cookies.get(arena_of(request).cookie)
    if token is None or not security.plausible_token(token):
        return None
    return await arena_of(request).sessions.find(token)


class RequireRole:
    def __init__(self, *roles: str) -> None:
        self._roles = frozenset(roles)

    async def __call__(self, request: Request) -> Session:
        session = await find_session(request)
        if session is None:
            raise Refusal(401, "session", "You are not signed in: open your invitation link again.")
        if wait := arena_of(request).person_rate.seconds_to_wait(session.person):
            raise too_often(wait)
        changes = request.method not in security.SAFE_METHODS
        if changes and not security.equal(request.headers.get(security.CSRF_HEADER), session.csrf):
            raise Refusal(403, "csrf", "The page is out of date: reload it and try again.")
        if session.role not in self._roles:
            raise Refusal(403, "role", "Your role does not allow this.")
        return session


Anyone = Annotated[Session, Depends(RequireRole("owner", "observer", "annotator"))]
Annotator = Annotated[Session, Depends(RequireRole("annotator"))]
Reader = Annotated[Session, Depends(RequireRole("owner", "observer"))]
Owner = Annotated[Session, Depends(RequireRole("owner"))]
