"""Routes for invitations, sessions and withdrawal."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from cmi.arena.store import assign, people, projects
from cmi.arena.web import security
from cmi.arena.web.auth import Anyone
from cmi.arena.web.bodies import Confirm, InviteToken, Join
from cmi.arena.web.rate_limit import address_key
from cmi.arena.web.refusals import too_often
from cmi.arena.web.state import Arena, arena_of

PROJECT_SETTINGS = ("heard_share", "heard_most", "level_matched")  # needed by the annotator's page


async def limit_attempts(request: Request) -> None:
    """Refuse an address that tries many invitations."""
    key = address_key(request.client.host if request.client else None)
    if wait := arena_of(request).sign_in_rate.seconds_to_wait(key):
        raise too_often(wait)


router = APIRouter(prefix="/api")


@router.post("/invite", dependencies=[Depends(limit_attempts)])
def look_at_invite(request: Request, body: InviteToken) -> dict[str, Any]:
    """Describe an invitation before it is used."""
    invite = people.look_at_invite(arena_of(request).database, body.token)
    return {
        "project": {"id": invite.project, "title": invite.title},
        "consent": invite.consent,
        "role": invite.role,
        "language": invite.language,
    }


@router.post("/join", dependencies=[Depends(limit_attempts)])
def join(request: Request, response: Response, body: Join) -> dict[str, Any]:
    """Use an invitation and set the session cookie."""
    arena = arena_of(request)
    signed_in = people.join(arena.database, body.token, body.name, body.consent)
    arena.sessions.forget()  # a returning person's old sessions have ended
    security.set_cookie(response, arena.cookie, signed_in.session_token, arena.settings.public_url)
    project = projects.get(arena.database, signed_in.project)
    return {
        "csrf": signed_in.csrf,
        "person": {"id": signed_in.person, "role": signed_in.role, "name": signed_in.name},
        "project": {"id": project.id, "title": project.title},
    }


@router.get("/me")
def me(request: Request, session: Anyone) -> dict[str, Any]:
    """Return the signed-in person, project and progress."""
    database = arena_of(request).database
    project = projects.get(database, session.project)
    settings = project.settings.as_json()
    return {
        "person": {"id": session.person, "role": session.role, "name": session.name, "state": session.state},
        "project": {
            "id": project.id,
            "title": project.title,
            "state": project.state,
            "language": project.settings.language,
            "consent": project.consent,
            "settings": {name: settings[name] for name in PROJECT_SETTINGS},
        },
        "csrf": session.csrf,
        "progress": assign.progress(database, session.person)._asdict(),
    }


@router.post("/sign-out")
def sign_out(request: Request, response: Response, session: Anyone) -> dict[str, bool]:
    """End this session. The person's votes stay."""
    arena = arena_of(request)
    people.sign_out(arena.database, request.cookies[arena.cookie])
    _leave(arena, response)
    return {"signed_out": True}


@router.post("/sign-out-everywhere")
def sign_out_everywhere(request: Request, response: Response, session: Anyone, body: Confirm) -> dict[str, bool]:
    """End all sessions of the caller, on other devices too. Their votes stay; a new link brings them back."""
    arena = arena_of(request)
    people.end_sessions(arena.database, session.project, session.person)
    _leave(arena, response)
    return {"signed_out": True}


@router.post("/withdraw")
def withdraw(request: Request, response: Response, session: Anyone, body: Confirm) -> dict[str, bool]:
    """Leave the study: name, sessions and votes are deleted."""
    arena = arena_of(request)
    people.withdraw(arena.database, session.project, session.person)
    _leave(arena, response)
    return {"withdrawn": True}


def _leave(arena: Arena, response: Response) -> None:
    arena.sessions.forget()
    security.clear_cookie(response, arena.cookie, arena.settings.public_url)
