"""People from recruiting platforms: one link for all, and each participant has a place of their own.

The study's link is known to all participants, and a participant's id to every researcher whose study they were in. So
neither lets anyone into a place that somebody has taken. Whoever comes with the id of a participant gets in if

    the id is new             they get a new place, once they have agreed to the consent text
    they hold its session     the cookie of the browser in which they began
    they bring its proof      the value that the study's `proof` parameter had when the place was taken, which is only
                              in the link of that participant (Prolific's SESSION_ID), or our signature of the id

and is refused otherwise. Sessions stay beside each other, so that two tabs that open the link at once both work. With
`signed_only`, an id without our signature is never let in. A place that was withdrawn stays empty. Ids and parameters
are personal data: they are deleted when the person withdraws, and never exported with votes.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from cmi._util.errors import InputError
from cmi.arena.store import projects
from cmi.arena.store.database import Database, digest_of, storable
from cmi.arena.store.errors import Refused
from cmi.arena.store.exits import PROLIFIC, SIGNATURE, STUDY, Exit, Outcome, parameter_names, read_exit
from cmi.arena.store.people import SignedIn, start_session
from cmi.arena.store.projects import Project
from cmi.arena.store.schema import new_id, note, participants, people, recruiting
from cmi.arena.store.study import Study
from cmi.arena.store.views import read_viewer

LONGEST_VALUE = 200  # characters of a parameter
_ID = re.compile(r"[A-Za-z0-9_.@:+=-]{1,128}", re.ASCII)

PLATFORMS: dict[Literal["prolific", "jatos"], dict[str, str]] = {
    "prolific": {"participant": PROLIFIC, "proof": "SESSION_ID", "parameters": "STUDY_ID"},
    "jatos": {"participant": "workerId", "proof": "proof", "parameters": "studyResultId,batchId,studyCode"},
}


class RecruitingLink(NamedTuple):
    token: str
    key: str

    def address(self, url: str, study: Study) -> str:
        """The link for the platform, with Prolific's placeholders or NAME in the place of each parameter."""
        names = [study.participant, study.proof, *parameter_names(study.parameters)]
        gaps = {name: f"{{{{%{name}%}}}}" if study.participant == PROLIFIC else f"[{name}]" for name in names if name}
        return f"{self._start(url)}&{'&'.join(f'{quote(name)}={gap}' for name, gap in gaps.items())}"

    def signed_address(self, url: str, study: Study, participant: str) -> str:
        """The link of one participant."""
        return f"{self._start(url)}&{urlencode({study.participant: participant, SIGNATURE: self.sign(participant)})}"

    def sign(self, participant: str) -> str:
        """HMAC-SHA256 of a participant's id."""
        return hmac.new(self.key.encode(), participant.encode(), hashlib.sha256).hexdigest()

    def _start(self, url: str) -> str:
        return f"{url.rstrip('/')}/enter?{STUDY}={self.token}"


class Entrance(NamedTuple):
    """What a visitor with a recruiting link is shown."""

    project: Project
    parameters: dict[str, str]
    place: Literal["new", "theirs", "here"]  # `here`: the session of the request is theirs


def recruiting_link(database: Database, project: str, renew: bool = False) -> RecruitingLink:
    """The study's link, which is made when it is first asked for; `renew` makes another one, and the old one ends."""
    with database.writing() as connection:
        projects.read(connection, project)
        ours = recruiting.c.project == project
        row = connection.execute(select(recruiting).where(ours).with_for_update()).one_or_none()
        if row is not None and not renew:
            return RecruitingLink(row.token, row.key)
        made = RecruitingLink(secrets.token_urlsafe(16), secrets.token_urlsafe(32))
        if row is None:
            connection.execute(insert(recruiting).values(project=project, **made._asdict()))
        else:
            connection.execute(update(recruiting).where(ours).values(**made._asdict()))
        note(connection, database.now(), project, "recruiting link made", project, {})
    return made


def look(database: Database, token: str, given: Mapping[str, str], session_person: str | None = None) -> Entrance:
    """Find what a link leads to; nothing is stored. Refused if it leads nowhere, or to somebody else's place."""
    with database.reading() as connection:
        project, link = _find_study(connection, token)
        found = _read_parameters(project.settings, link, given)
        place = _require_own(_find_place(connection, project, found), project.settings, found, session_person)
    return Entrance(project, found.parameters, place)


def enter(
    database: Database, token: str, given: Mapping[str, str], consented: bool, session_person: str | None = None
) -> SignedIn:
    """Sign in a participant, in a new place or in their own. Of two who come at once with a new id, one makes it."""
    try:
        return _enter(database, token, given, consented, session_person)
    except IntegrityError:  # the other one has just made the place
        return _enter(database, token, given, consented, session_person)


def _enter(
    database: Database, token: str, given: Mapping[str, str], consented: bool, session_person: str | None
) -> SignedIn:
    with database.writing() as connection:
        project, link = _find_study(connection, token)
        found = _read_parameters(project.settings, link, given)
        row = _find_place(connection, project, found)
        place, now = _require_own(row, project.settings, found, session_person), database.now()
        if row is None:
            if project.state == "closed":
                raise Refused("closed", "the study is closed: no new page can be opened")
            if project.consent and not consented:
                raise Refused("consent", "please agree to the consent text first")
            person = new_id()
            new = {"id": person, "project": project.id, "role": "annotator", "state": "active", "created": now}
            connection.execute(insert(people).values(**new, consented=now if consented else None))
            came_from = {"digest": _digest(project, found), "parameters": found.parameters}
            who = {"person": person, "project": project.id, "participant": found.participant}
            connection.execute(insert(participants).values(**who, **came_from))
        else:
            person = row.person
            connection.execute(select(people.c.id).where(people.c.id == person).with_for_update(key_share=True))
        session_token, csrf = start_session(connection, person, now)
        note(connection, now, project.id, "joined", person, {"role": "annotator", "again": place != "new"})
        name = connection.scalar(select(people.c.name).where(people.c.id == person))
    return SignedIn(session_token, csrf, person, project.id, "annotator", name)


def exit_for(study: Study, outcome: Outcome, parameters: Mapping[str, str]) -> Exit:
    setting = getattr(study, f"exit_{outcome.replace(' ', '_')}")
    return read_exit(setting, parameters, study.participant)


def exit_of(database: Database, person: str, outcome: Outcome) -> Exit:
    """Where a person goes with this outcome."""
    with database.reading() as connection:
        asked = select(participants.c.parameters).where(participants.c.person == person)
        parameters = connection.scalar(asked) or {}  # none of whoever was invited
        return exit_for(read_viewer(connection, person).study, outcome, parameters)


def check_participant(participant: str) -> str:
    """Return a participant's id; raise InputError if it cannot be part of a link."""
    if not _ID.fullmatch(participant):
        raise InputError(
            f"the participant id {participant[:64]!r} cannot be part of a link, "
            "expected 1 to 128 letters, digits and _.@:+=-"
        )
    return participant


class _Given(NamedTuple):
    participant: str
    parameters: dict[str, str]
    is_signed: bool


def _find_study(connection: Connection, token: str) -> tuple[Project, RecruitingLink]:
    row = connection.execute(select(recruiting).where(recruiting.c.token == token)).one_or_none()
    project = None if row is None else projects.read(connection, row.project)
    if row is None or project is None or not project.settings.participant:
        raise Refused("study", "this link does not lead to an open study; ask whoever gave it to you", 404)
    return project, RecruitingLink(row.token, row.key)


def _read_parameters(study: Study, link: RecruitingLink, given: Mapping[str, str]) -> _Given:
    participant = given.get(study.participant, "")
    if not _ID.fullmatch(participant):
        raise Refused("participant", "this link has no participant id; open it from the page that gave it to you")
    names = [study.participant, study.proof, *parameter_names(study.parameters)]
    kept = {name: storable(given[name])[:LONGEST_VALUE] for name in names if name and given.get(name)}
    signature = storable(given.get(SIGNATURE, ""))
    is_signed = hmac.compare_digest(signature.encode(), link.sign(participant).encode())
    if study.signed_only and not is_signed:
        raise Refused("participant", "this link was changed or is incomplete; open it as it was given to you")
    return _Given(participant, kept, is_signed)


def _find_place(connection: Connection, project: Project, found: _Given) -> Row[Any] | None:
    asked = select(participants, people.c.state).join(people, people.c.id == participants.c.person)
    ours = (participants.c.project == project.id) & (participants.c.digest == _digest(project, found))
    return connection.execute(asked.where(ours)).one_or_none()


def _require_own(
    row: Row[Any] | None, study: Study, found: _Given, session_person: str | None
) -> Literal["new", "theirs", "here"]:
    if row is None:
        return "new"
    if row.state == "withdrawn":
        raise Refused("withdrawn", "you have withdrawn from this study")
    if row.person == session_person:
        return "here"
    proof, known = found.parameters.get(study.proof, ""), row.parameters.get(study.proof, "")
    if found.is_signed or (known and hmac.compare_digest(proof.encode(), known.encode())):
        return "theirs"
    raise Refused(
        "place",
        "this participant id is already in use; continue in the browser in which you started, open the link of the "
        "same submission, or ask whoever runs the study for a link",
    )


def _digest(project: Project, found: _Given) -> str:
    return digest_of(f"{project.id} {found.participant}")
