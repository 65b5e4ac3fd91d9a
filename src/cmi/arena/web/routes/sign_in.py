"""Routes for invitations, sessions and withdrawal."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from cmi.arena.store import assign, people, projects, recruit, trials
from cmi.arena.web import security
from cmi.arena.web.auth import Anyone
from cmi.arena.web.bodies import Confirm, InviteToken, Join
from cmi.arena.web.limits import address_key
from cmi.arena.web.state import Arena, ThisArena, ThisDatabase

PROJECT_SETTINGS = ("heard_share", "heard_most", "level_matched")  # needed by the annotator's page


async def limit_attempts(request: Request, arena: ThisArena) -> None:
    """Refuse an address that tries many invitations."""
    arena.sign_in_rate.require(address_key(request.client.host if request.client else None))


router = APIRouter(prefix="/api")


@router.post("/invite", dependencies=[Depends(limit_attempts)])
def look_at_invite(database: ThisDatabase, body: InviteToken) -> dict[str, Any]:
    """Describe an invitation before it is used."""
    project, role = people.look_at_invite(database, body.token)
    shown = {"consent": project.consent, "role": role, "language": project.settings.language}
    return {"project": {"id": project.id, "title": project.title, "kind": project.kind}, **shown}


@router.post("/join", dependencies=[Depends(limit_attempts)])
def join(arena: ThisArena, response: Response, body: Join) -> dict[str, Any]:
    """Use an invitation and set the session cookie."""
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
def me(database: ThisDatabase, session: Anyone) -> dict[str, Any]:
    """Return the signed-in person, project and progress."""
    project = projects.get(database, session.project)
    progress = assign.progress if project.kind == "pairs" else trials.read_progress
    return {
        "person": {"id": session.person, "role": session.role, "name": session.name, "state": session.state},
        "project": {
            "id": project.id,
            "title": project.title,
            "state": project.state,
            "language": project.settings.language,
            "consent": project.consent,
            "kind": project.kind,
            "settings": {name: getattr(project.settings, name) for name in PROJECT_SETTINGS},
        },
        "csrf": session.csrf,
        "progress": progress(database, session.person)._asdict(),
    }


@router.post("/sign-out")
def sign_out(request: Request, arena: ThisArena, response: Response, session: Anyone) -> dict[str, bool]:
    """End this session. The person's votes stay."""
    people.sign_out(arena.database, request.cookies[arena.cookie])
    _leave(arena, response)
    return {"signed_out": True}


@router.post("/sign-out-everywhere")
def sign_out_everywhere(arena: ThisArena, response: Response, session: Anyone, body: Confirm) -> dict[str, bool]:
    """End all sessions of the caller, on other devices too. Their votes stay; a new link brings them back."""
    people.end_sessions(arena.database, session.project, session.person)
    _leave(arena, response)
    return {"signed_out": True}


@router.post("/withdraw")
def withdraw(arena: ThisArena, response: Response, session: Anyone, body: Confirm) -> dict[str, Any]:
    """Leave the study: name, sessions and votes are deleted."""
    end = recruit.exit_of(arena.database, session.person, "returned")
    people.withdraw(arena.database, session.project, session.person)
    _leave(arena, response)
    return {"withdrawn": True, "exit": end._asdict()}


def _leave(arena: Arena, response: Response) -> None:
    arena.sessions.forget()
    security.clear_cookie(response, arena.cookie, arena.settings.public_url)
