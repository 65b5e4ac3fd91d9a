"""Hide a broken pair or trial, with a reason on record, or put another pair in its place. Votes and ratings are kept.

What is hidden is not assigned, and statistics and exports leave its votes out unless they are asked for. The pair or
trial holds the reason as long as it is hidden; the audit log keeps every reason.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, select, update

from cmi._util.errors import InputError
from cmi.arena.store import pairs as pair_rows
from cmi.arena.store.database import Database, require_id, storable
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import LONGEST_NAME, NewPair
from cmi.arena.store.projects import read
from cmi.arena.store.schema import audit, note, pairs, trials

LONGEST_REASON = 500  # characters
Noun = Literal["pair", "trial"]
TABLES = {"pair": pairs, "trial": trials}
EVENTS = ("hidden", "shown", "replaced")  # in the audit log, after the noun


class HidingEvent(NamedTuple):
    """A line of the audit log about one pair or trial."""

    time: float
    action: str
    reason: str


def hide(database: Database, project: str, item: str, reason: str, noun: Noun = "pair") -> None:
    """Hide a pair or trial. The same reason again changes nothing; another one takes its place."""
    reason = _reason(reason)
    with database.writing() as connection:
        if _require(connection, project, item, noun).hidden != reason:
            _set_hidden(database, connection, project, item, noun, reason, "hidden")


def show(database: Database, project: str, item: str, noun: Noun = "pair") -> None:
    """Show a hidden pair or trial again: it is assigned, and its votes or ratings count."""
    with database.writing() as connection:
        if _require(connection, project, item, noun).hidden is not None:
            _set_hidden(database, connection, project, item, noun, None, "shown")


def replace(database: Database, project: str, pair: str, reason: str, changes: Mapping[str, str | None]) -> str:
    """Hide a pair and add one that differs from it in `changes` (text, lyrics, reference, a, b); return its id.

    Systems, known answers and extra fields are the same. A request that was sent twice replaces once.
    """
    reason = _reason(reason)
    with database.writing() as connection:
        old = _require(connection, project, pair, "pair")
        parts = {name: getattr(old, name) for name in pair_rows.SAME} | dict(changes)
        there = connection.execute(select(pairs).where(pairs.c.replaces == pair)).one_or_none()
        if there is not None:
            if any(storable(value or "") != (getattr(there, name) or "") for name, value in parts.items()):
                raise Refused("replaced", "this pair has been replaced already; replace the one that took its place")
            return str(there.id)
        if all((value or "") == (getattr(old, name) or "") for name, value in parts.items()):
            raise InputError("the replacement is the same as the pair; give another recording, text or lyrics")
        about = {"system_a": old.system_a, "system_b": old.system_b, "gold": old.gold, "about": old.about}
        new = NewPair(source_id=_free_name(connection, project, old.source_id), **parts, **about)
        made = pair_rows.add(connection, project, read(connection, project).settings, new)
        connection.execute(update(pairs).where(pairs.c.id == made).values(replaces=pair))
        _set_hidden(database, connection, project, pair, "pair", reason, "replaced", by=made)
    return made


def history(connection: Connection, project: str, item: str, noun: Noun = "pair") -> list[HidingEvent]:
    """When and why a pair or trial was hidden, shown or replaced, the latest first."""
    actions = [f"{noun} {event}" for event in EVENTS]
    about = (audit.c.project == project) & (audit.c.subject == item) & audit.c.action.in_(actions)
    rows = connection.execute(select(audit).where(about).order_by(audit.c.time.desc(), audit.c.id))
    return [HidingEvent(row.time, row.action, row.detail.get("reason", "")) for row in rows]


def _set_hidden(
    database: Database,
    connection: Connection,
    project: str,
    item: str,
    noun: Noun,
    reason: str | None,
    event: str,
    **detail: str,
) -> None:
    table = TABLES[noun]
    connection.execute(update(table).where(table.c.id == item).values(hidden=reason))
    if noun == "pair":
        pair_rows.update_broken(connection, pairs.c.id == item)
    said = {} if reason is None else {"reason": reason}
    note(connection, database.now(), project, f"{noun} {event}", item, said | detail)


def _require(connection: Connection, project: str, item: str, noun: Noun) -> Row[Any]:
    """Read a pair or trial and lock its row."""
    table = TABLES[noun]
    ours = (table.c.project == project) & (table.c.id == require_id(item, noun))
    row = connection.execute(select(table).where(ours).with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFound(f"there is no such {noun} in this project")
    return row


def _free_name(connection: Connection, project: str, source_id: str) -> str:
    """An id for the replacement that no pair has: the old one with a number."""
    taken = set(connection.scalars(select(pairs.c.source_id).where(pairs.c.project == project)))
    names = (f"{source_id[: LONGEST_NAME - 16]} ({number})" for number in range(2, len(taken) + 3))
    return next(name for name in names if name not in taken)


def _reason(reason: str) -> str:
    reason = " ".join(storable(reason).split())
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise InputError(f"the reason has {len(reason)} characters, expected 1 to {LONGEST_REASON}")
    return reason
