"""Hide a broken pair, with a reason on record, or put another in its place. Votes on a hidden pair are kept.

A hidden pair is not assigned, and statistics and exports leave its votes out unless they are asked for. The pair holds
the reason as long as it is hidden; the audit log keeps every reason.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select, update

from cmi._util.errors import InputError
from cmi.arena.store import pairs as pair_rows
from cmi.arena.store.database import Database, require_id, storable
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import LONGEST_NAME, NewPair
from cmi.arena.store.projects import read
from cmi.arena.store.schema import audit, note, pairs

LONGEST_REASON = 500  # characters
HIDDEN, SHOWN, REPLACED = ACTIONS = ("pair hidden", "pair shown", "pair replaced")  # in the audit log


class PairEvent(NamedTuple):
    """A line of the audit log about one pair."""

    time: float
    action: str
    reason: str


def hide(database: Database, project: str, pair: str, reason: str) -> None:
    """Hide a pair. The same reason again changes nothing; another one takes its place."""
    reason = _reason(reason)
    with database.writing() as connection:
        if _require(connection, project, pair).hidden != reason:
            _set_hidden(database, connection, project, pair, reason)


def show(database: Database, project: str, pair: str) -> None:
    """Show a hidden pair again: it is assigned, and its votes count."""
    with database.writing() as connection:
        if _require(connection, project, pair).hidden is not None:
            _set_hidden(database, connection, project, pair, None)


def replace(database: Database, project: str, pair: str, reason: str, changes: Mapping[str, str | None]) -> str:
    """Hide a pair and add one that differs from it in `changes` (text, lyrics, reference, a, b); return its id.

    Systems, known answers and extra fields are the same. A request that was sent twice replaces once.
    """
    reason = _reason(reason)
    with database.writing() as connection:
        old = _require(connection, project, pair)
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
        _set_hidden(database, connection, project, pair, reason, REPLACED, by=made)
    return made


def history(connection: Connection, project: str, pair: str) -> list[PairEvent]:
    """When and why a pair was hidden, shown or replaced, the latest first."""
    about = (audit.c.project == project) & (audit.c.subject == pair) & audit.c.action.in_(ACTIONS)
    rows = connection.execute(select(audit).where(about).order_by(audit.c.time.desc(), audit.c.id))
    return [PairEvent(row.time, row.action, row.detail.get("reason", "")) for row in rows]


def _set_hidden(
    database: Database,
    connection: Connection,
    project: str,
    pair: str,
    reason: str | None,
    action: str | None = None,
    **detail: str,
) -> None:
    connection.execute(update(pairs).where(pairs.c.id == pair).values(hidden=reason))
    pair_rows.update_broken(connection, pairs.c.id == pair)
    said = {} if reason is None else {"reason": reason}
    note(connection, database.now(), project, action or (HIDDEN if said else SHOWN), pair, said | detail)


def _require(connection: Connection, project: str, pair: str) -> Row[Any]:
    """Read a pair and lock its row."""
    ours = (pairs.c.project == project) & (pairs.c.id == require_id(pair, "pair"))
    row = connection.execute(select(pairs).where(ours).with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise NotFound("there is no such pair in this project")
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
