"""Projects: one study each, with its settings, consent text and state."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, Row, insert, select, update

from cmi._util.errors import InputError
from cmi.arena.store import pairs as pair_rows
from cmi.arena.store.database import Database, require_id, storable
from cmi.arena.store.errors import NotFound
from cmi.arena.store.schema import new_id, note, projects, servers
from cmi.arena.store.study import ProjectKind, Study

State = Literal["open", "paused", "closed"]
LONGEST_TITLE = 200  # characters
LONGEST_CONSENT = 20_000


class Project(NamedTuple):
    id: str
    title: str
    state: State
    settings: Study
    consent: str  # '' if there is none
    created: float
    kind: ProjectKind = "pairs"


def create(
    database: Database,
    title: str,
    settings: Mapping[str, Any] | None = None,
    consent: str = "",
    kind: ProjectKind = "pairs",
) -> Project:
    """Create an open project with these settings, and defaults for the rest. Its kind never changes."""
    values = {"title": _title(title), "settings": asdict(Study().changed(settings or {})), "consent": _consent(consent)}
    values["kind"] = kind
    with database.writing() as connection:
        project, now = new_id(), database.now()
        connection.execute(insert(projects).values(id=project, state="open", created=now, **values))
        note(connection, now, project, "project created", project, {})
    return get(database, project)


def get(database: Database, project: str) -> Project:
    with database.reading() as connection:
        return read(connection, project)


def read(connection: Connection, project: str) -> Project:
    """As `get`, in a transaction."""
    row = connection.execute(select(projects).where(projects.c.id == require_id(project, "project"))).one_or_none()
    if row is None:
        raise NotFound("there is no such project")
    return _project(row)


def list_all(database: Database) -> list[Project]:
    """All projects, the oldest first."""
    with database.reading() as connection:
        return [_project(row) for row in connection.execute(select(projects).order_by(projects.c.created))]


def change(
    database: Database,
    project: str,
    state: str | None = None,
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    consent: str | None = None,
) -> Project:
    """Change what is given; a new overlap also applies to existing pairs."""
    with database.writing() as connection:
        before = read(connection, project)
        values: dict[str, Any] = {}
        if state is not None:
            if state not in get_args(State):
                raise InputError(f"a project's state is {state!r}, expected {', '.join(get_args(State))}")
            values["state"] = state
        if title is not None:
            values["title"] = _title(title)
        if consent is not None:
            values["consent"] = _consent(consent)
        after = before.settings.changed(settings or {})
        if before.kind != "pairs" and after.qualify_pairs:
            raise InputError(
                f"the settings: a qualification needs gold pairs, "
                f"which a project of the kind {before.kind} does not have"
            )
        if after != before.settings:
            values["settings"] = asdict(after)
        if values:
            connection.execute(update(projects).where(projects.c.id == project).values(values))
            detail = {"changed": sorted(values), "state": values.get("state", before.state)}
            note(connection, database.now(), project, "project changed", project, detail)
        if pair_rows.overlap(after) != pair_rows.overlap(before.settings):
            pair_rows.set_wanted(connection, project, after)
    if before.settings.uncertain_first and not after.uncertain_first:
        pair_rows.set_order(database, project, after, {})
    return get(database, project)


def set_address(database: Database, url: str) -> None:
    """Remember where the arena is served, for links that other commands make."""
    with database.writing() as connection:
        connection.execute(update(servers).values(url=url))


def last_address(database: Database) -> str | None:
    """Where the arena was last served."""
    with database.reading() as connection:
        return connection.scalar(select(servers.c.url))


def _project(row: Row[Any]) -> Project:
    return Project(row.id, row.title, row.state, Study(**row.settings), row.consent, row.created, row.kind)


def _title(title: str) -> str:
    title = " ".join(storable(title).split())
    if not 1 <= len(title) <= LONGEST_TITLE:
        raise InputError(f"a project's title has {len(title)} characters, expected 1 to {LONGEST_TITLE}")
    return title


def _consent(consent: str) -> str:
    if len(consent) > LONGEST_CONSENT:
        raise InputError(f"the consent text has {len(consent)} characters, expected {LONGEST_CONSENT} at most")
    return storable(consent).strip()
