"""Assign pairs to annotators.

An open view without a vote is shown again, so a reload shows the same page. Otherwise `cmi.arena.store.choose_view`
chooses a gold pair, a hidden repeat or an ordinary pair.

Views in flight count towards the votes that a pair wants. When no other pairs are left, views held for HOLD seconds
without a vote stop counting and their pairs are given to others; a late vote is still kept.

People who have not passed the study's sound checks yet, or were screened out, get no pairs. Those who have to qualify
get gold pairs first (`cmi.arena.store.qualification`); the views of a qualification count for nothing else.

A pair with a missing or changed sound is not assigned. An annotator who has it continues with another pair and gets it
back under the same key once it is repaired.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.exc import IntegrityError

from cmi.arena.store import pairs as pair_rows
from cmi.arena.store import qualification
from cmi.arena.store.choose_view import HOLD, new_view, open_view, read_seen, show, take_gold
from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound, Overtaken, Refused
from cmi.arena.store.schema import BEGUN, UNTOUCHED, pairs, people, projects, views
from cmi.arena.store.statements import Statement
from cmi.arena.store.views import (
    AS_READ,
    PERSON,
    VIEW,
    View,
    Viewer,
    ViewRow,
    as_read,
    read_view,
    read_viewer,
    require_view,
    viewer_of,
)

CLOCKS_APART = 300.0  # seconds; a view held until later than HOLD plus this is from before a clock was set back
TRIES = 3

Reason = Literal["quota", "no more pairs", "paused", "closed", "checks", "screened out", "not ready"]


class Done(NamedTuple):
    """There is nothing to show."""

    reason: Reason


class Progress(NamedTuple):
    """A person's progress in the study or, before they have qualified, in the qualification."""

    done: int  # votes of the person, hidden ones included
    quota: int | None


def next_page(database: Database, person: str) -> tuple[View | Done, Progress]:
    """Return the page to show and the person's progress, from one transaction."""
    found = _next_page(database, person)
    if found[0] == Done("no more pairs") and _release_late_views(database, person):
        return _next_page(database, person)
    return found


def begin(database: Database, person: str, key: str) -> View:
    """Record durably that the person has read the instruction, so the takes may be shown. Idempotent."""
    if not database.is_sqlite:
        with suppress(Overtaken), database.stepping() as connection:
            return _begin(connection, database.now, person, key, lock=False)
    with database.writing() as connection:
        return _begin(connection, database.now, person, key, lock=True)


def _begin(connection: Connection, clock: Callable[[], float], person: str, key: str, lock: bool) -> View:
    """Without `lock`, Overtaken unless the view is still as it was read when it begins."""
    row, who = require_view(connection, person, key, lock)
    who.require_role()
    if row.begun is None:
        who.require_open()
        now = clock()
        until = None if row.held is None else now + HOLD
        if not _BEGIN.all(connection, {"now": now, "until": until, **as_read(row)}):
            raise Overtaken
        row = row._replace(begun=now, held=until)
    return read_view(connection, row, who.study)


def look(database: Database, person: str, key: str) -> View:
    """Return an earlier page of the person, with their vote."""
    with database.reading() as connection:
        row, who = require_view(connection, person, key)
        who.require_role()
        return read_view(connection, row, who.study)


def skip(database: Database, person: str, key: str) -> None:
    """Continue without a vote; Refused unless a sound of the pair is missing or changed."""
    with database.writing(lasting=False) as connection:
        _read_asker(connection, person)  # locks the person's row first, as everywhere
        row, _ = require_view(connection, person, key, lock=True)
        if not pair_rows.is_broken(connection, row.pair):
            raise Refused("skip", "nothing is wrong with these recordings; try to play them again")
        if row.closed is None:
            _close(connection, row, database.now())


def progress(database: Database, person: str) -> Progress:
    with database.reading() as connection:
        done = connection.scalar(select(_DONE).where(people.c.id == person))
        return Progress(done or 0, read_viewer(connection, person).quota)


def why_barred(who: Viewer) -> Done | None:
    """Return why a person may not continue, whatever is left to do; None if they may."""
    if who.screened_out is not None:
        return Done("screened out")
    if who.project_state == "closed":
        return Done("closed")
    if who.project_state == "paused" or who.state == "paused":
        return Done("paused")
    return Done("checks") if who.is_to_be_checked else None


def _next_page(database: Database, person: str) -> tuple[View | Done, Progress]:
    """Look again if another request of the same person may have opened a view while this one waited for their row.

    PostgreSQL shows a statement that waits for a lock what there was before it waited.
    """
    for _ in range(TRIES - 1):
        with suppress(IntegrityError):  # a person has one open view
            found = _find_page(database, person)
            if database.is_sqlite or found[0] != Done("no more pairs"):
                return found
    return _find_page(database, person)


def _find_page(database: Database, person: str) -> tuple[View | Done, Progress]:
    with database.writing(lasting=False) as connection:
        who, progress, row, is_broken = _read_asker(connection, person)
        found = _find_view(connection, who, progress, row, is_broken, database.now())
        if isinstance(found, View) and found.is_qualifying:
            progress = Progress(qualification.tally(connection, person).n, who.study.qualify_pairs)
        return found, progress


def _read_asker(connection: Connection, person: str) -> tuple[Viewer, Progress, ViewRow | None, bool]:
    """Lock the person's row; return them, their progress, their open view and whether its pair is broken."""
    row = _ASKER.one_or_none(connection, {"person": person})
    if row is None:
        raise NotFound("there is no such person")
    who = viewer_of(row, person).require_role()
    view = None if row.key is None else ViewRow._make(row[: len(VIEW)])
    return who, Progress(row.done, who.quota), view, bool(row.broken)


def _find_view(
    connection: Connection, who: Viewer, progress: Progress, row: ViewRow | None, is_broken: bool, now: float
) -> View | Done:
    if (barred := why_barred(who)) is not None:
        return barred
    if row is not None and _keep_open(connection, row, is_broken, now):
        return read_view(connection, row, who.study)
    if who.is_to_qualify:
        passed = qualification.judge(connection, who, now)
        if passed is False:
            return Done("screened out")
        if passed is None:
            pair = take_gold(connection, who)
            if pair is None:
                return Done("not ready")
            row = show(connection, new_view(who, now, pair)._replace(qualifying=True))
            return read_view(connection, row, who.study)
    if progress.quota is not None and progress.done >= progress.quota:
        return Done("quota")
    seen = read_seen(connection, who)
    row = _reopen_skipped(connection, who.id, now) if seen.skipped else None
    if row is not None:
        return read_view(connection, row, who.study)
    row = open_view(connection, who, seen, now)
    return Done("no more pairs") if row is None else read_view(connection, row, who.study)


def _keep_open(connection: Connection, row: ViewRow, is_broken: bool, now: float) -> bool:
    """Return whether an open view can still be voted on; hold it again if it was released, or close it."""
    if is_broken:
        _close(connection, row, now)
        return False
    if row.held is not None or row.repeat_of is not None:
        return True
    if pair_rows.has_room(connection, row.pair):
        _hold(connection, row, now)
        return True
    _close(connection, row, now)
    return False


def _reopen_skipped(connection: Connection, person: str, now: float) -> ViewRow | None:
    """Reopen the person's earliest skipped view that can be voted on now."""
    found = connection.execute(_SKIPPED, {"person": person}).one_or_none()
    if found is None:
        return None
    row = ViewRow._make(found)
    if row.repeat_of is None:
        if not pair_rows.has_room(connection, row.pair):
            return None
        _hold(connection, row, now)
    connection.execute(update(views).where(views.c.key == row.key).values(closed=None))
    return row._replace(closed=None)


def _hold(connection: Connection, row: ViewRow, now: float) -> None:
    connection.execute(update(views).where(views.c.key == row.key).values(held=now + HOLD))
    pair_rows.take(connection, row.pair, 1)


def _close(connection: Connection, row: ViewRow, now: float) -> None:
    connection.execute(update(views).where(views.c.key == row.key).values(closed=now, held=None))
    if row.held is not None:
        pair_rows.take(connection, row.pair, -1)


def _release_late_views(database: Database, person: str) -> bool:
    """Release the project's views that were held for too long; return whether there were any."""
    with database.writing(lasting=False) as connection:
        now = database.now()
        late = (views.c.held < now) | (views.c.held > now + HOLD + CLOCKS_APART)
        here = views.c.project == read_viewer(connection, person).project
        asked = select(views.c.key, views.c.pair).where(here & late).order_by(views.c.key)
        rows = connection.execute(asked.with_for_update(skip_locked=True, key_share=True)).all()
        if rows:
            let_go = update(views).where(views.c.key == bindparam("view")).values(held=None)
            connection.execute(let_go, [{"view": row.key} for row in rows])
        for pair, count in sorted(Counter(row.pair for row in rows).items()):
            pair_rows.take(connection, pair, -count)
    return bool(rows)


# Queries are built once, because building one takes longer than running it on SQLite.

_MINE = views.c.person == bindparam("person")
_AGAIN = views.c.repeat_of.is_not(None)

_V = views.alias()
_VOTED_ON = (_V.c.person == people.c.id) & (_V.c.votes > 0) & _V.c.qualifying.is_(None)
_DONE = select(func.count()).select_from(_V).where(_VOTED_ON).correlate(people).scalar_subquery()
_ASKER = Statement(
    select(*VIEW, *PERSON, pairs.c.broken, _DONE.label("done"))
    .select_from(people)
    .join(projects, projects.c.id == people.c.project)
    .outerjoin(views, (views.c.person == people.c.id) & views.c.closed.is_(None))
    .outerjoin(pairs, pairs.c.id == views.c.pair)
    .where(people.c.id == bindparam("person"))
    .with_for_update(of=people, key_share=True)
)

_CAN_BE_VOTED_ON = pairs.c.stage.in_((BEGUN, UNTOUCHED)) | (~pairs.c.broken & (_AGAIN | (pairs.c.kind == "gold")))
_SKIPPED = (
    select(*(views.c[name] for name in ViewRow._fields))
    .join(pairs, pairs.c.id == views.c.pair)
    .where(_MINE & views.c.closed.is_not(None) & (views.c.votes == 0) & _CAN_BE_VOTED_ON)
    .where(views.c.qualifying.is_(None))
    .order_by(views.c.created)
    .limit(1)
)


_BEGIN = Statement(
    update(views)
    .where(AS_READ & views.c.begun.is_(None))
    .values(begun=bindparam("now"), held=bindparam("until"))
    .returning(views.c.key)
)
