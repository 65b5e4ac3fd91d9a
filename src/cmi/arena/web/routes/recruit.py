"""Routes for people from recruiting platforms, for sound checks, and for the end; and the owner's side of them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from cmi.arena.audio.check_sounds import MEDIA_TYPE, calibration_sound, trial_sound
from cmi.arena.store import checks, outcomes, projects, recruit
from cmi.arena.store.database import Database
from cmi.arena.store.errors import Refused
from cmi.arena.web import security
from cmi.arena.web.auth import Annotator, Owner, Reader, Visitor
from cmi.arena.web.bodies import CheckAnswers, EnterBody, LinkBody, PathId
from cmi.arena.web.routes.media import requested_bytes
from cmi.arena.web.routes.sign_in import limit_attempts
from cmi.arena.web.state import Address, ThisArena, ThisDatabase
from cmi.report.tables import to_csv

Kind = Annotated[checks.Kind, Path()]
Number = Annotated[int, Path(ge=1, le=1000)]
Trial = Annotated[int, Path(ge=0, lt=checks.TRIALS)]

router = APIRouter(prefix="/api")


@router.post("/enter/look", dependencies=[Depends(limit_attempts)])
def look(database: ThisDatabase, session: Visitor, body: LinkBody) -> dict[str, Any]:
    """Describe the study that a platform's link leads to, and whether the place is new, the caller's, or signed in."""
    found = recruit.look(database, body.study, body.parameters, session.person if session else None)
    project = found.project
    leave = recruit.exit_for(project.settings, "returned", found.parameters)
    return {
        "project": {"id": project.id, "title": project.title, "kind": project.kind},
        "consent": project.consent,
        "role": "annotator",
        "language": project.settings.language,
        "state": project.state,
        "place": found.place,
        "exit": leave._asdict(),
    }


@router.post("/enter", dependencies=[Depends(limit_attempts)])
def enter(arena: ThisArena, response: Response, session: Visitor, body: EnterBody) -> dict[str, Any]:
    """Take a new place in the study or return to one's own, and set the session cookie."""
    whose = session.person if session else None
    signed_in = recruit.enter(arena.database, body.study, body.parameters, body.consent, whose)
    arena.sessions.forget()
    security.set_cookie(response, arena.cookie, signed_in.session_token, arena.settings.public_url)
    return {"csrf": signed_in.csrf, "person": {"id": signed_in.person, "role": signed_in.role}}


@router.get("/exit")
def find_exit(database: ThisDatabase, session: Annotator) -> dict[str, Any]:
    """Say how the caller's participation ended, if it has, and where they go from there."""
    end = outcomes.find_end(database, session.person)
    return {"outcome": end.outcome, "screened_out": end.screened_out, **end.exit._asdict()}


@router.get("/checks")
def list_checks(database: ThisDatabase, session: Annotator) -> dict[str, Any]:
    """List the sound checks that the caller must pass."""
    found = [one._asdict() for one in checks.state(database, session.person)]
    return {"checks": found, "trials": checks.TRIALS, "needed": checks.NEEDED}


@router.get("/checks/calibration.flac", response_class=Response)
def calibration(request: Request, database: ThisDatabase, session: Annotator) -> Response:
    """Serve noise as loud as the study's recordings."""
    return _send(request, calibration_sound(checks.median_loudness(database, session.project)))


@router.post("/checks/{kind}")
def begin_check(database: ThisDatabase, session: Annotator, kind: Kind) -> dict[str, int]:
    """Start an attempt, or continue the current one."""
    return {"attempt": checks.begin(database, session.person, kind)}


@router.get("/checks/{kind}/{number}/{trial}.flac", response_class=Response)
def trial(
    request: Request, database: ThisDatabase, session: Annotator, kind: Kind, number: Number, trial: Trial
) -> Response:
    """Serve the sound of a trial."""
    return _send(request, trial_sound(kind, checks.read_plan(database, session.person, kind, number)[trial]))


@router.post("/checks/{kind}/{number}")
def answer_check(
    database: ThisDatabase, session: Annotator, kind: Kind, number: Number, body: CheckAnswers
) -> dict[str, Any]:
    """Judge an attempt; the first answers count."""
    found = checks.answer(database, session.person, kind, number, body.answers, body.volume)
    return found._asdict() | {"trials": checks.TRIALS, "needed": checks.NEEDED}


@router.get("/owner/recruiting")
def recruiting(database: ThisDatabase, address: Address, session: Owner) -> dict[str, Any]:
    """Return the study's link for a recruiting platform, if the settings say by which parameter participants come."""
    return {"link": _link(database, session.project, address), "platforms": recruit.PLATFORMS}


@router.post("/owner/recruiting/renew")
def renew(database: ThisDatabase, address: Address, session: Owner) -> dict[str, Any]:
    """Make another link; the old one lets nobody in any more."""
    return {"link": _link(database, session.project, address, renew=True)}


@router.get("/owner/participants")
def participants(database: ThisDatabase, session: Reader) -> list[dict[str, Any]]:
    """List annotators with their ids on the platform, their checks and how it ended."""
    return outcomes.list_participants(database, session.project)


@router.get("/owner/participants.csv", response_class=Response)
def participants_csv(database: ThisDatabase, session: Reader) -> Response:
    rows = outcomes.flat_participants(database, session.project)
    headers = {"content-disposition": 'attachment; filename="participants.csv"'}
    return Response(to_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/owner/people/{person}/admit")
def admit(database: ThisDatabase, session: Owner, person: PathId) -> dict[str, bool]:
    """Let in a person who was screened out: all checks count as passed."""
    outcomes.admit(database, session.project, person)
    return {"admitted": True}


def _link(database: Database, project: str, address: str, renew: bool = False) -> str | None:
    study = projects.get(database, project).settings
    return recruit.recruiting_link(database, project, renew).address(address, study) if study.participant else None


def _send(request: Request, content: bytes) -> Response:
    """A sound, or the range requested."""
    headers = {"accept-ranges": "bytes", "cache-control": "no-store"}
    span = requested_bytes(request.headers.get("range", ""), len(content))
    if span is None:
        return Response(content, 200, headers, MEDIA_TYPE)
    if not span:
        raise Refused(
            "range",
            "the recording does not have the requested range",
            416,
            {"content-range": f"bytes */{len(content)}"},
        )
    headers["content-range"] = f"bytes {span.start}-{span.stop - 1}/{len(content)}"
    return Response(content[span.start : span.stop], 206, headers, MEDIA_TYPE)
