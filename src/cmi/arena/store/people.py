"""People: invited by a one-time link, identified by a session cookie, and deleted when they withdraw.

Only hashes of invite and session tokens are stored, so reading the database does not let anyone sign in.
"""

import secrets
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from cmi._util.errors import InputError
from cmi.arena.store import projects
from cmi.arena.store.database import Database, digest_of, require_id, storable
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import take
from cmi.arena.store.schema import (
    invites,
    new_id,
    note,
    participants,
    people,
    ratings,
    sessions,
    sittings,
    sound_checks,
    views,
    votes,
)
from cmi.arena.store.statements import Statement
from cmi.arena.store.study import MOST

Role = Literal["owner", "observer", "annotator"]
State = Literal["active", "paused", "withdrawn"]

DAY = 86_400.0  # seconds
SESSION_DAYS = 60
LONGEST_INVITE = 365  # days
MOST_INVITES = 1000  # per call
LONGEST_NAME = 80  # characters
SEEN_EVERY = 300.0  # seconds between updates of a session's `seen`
_ENTRY = ("checked", "qualified", "screened_out", "outcome")  # columns about checks and the end
NO_INVITE = "this link was used, has expired or was revoked; ask whoever runs the study for a new one"


class Invite(NamedTuple):
    """A new invitation; its token is not stored."""

    token: str
    id: str
    expires: float

    def link(self, url: str) -> str:
        """Its address at a server. The token is in the fragment, which no server logs."""
        return f"{url.rstrip('/')}/join#{self.token}"


class InviteRow(NamedTuple):
    """An invite as shown to the owner."""

    id: str
    role: Role
    expires: float
    quota: int | None
    used_at: float | None
    revoked: bool
    created: float


class SignedIn(NamedTuple):
    session_token: str
    csrf: str
    person: str
    project: str
    role: Role
    name: str | None


class Session(NamedTuple):
    person: str
    project: str
    role: Role
    csrf: str
    state: State
    name: str | None


class Person(NamedTuple):
    id: str
    role: Role
    name: str | None
    state: State
    quota: int | None
    consented: float | None
    created: float
    screened_out: str | None  # by which check
    votes: int  # views with a vote, hidden ones included, or trials with a rating


def invite(
    database: Database, project: str, role: str, days: float, quota: int | None = None, count: int = 1
) -> list[Invite]:
    """Make links for `count` new people."""
    if role not in get_args(Role):
        raise InputError(f"the role is {role!r}, expected {', '.join(get_args(Role))}")
    if not 1 <= count <= MOST_INVITES:
        raise InputError(f"{count} invites were asked for, expected 1 to {MOST_INVITES} at once")
    with database.writing() as connection:
        projects.read(connection, project)
        made = [_invite(database, connection, project, role, days, quota) for _ in range(count)]
        note(connection, database.now(), project, "invited", project, {"role": role, "count": count})
    return made


def invite_again(database: Database, project: str, person: str, days: float) -> Invite:
    """Make a link for a person who lost the cookie; their earlier links and sessions stop working."""
    with database.writing() as connection:
        row = _require(connection, project, person)
        if row.state == "withdrawn":
            raise Refused(
                "withdrawn", "this person has withdrawn; send a new invitation if they have changed their mind"
            )
        _require_another_owner(database, connection, row)
        _end_sessions(connection, person)
        connection.execute(update(invites).where(invites.c.bound_to == person).values(revoked=True))
        made = _invite(database, connection, project, row.role, days, None, person)
        note(connection, database.now(), project, "invited again", person, {})
    return made


def look_at_invite(database: Database, token: str) -> tuple[projects.Project, Role]:
    """The project and the role that a link is for; it is not used by this."""
    with database.reading() as connection:
        row = _usable(database, connection, token)
        return projects.read(connection, row.project), row.role


def join(database: Database, token: str, name: str | None, consented: bool) -> SignedIn:
    """Use a link: sign in a new person, or the one it is for. Of two simultaneous uses one succeeds."""
    with database.writing() as connection:
        row = _usable(database, connection, token)
        project, now = projects.read(connection, row.project), database.now()
        if project.consent and not consented:
            raise Refused("consent", "please agree to the consent text first")
        person = row.bound_to or new_id()
        if not row.bound_to:
            new = {"id": person, "project": row.project, "role": row.role, "quota": row.quota, "name": _name(name)}
            connection.execute(insert(people).values(**new, state="active", created=now))
        agreed = {"consented": now} if consented else {}
        # also without a change, because this locks the row
        connection.execute(update(people).where(people.c.id == person).values(state=people.c.state, **agreed))
        free = (invites.c.id == row.id) & invites.c.used_at.is_(None)
        used = connection.execute(update(invites).where(free).values(used_by=person, used_at=now))
        if used.rowcount != 1:
            raise Refused("invite", NO_INVITE)
        _end_sessions(connection, person)
        session_token, csrf = start_session(connection, person, now)
        note(connection, now, project.id, "joined", person, {"role": row.role, "again": row.bound_to is not None})
        kept = connection.scalar(select(people.c.name).where(people.c.id == person))
    return SignedIn(session_token, csrf, person, project.id, row.role, kept)


def start_session(connection: Connection, person: str, now: float) -> tuple[str, str]:
    """Start a session beside the person's other ones; return its token and CSRF token."""
    session_token, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    times = {"created": now, "seen": now, "expires": now + SESSION_DAYS * DAY}
    connection.execute(insert(sessions).values(token_hash=digest_of(session_token), person=person, csrf=csrf, **times))
    return session_token, csrf


def session(database: Database, session_token: str) -> Session | None:
    """Look up a session; None if it is unknown or has expired."""
    token_hash, now = digest_of(session_token), database.now()
    with database.reading() as connection:
        row = _SESSION.one_or_none(connection, {"token_hash": token_hash})
    if row is None or row.expires <= now:
        return None
    if now - row.seen > SEEN_EVERY:
        with database.writing(lasting=False) as connection:
            connection.execute(update(sessions).where(sessions.c.token_hash == token_hash).values(seen=now))
    return Session(row.id, row.project, row.role, row.csrf, row.state, row.name)


def sign_out(database: Database, session_token: str) -> None:
    with database.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.token_hash == digest_of(session_token)))


def end_sessions(database: Database, project: str, person: str) -> int:
    """Sign a person out everywhere and return the number of sessions; votes are kept."""
    with database.writing() as connection:
        _require_another_owner(database, connection, _require(connection, project, person))
        ended = _end_sessions(connection, person)
        note(connection, database.now(), project, "signed out everywhere", person, {"sessions": ended})
    return ended


def get(database: Database, project: str, person: str) -> Person:
    with database.reading() as connection:
        _require(connection, project, person)
        return _people(connection, people.c.id == person)[0]


def list_people(database: Database, project: str) -> list[Person]:
    """Everyone who ever joined, the earliest first."""
    with database.reading() as connection:
        return _people(connection, people.c.project == project)


def change(
    database: Database,
    project: str,
    person: str,
    state: str | None = None,
    quota: int | Literal["as is"] | None = "as is",
) -> Person:
    """Pause or resume a person; set their own quota, or with None use the project's."""
    values: dict[str, Any] = {}
    if state is not None:
        if state not in ("active", "paused"):
            raise InputError(f"a person's state is {state!r}, expected active or paused")
        values["state"] = state
    if quota != "as is":
        values["quota"] = _quota(quota)
    with database.writing() as connection:
        row = _require(connection, project, person)
        if row.state == "withdrawn":
            raise Refused("withdrawn", "this person has withdrawn from the study")
        if state == "paused":
            _require_another_owner(database, connection, row)
        if values:
            connection.execute(update(people).where(people.c.id == person).values(values))
            note(connection, database.now(), project, "person changed", person, values)
    return get(database, project, person)


def withdraw(database: Database, project: str, person: str) -> int:
    """Permanently delete a person's votes, views, sessions and name; return the number of votes.

    Only the fact remains that someone with that opaque id joined and withdrew and, of people from a recruiting
    platform, a hash of its id for them, so that nobody gets more attempts by withdrawing. Their pairs are given to
    others.
    """
    with database.writing() as connection:
        _require_another_owner(database, connection, _require(connection, project, person))
        locked = select(people.c.id).where(people.c.id == person).with_for_update(key_share=True)
        connection.execute(locked)
        theirs = views.c.person == person
        held = select(views).where(theirs).order_by(views.c.key).with_for_update(key_share=True)
        rows = connection.execute(held).all()
        gone = sum(connection.execute(delete(one).where(one.c.person == person)).rowcount for one in (votes, ratings))
        connection.execute(delete(views).where(theirs))
        connection.execute(delete(sittings).where(sittings.c.person == person))
        freed = {row.pair for row in rows if row.repeat_of is None and (row.votes or row.held is not None)}
        for pair in sorted(freed):  # one first showing per person and pair
            take(connection, pair, -1)
        _end_sessions(connection, person)
        connection.execute(update(invites).where(invites.c.bound_to == person).values(revoked=True))
        connection.execute(delete(sound_checks).where(sound_checks.c.person == person))
        recruited = participants.c.person == person
        connection.execute(update(participants).where(recruited).values(participant=None, parameters={}))
        blank = {"state": "withdrawn", **dict.fromkeys(("name", "consented", "quota", *_ENTRY))}
        connection.execute(update(people).where(people.c.id == person).values(blank))
        note(connection, database.now(), project, "withdrawn", person, {"votes": gone})
    database.forget()
    return gone


def list_invites(database: Database, project: str) -> list[InviteRow]:
    """All invites, the latest first."""
    columns = [invites.c[name] for name in InviteRow._fields]
    asked = select(*columns).where(invites.c.project == project).order_by(invites.c.created.desc(), invites.c.id)
    with database.reading() as connection:
        return [InviteRow(*row) for row in connection.execute(asked)]


def revoke(database: Database, project: str, invite_id: str) -> None:
    """Revoke an invite; a person who has used it stays."""
    ours = (invites.c.project == project) & (invites.c.id == require_id(invite_id, "invite"))
    with database.writing() as connection:
        if connection.execute(update(invites).where(ours).values(revoked=True)).rowcount != 1:
            raise NotFound("there is no such invite")
        note(connection, database.now(), project, "invite revoked", invite_id, {})


def _invite(
    database: Database,
    connection: Connection,
    project: str,
    role: str,
    days: float,
    quota: int | None,
    bound_to: str | None = None,
) -> Invite:
    if not 0 < days <= LONGEST_INVITE:
        raise InputError(f"the invite is to last {days:g} days, expected more than 0 and {LONGEST_INVITE} at most")
    token, id_, now = secrets.token_urlsafe(24), new_id(), database.now()
    times = {"created": now, "expires": now + days * DAY}
    row = {"id": id_, "project": project, "role": role, "token_hash": digest_of(token), "quota": _quota(quota)}
    connection.execute(insert(invites).values(**row, bound_to=bound_to, revoked=False, **times))
    return Invite(token, id_, times["expires"])


def _usable(database: Database, connection: Connection, token: str) -> Row[Any]:
    row = connection.execute(select(invites).where(invites.c.token_hash == digest_of(token))).one_or_none()
    if row is None or row.revoked or row.used_at is not None or row.expires <= database.now():
        raise Refused("invite", NO_INVITE)
    return row


def _require(connection: Connection, project: str, person: str) -> Row[Any]:
    ours = (people.c.project == project) & (people.c.id == require_id(person, "person"))
    row = connection.execute(select(people).where(ours)).one_or_none()
    if row is None:
        raise NotFound("there is no such person in this project")
    return row


def _end_sessions(connection: Connection, person: str) -> int:
    return connection.execute(delete(sessions).where(sessions.c.person == person)).rowcount


def _require_another_owner(database: Database, connection: Connection, row: Row[Any]) -> None:
    """Refused if no other owner is active and signed in."""
    if row.role != "owner" or row.state == "withdrawn":
        return
    owners = (people.c.project == row.project) & (people.c.role == "owner")
    connection.execute(select(people.c.id).where(owners).order_by(people.c.id).with_for_update(key_share=True))
    if not set(_owners(database, connection, row.project)) - {row.id}:
        raise Refused("last owner", "nobody else can run this study: let another owner join first")


def has_owner(database: Database, project: str) -> bool:
    """Whether an owner is active and signed in."""
    with database.reading() as connection:
        return bool(_owners(database, connection, project))


def _owners(database: Database, connection: Connection, project: str) -> list[str]:
    able = (people.c.project == project) & (people.c.role == "owner") & (people.c.state == "active")
    signed_in = (sessions.c.person == people.c.id) & (sessions.c.expires > database.now())
    return list(connection.scalars(select(people.c.id).join(sessions, signed_in).where(able).distinct()))


def _people(connection: Connection, which: Any) -> list[Person]:
    views_voted, sittings_voted = (
        select(func.count()).select_from(one).where((one.c.person == people.c.id) & (one.c.votes > 0)).scalar_subquery()
        for one in (views, sittings)
    )
    columns = [people.c[name] for name in Person._fields[:-1]]
    asked = select(*columns, views_voted + sittings_voted).where(which).order_by(people.c.created, people.c.id)
    return [Person._make(row) for row in connection.execute(asked)]


def _name(name: str | None) -> str | None:
    name = " ".join(storable(name or "").split())
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has {len(name)} characters, expected {LONGEST_NAME} at most")
    return name or None


def _quota(quota: int | None) -> int | None:
    if quota is not None and not 1 <= quota <= MOST:
        raise InputError(f"the quota is {quota}, expected 1 to {MOST}, or none")
    return quota


_SESSION = Statement(
    select(sessions.c.csrf, sessions.c.seen, sessions.c.expires)
    .add_columns(*(people.c[name] for name in ("id", "project", "role", "state", "name")))
    .join(people, people.c.id == sessions.c.person)
    .where(sessions.c.token_hash == bindparam("token_hash"))
)
