"""Routes for owners: project, people, invitations, sounds and pairs. Observers may read.

Every id in a request is looked up within the caller's own project.
"""

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from cmi.arena.audio import originals, uploads
from cmi.arena.store import pairs, people, projects
from cmi.arena.store.database import Database
from cmi.arena.store.projects import Project
from cmi.arena.store.schema import audit, note
from cmi.arena.web.auth import Owner, Reader
from cmi.arena.web.bodies import Id, NewInvites, NewPairBody, NewProject, PersonChange, ProjectChange
from cmi.arena.web.middleware import UPLOAD_PATH
from cmi.arena.web.refusals import too_often
from cmi.arena.web.state import Arena, arena_of

MADE = "another project made"  # in the audit log
LINK_DAYS = 7.0  # validity of a link to return, or to a new project
MOST_PAIRS = 500  # in one answer
UPLOAD_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}

PersonId = Annotated[Id, InPath()]
InviteId = Annotated[Id, InPath()]

router = APIRouter(prefix="/api/owner")


@router.get("/project")
def project(request: Request, session: Reader) -> dict[str, Any]:
    return _project(projects.get(arena_of(request).database, session.project)) | {"role": session.role}


@router.patch("/project")
def change_project(request: Request, session: Owner, body: ProjectChange) -> dict[str, Any]:
    changed = projects.change(
        arena_of(request).database,
        session.project,
        state=body.state,
        settings=body.settings,
        title=body.title,
        consent=body.consent,
    )
    return _project(changed) | {"role": session.role}


@router.get("/projects")
def list_projects(request: Request, session: Reader) -> list[dict[str, Any]]:
    """List the caller's project and those made from it."""
    database = arena_of(request).database
    made_here = select(audit.c.subject).where((audit.c.project == session.project) & (audit.c.action == MADE))
    with database.reading() as connection:
        ours = {session.project, *connection.scalars(made_here)}
    return [
        {"id": found.id, "title": found.title, "state": found.state}
        for found in projects.list_all(database)
        if found.id in ours
    ]


@router.post("/projects", status_code=201)
def new_project(request: Request, session: Owner, body: NewProject) -> dict[str, Any]:
    """Create another project, and the link by which the caller becomes its owner."""
    arena = arena_of(request)
    made = projects.create(arena.database, body.title, body.settings, body.consent)
    with arena.database.writing() as connection:
        note(connection, arena.database.now(), session.project, MADE, made.id, {})
    invite = people.invite(arena.database, made.id, "owner", LINK_DAYS)[0]
    return {"project": {"id": made.id, "title": made.title}, "link": link(arena, invite.token)}


@router.get("/people")
def list_people(request: Request, session: Reader) -> list[dict[str, Any]]:
    return [_person(person) for person in people.list_people(arena_of(request).database, session.project)]


@router.patch("/people/{person}")
def change_person(request: Request, session: Owner, person: PersonId, body: PersonChange) -> dict[str, Any]:
    arena = arena_of(request)
    changed = people.change(arena.database, session.project, person, **body.model_dump(exclude_unset=True))
    arena.sessions.forget()
    return _person(changed)


@router.post("/people/{person}/withdraw")
def withdraw_person(request: Request, session: Owner, person: PersonId) -> dict[str, bool]:
    """Withdraw a person: delete their votes, sessions and name."""
    arena = arena_of(request)
    people.withdraw(arena.database, session.project, person)
    arena.sessions.forget()
    return {"withdrawn": True}


@router.post("/people/{person}/sign-out")
def sign_out_person(request: Request, session: Owner, person: PersonId) -> dict[str, int]:
    """End all sessions of a person: they need a new link to come back."""
    arena = arena_of(request)
    ended = people.end_sessions(arena.database, session.project, person)
    arena.sessions.forget()
    return {"sessions": ended}


@router.post("/people/{person}/link")
def link_person(request: Request, session: Owner, person: PersonId) -> dict[str, Any]:
    """Make a link for a person who lost the cookie, and end their old sessions."""
    arena = arena_of(request)
    invite = people.invite_again(arena.database, session.project, person, LINK_DAYS)
    arena.sessions.forget()
    return {"link": link(arena, invite.token), "expires": invite.expires}


@router.get("/invites")
def list_invites(request: Request, session: Reader) -> list[dict[str, Any]]:
    return [invite._asdict() for invite in people.list_invites(arena_of(request).database, session.project)]


@router.post("/invites", status_code=201)
def new_invites(request: Request, session: Owner, body: NewInvites) -> list[dict[str, Any]]:
    """Create links, which are shown only once: only their hashes are stored."""
    arena = arena_of(request)
    made = people.invite(arena.database, session.project, body.role, body.days, body.quota, body.count)
    return [{"id": one.id, "link": link(arena, one.token), "expires": one.expires} for one in made]


@router.delete("/invites/{invite}")
def revoke_invite(request: Request, session: Owner, invite: InviteId) -> dict[str, bool]:
    people.revoke(arena_of(request).database, session.project, invite)
    return {"revoked": True}


@router.post(UPLOAD_PATH.removeprefix(router.prefix), status_code=201, openapi_extra=UPLOAD_FORM)
async def upload_sound(request: Request, session: Owner) -> dict[str, Any]:
    """Store a sound; its body is read only after the caller is known."""
    arena = arena_of(request)
    if wait := arena.upload_rate.seconds_to_wait(session.person):
        raise too_often(wait)
    async with arena.uploads.receive(request) as (decoded, measured):
        sound = await run_in_threadpool(uploads.keep, arena.database, session.project, decoded, measured)
    return {"id": sound, "seconds": measured.seconds}


@router.get("/sounds/problems")
def list_problems(request: Request, session: Reader) -> list[dict[str, Any]]:
    """List missing or changed sounds by file name, with the pairs that need them."""
    return _problems(arena_of(request).database, session.project)


@router.post("/sounds/check")
def check_sounds(request: Request, session: Owner) -> list[dict[str, Any]]:
    """Check all files again and list the remaining problems."""
    database = arena_of(request).database
    for _ in originals.check(database, session.project, thoroughly=False):
        pass
    return _problems(database, session.project)


def _problems(database: Database, project: str) -> list[dict[str, Any]]:
    return [
        {"id": one.sound, "file": one.path.name, "problem": one.problem, "pairs": one.pairs}
        for one in originals.troubles(database, project)
    ]


@router.get("/pairs")
def list_pairs(
    request: Request,
    session: Reader,
    after: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1,
    limit: Annotated[int, Query(ge=1, le=MOST_PAIRS)] = 100,
) -> dict[str, Any]:
    """List pairs in order, after a position."""
    database = arena_of(request).database
    page = pairs.page(database, session.project, after, limit)
    following = page[-1].position if len(page) == limit else None
    return {
        "pairs": [pair._asdict() for pair in page],
        "after": following,
        "total": pairs.count(database, session.project),
    }


@router.post("/pairs", status_code=201)
def new_pair(request: Request, session: Owner, body: NewPairBody) -> dict[str, Any]:
    """Add a pair of two uploaded sounds."""
    database = arena_of(request).database
    study = projects.get(database, session.project).settings
    new = pairs.NewPair(source_id=secrets.token_urlsafe(16), **body.model_dump())
    with database.writing() as connection:
        pair = pairs.add(connection, session.project, study, new)
        note(connection, database.now(), session.project, "pair added", pair, {})
    return {"id": pair}


def link(arena: Arena, token: str) -> str:
    """An invitation's address. The token is in the fragment, which no server logs."""
    return f"{arena.settings.public_url.rstrip('/')}/join#{token}"


def _project(project: Project) -> dict[str, Any]:
    return project._asdict() | {"settings": project.settings.as_json()}


def _person(person: people.Person) -> dict[str, Any]:
    shown = ("id", "role", "name", "state", "quota", "consented", "created", "votes")
    return {name: getattr(person, name) for name in shown}
