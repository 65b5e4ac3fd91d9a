"""Routes for owners: project, people, invitations and sounds. Observers may read.

Every id in a request is looked up within the caller's own project.
"""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from cmi.arena.audio import sounds
from cmi.arena.store import people, projects
from cmi.arena.store.database import Database
from cmi.arena.store.projects import Project
from cmi.arena.store.schema import audit, note
from cmi.arena.web import uploads
from cmi.arena.web.auth import Owner, Reader
from cmi.arena.web.bodies import NewInvites, NewProject, PathId, PersonChange, ProjectChange
from cmi.arena.web.middleware import UPLOAD_PATH
from cmi.arena.web.state import Address, ThisArena, ThisDatabase

MADE = "another project made"  # in the audit log
LINK_DAYS = 7.0  # validity of a link to return, or to a new project
_FILE = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
UPLOAD_FORM = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FILE}}}}

router = APIRouter(prefix="/api/owner")


@router.get("/project")
def project(database: ThisDatabase, session: Reader) -> dict[str, Any]:
    return _project(projects.get(database, session.project)) | {"role": session.role}


@router.patch("/project")
def change_project(database: ThisDatabase, session: Owner, body: ProjectChange) -> dict[str, Any]:
    changed = projects.change(database, session.project, **body.model_dump())
    return _project(changed) | {"role": session.role}


@router.get("/projects")
def list_projects(database: ThisDatabase, session: Reader) -> list[dict[str, Any]]:
    """List the caller's project and those made from it."""
    made_here = select(audit.c.subject).where((audit.c.project == session.project) & (audit.c.action == MADE))
    with database.reading() as connection:
        ours = {session.project, *connection.scalars(made_here)}
    return [
        {"id": found.id, "title": found.title, "state": found.state}
        for found in projects.list_all(database)
        if found.id in ours
    ]


@router.post("/projects", status_code=201)
def new_project(arena: ThisArena, address: Address, session: Owner, body: NewProject) -> dict[str, Any]:
    """Create another project, and the link by which the caller becomes its owner."""
    made = projects.create(arena.database, body.title, body.settings, body.consent)
    with arena.database.writing() as connection:
        note(connection, arena.database.now(), session.project, MADE, made.id, {})
    invite = people.invite(arena.database, made.id, "owner", LINK_DAYS)[0]
    return {"project": {"id": made.id, "title": made.title}, "link": invite.link(address)}


@router.get("/people")
def list_people(database: ThisDatabase, session: Reader) -> list[dict[str, Any]]:
    return [person._asdict() for person in people.list_people(database, session.project)]


@router.patch("/people/{person}")
def change_person(arena: ThisArena, session: Owner, person: PathId, body: PersonChange) -> dict[str, Any]:
    changed = people.change(arena.database, session.project, person, **body.model_dump(exclude_unset=True))
    arena.sessions.forget()
    return changed._asdict()


@router.post("/people/{person}/withdraw")
def withdraw_person(arena: ThisArena, session: Owner, person: PathId) -> dict[str, bool]:
    """Withdraw a person: delete their votes, sessions and name."""
    people.withdraw(arena.database, session.project, person)
    arena.sessions.forget()
    return {"withdrawn": True}


@router.post("/people/{person}/sign-out")
def sign_out_person(arena: ThisArena, session: Owner, person: PathId) -> dict[str, int]:
    """End all sessions of a person: they need a new link to come back."""
    ended = people.end_sessions(arena.database, session.project, person)
    arena.sessions.forget()
    return {"sessions": ended}


@router.post("/people/{person}/link")
def link_person(arena: ThisArena, address: Address, session: Owner, person: PathId) -> dict[str, Any]:
    """Make a link for a person who lost the cookie, and end their old sessions."""
    invite = people.invite_again(arena.database, session.project, person, LINK_DAYS)
    arena.sessions.forget()
    return {"link": invite.link(address), "expires": invite.expires}


@router.get("/invites")
def list_invites(database: ThisDatabase, session: Reader) -> list[dict[str, Any]]:
    return [invite._asdict() for invite in people.list_invites(database, session.project)]


@router.post("/invites", status_code=201)
def new_invites(arena: ThisArena, address: Address, session: Owner, body: NewInvites) -> list[dict[str, Any]]:
    """Create links, which are shown only once: only their hashes are stored."""
    made = people.invite(arena.database, session.project, body.role, body.days, body.quota, body.count)
    return [{"id": one.id, "link": one.link(address), "expires": one.expires} for one in made]


@router.delete("/invites/{invite}")
def revoke_invite(database: ThisDatabase, session: Owner, invite: PathId) -> dict[str, bool]:
    people.revoke(database, session.project, invite)
    return {"revoked": True}


@router.post(UPLOAD_PATH.removeprefix(router.prefix), status_code=201, openapi_extra=UPLOAD_FORM)
async def upload_sound(request: Request, arena: ThisArena, session: Owner) -> dict[str, Any]:
    """Store a sound; its body is read only after the caller is known."""
    arena.upload_rate.require(session.person)
    async with arena.uploads.receive(request) as (decoded, measured):
        sound = await run_in_threadpool(uploads.keep, arena.database, session.project, decoded, measured)
    return {"id": sound, "seconds": measured.seconds}


@router.get("/sounds/problems")
def list_problems(database: ThisDatabase, session: Reader) -> list[dict[str, Any]]:
    """List missing or changed sounds by file name, with the pairs that need them."""
    return _problems(database, session.project)


@router.post("/sounds/check")
def check_sounds(database: ThisDatabase, session: Owner) -> list[dict[str, Any]]:
    """Check all files again and list the remaining problems."""
    for _ in sounds.check(database, session.project, thoroughly=False):
        pass
    return _problems(database, session.project)


def _problems(database: Database, project: str) -> list[dict[str, Any]]:
    return [
        {"id": one.sound, "file": one.path.name, "problem": one.problem, "pairs": one.pairs}
        for one in sounds.troubles(database, project)
    ]


def _project(project: Project) -> dict[str, Any]:
    return project._asdict() | {"settings": asdict(project.settings)}
