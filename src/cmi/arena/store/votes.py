"""Votes: saved durably, counted once, corrected by new rows, never overwritten.

A view has one vote: the same content again is the same vote (a double click, a retry), other content is a correction.
Ballots are as SHOWN; stored and exported choices are in terms of the pair's own a and b.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, func, insert, select, true, update

from cmi.arena.store.database import Database, storable
from cmi.arena.store.errors import Overtaken, Refused
from cmi.arena.store.pairs import take
from cmi.arena.store.schema import new_id, pairs, people, projects, sounds, views, votes
from cmi.arena.store.statements import Statement
from cmi.arena.store.study import CountedVote, Side
from cmi.arena.store.views import (
    AS_READ,
    Ballot,
    Given,
    Part,
    ViewRow,
    as_read,
    given,
    read_content,
    require_view,
    turned,
)

LONGEST_FEEDBACK = 4000  # characters
SLACK = 1.0  # seconds by which the browser's clock and ours may differ
HEARD_SLACK = 0.25  # seconds lost to players' rounding
MOST_CORRECTIONS = 5  # per vote
CORRECTION_TIME = 24 * 3600.0  # seconds after the first vote


class Saved(NamedTuple):
    vote: str
    number: int  # 1, or more for a correction
    again: bool  # the same vote was already stored


class Recent(NamedTuple):
    view: str
    created: float  # of the vote
    text: str
    vote: Given
    can_correct: bool


def save(database: Database, person: str, key: str, ballot: Ballot) -> Saved:
    """Store a vote; it is on disk when this returns. Refused: see `cmi.arena.store.errors`.

    A begun view accepts its vote even if the study was paused or closed since, because a browser may have been
    offline. Corrections end with the study, and are limited in number and time. A paused person cannot vote.
    """
    ballot = _checked(ballot)
    if not database.is_sqlite:
        with suppress(Overtaken), database.stepping() as connection:
            return _save(connection, database.now, person, key, ballot, lock=False)
    with database.writing() as connection:
        return _save(connection, database.now, person, key, ballot, lock=True)


def _save(
    connection: Connection, clock: Callable[[], float], person: str, key: str, ballot: Ballot, lock: bool
) -> Saved:
    """Without `lock`, Overtaken unless the view is still as it was read when the vote is stored."""
    view, who = require_view(connection, person, key, lock)
    now, digest = clock(), _digest(ballot)
    if view.begun is None:
        raise Refused("begin", "the takes of this pair have not been opened yet")
    if view.votes:
        before = connection.execute(_BEFORE, {"view": key, "number": view.votes}).one()
        if before.digest == digest:
            return Saved(before.id, view.votes, again=True)
    who.require_active()
    if view.votes:
        first = connection.execute(_BEFORE, {"view": key, "number": 1}).one()
        if refused := why_final(who.project_state, view.votes, now - first.created):
            raise refused
    else:
        needed = read_content(connection, view.pair).needed(who.study)
        _require_heard(ballot, view.swapped, now - view.begun, needed)
        _require_reference(ballot, now - view.created, needed)
        if view.held is None and view.repeat_of is None:  # it was released, but the vote came after all
            if not lock:
                raise Overtaken
            take(connection, view.pair, 1)
    row = {"id": new_id(), "number": view.votes + 1, "digest": digest, **_row(ballot, view, now)}
    if lock:
        _INSERT.run(connection, row)
        _CLOSE.run(connection, {"number": row["number"], "now": now, **as_read(view)})
    elif not _CLOSE_AND_INSERT.all(connection, {**row, "now": now, **as_read(view)}):
        raise Overtaken
    return Saved(row["id"], row["number"], again=False)


def recent(database: Database, person: str, n: int) -> list[Recent]:
    """The last `n` votes of a person, the newest first."""
    first, now = votes.alias(), database.now()
    asked = (
        select(votes, views.c.swapped, pairs.c.text, first.c.created.label("first"), projects.c.state)
        .join(views, (views.c.key == votes.c.view) & (views.c.votes == votes.c.number))
        .join(first, (first.c.view == votes.c.view) & (first.c.number == 1))
        .join(pairs, pairs.c.id == votes.c.pair)
        .join(projects, projects.c.id == votes.c.project)
        .where(votes.c.person == person)
        .order_by(votes.c.created.desc())
        .limit(n)
    )
    with database.reading() as connection:
        return [
            Recent(row.view, row.created, row.text, given(row, row.swapped), can_correct=refused is None)
            for row in connection.execute(asked)
            for refused in (why_final(row.state, row.number, now - row.first),)
        ]


def counted(database: Database, project: str, hidden: bool = False) -> Iterator[CountedVote]:
    """The latest vote of each view, in order of time, without people who withdrew; hidden pairs only if asked for."""
    with database.reading() as connection:
        for row in connection.execute(latest_votes(project, hidden)):
            yield CountedVote(**{name: getattr(row, name) for name in CountedVote._fields})


def latest_votes(project: str, hidden: bool = False, qualifying: bool = False) -> Select[Any]:
    """Query the columns of CountedVote, and those that only exports need.

    Hidden pairs and votes of a qualification only if asked for: people are selected by the latter, so they say nothing
    of how carefully those who passed listen.
    """
    a, b, reference = sounds.alias(), sounds.alias(), sounds.alias()
    choices = ("alignment", "alignment_confidence", "musicality", "musicality_confidence")
    said = ("alignment_touched", "musicality_touched", "feedback", "heard")
    columns = {
        votes: ("id", "number", "view", "person", "pair", *choices, *said, "seconds", "created"),
        views: ("swapped", "repeat_of", "qualifying"),
        pairs: ("kind", "gold", "modality", "system_a", "system_b", "source_id", "text", "lyrics", "about", "hidden"),
    }
    files = [
        sound.c[name].label(f"{side}_{name}")
        for side, sound in (("a", a), ("b", b), ("reference", reference))
        for name in ("path", "digest", "media_type")
    ]
    measured = [
        sound.c[name].label(f"{name}_{side}") for side, sound in (("a", a), ("b", b)) for name in ("seconds", "lufs")
    ]
    shown = true() if hidden else pairs.c.hidden.is_(None)
    in_study = true() if qualifying else views.c.qualifying.is_(None)
    return (
        select(*(table.c[name] for table, names in columns.items() for name in names), *files, *measured)
        .join(views, (views.c.key == votes.c.view) & (views.c.votes == votes.c.number))
        .join(people, people.c.id == votes.c.person)
        .join(pairs, pairs.c.id == votes.c.pair)
        .join(a, a.c.id == pairs.c.a)
        .join(b, b.c.id == pairs.c.b)
        .outerjoin(reference, reference.c.id == pairs.c.reference)
        .where((votes.c.project == project) & (people.c.state != "withdrawn") & shown & in_study)
        .order_by(votes.c.created, votes.c.id)
    )


def why_final(state: str, number: int, passed: float) -> Refused | None:
    """Why a vote given `number` times, first `passed` seconds ago, cannot be changed; None if it can."""
    if state == "closed":
        return Refused("closed", "the study is closed: votes can no longer be changed")
    if number > MOST_CORRECTIONS:
        return Refused("final", f"this vote was already corrected {MOST_CORRECTIONS} times, the maximum")
    if passed > CORRECTION_TIME:
        return Refused("final", f"votes can be corrected for {CORRECTION_TIME / 3600:.0f} hours; this one is older")
    return None


def _checked(ballot: Ballot) -> Ballot:
    for axis, choice, confidence in (
        ("alignment", ballot.alignment, ballot.alignment_confidence),
        ("musicality", ballot.musicality, ballot.musicality_confidence),
    ):
        if choice not in ("a", "b"):
            raise Refused("ballot", f"{axis} is {choice!r}, expected a or b")
        if isinstance(confidence, bool) or confidence not in range(1, 6):
            raise Refused("ballot", f"the confidence in {axis} is {confidence!r}, expected 1 to 5")
    if len(ballot.feedback) > LONGEST_FEEDBACK:
        raise Refused(
            "ballot", f"the feedback has {len(ballot.feedback)} characters, expected at most {LONGEST_FEEDBACK}"
        )
    for heard in (ballot.heard_a, ballot.heard_b, ballot.heard_reference):
        if not (math.isfinite(heard) and heard >= 0):
            raise Refused("ballot", f"{heard!r} seconds were heard, expected 0 or more")
    return ballot._replace(feedback=storable(ballot.feedback))


def _digest(ballot: Ballot) -> str:
    """Hash what makes a correction; the time heard may differ in a retry.

    A ballot that does not say whether a confidence was touched has the digest that it had before pages said so.
    """
    touched = ballot.alignment_touched, ballot.musicality_touched
    content = json.dumps([*ballot[:5], 0.0, 0.0, *(touched if touched != (None, None) else ())])
    return hashlib.sha256(content.encode()).hexdigest()


def _require_heard(ballot: Ballot, swapped: bool, passed: float, needed: Mapping[Part, float]) -> None:
    """Refused unless enough was heard in the `passed` seconds since the takes were shown."""
    sides: tuple[tuple[Side, float], ...] = (("a", ballot.heard_a), ("b", ballot.heard_b))
    for side, heard in sides:
        least = needed[turned(side, swapped)]
        if heard + HEARD_SLACK < least:
            raise Refused("heard", f"please hear {least:.0f} s of take {side.upper()} before you vote")
    # one take plays at a time; a negative time (the clock was set back) proves nothing
    if 0 <= passed + SLACK < needed["a"] + needed["b"]:
        raise Refused("heard", "you cannot have heard both takes yet; please listen before you vote")


def _require_reference(ballot: Ballot, passed: float, needed: Mapping[Part, float]) -> None:
    """Refused unless enough of the reference was heard too, in the `passed` seconds since the instruction was shown."""
    if ballot.heard_reference + HEARD_SLACK < needed["reference"]:
        raise Refused("heard", f"please hear {needed['reference']:.0f} s of the reference recording before you vote")
    if needed["reference"] and 0 <= passed + SLACK < sum(needed.values()):
        raise Refused("heard", "you cannot have heard the reference recording yet; please listen before you vote")


def _row(ballot: Ballot, view: ViewRow, now: float) -> dict[str, Any]:
    """The stored columns, in terms of the pair's own a and b."""
    columns = ballot.turned(view.swapped)._asdict()
    heard = {part: columns.pop(f"heard_{part}") for part in ("a", "b", "reference")}
    if not heard["reference"]:
        del heard["reference"]
    passed = now - (view.begun or now)  # negative if the clock was set back
    seconds = passed if passed >= 0 else sum(heard.values())
    whose = {"project": view.project, "view": view.key, "person": view.person, "pair": view.pair}
    return {**whose, **columns, "heard": heard, "seconds": seconds, "created": now}


# Queries are built once, because building one takes longer than running it on SQLite.

_BEFORE = select(votes.c.id, votes.c.digest, votes.c.created).where(
    (votes.c.view == bindparam("view")) & (votes.c.number == bindparam("number"))
)
_CLOSED = (
    update(views)
    .where(AS_READ)
    .values(votes=bindparam("number"), closed=func.coalesce(views.c.closed, bindparam("now")), held=None)
)
_CLOSE = Statement(_CLOSED)
_INSERT = Statement(insert(votes))
_CLOSED_ROW = _CLOSED.returning(views.c.key).cte("closed_row")
_ROW = select(*(bindparam(column.name, type_=column.type) for column in votes.c)).select_from(_CLOSED_ROW)
_CLOSE_AND_INSERT = Statement(insert(votes).from_select(list(votes.c), _ROW).returning(votes.c.id))
