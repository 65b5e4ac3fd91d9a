"""Assign pairs to annotators.

An open view without a vote is shown again, so a reload shows the same page. Otherwise, in this order:

Gold        one pair with a known answer in each 1 / gold_share views of a person, at a place drawn by the seed.
Repeats     one in each 1 / repeat_share views: the person's oldest ordinary pair that was not repeated and lies at
            least REPEAT_GAP pairs back, with its takes swapped. The page does not mark gold and repeats.
Ordinary    from the modality of which the person has seen the smallest share: first a pair that others have begun and
            that wants more votes, else an untouched one in random order, so a study that stops early has voted on a
            random sample.

Views in flight count towards the votes that a pair wants. When no other pairs are left, views held for HOLD seconds
without a vote stop counting and their pairs are given to others; a late vote is still kept.

A pair with a missing or changed sound is not assigned. An annotator who has it continues with another pair and gets it
back under the same key once it is repaired.
"""

from collections import Counter
from contextlib import suppress
from typing import Literal, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    Update,
    bindparam,
    case,
    exists,
    false,
    func,
    insert,
    literal,
    select,
    union_all,
    update,
)
from sqlalchemy.exc import IntegrityError

from cmi.arena.store import pairs as pair_rows
from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import chance
from cmi.arena.store.schema import BEGUN, FULL, UNTOUCHED, new_id, pairs, people, projects, stage_of, views
from cmi.arena.store.statements import Statement
from cmi.arena.store.views import (
    PERSON,
    VIEW,
    View,
    Viewer,
    ViewRow,
    read_view,
    read_viewer,
    require_view,
    viewer_of,
)

HOLD = 3600.0  # seconds that an open view counts as in flight
CLOCKS_APART = 300.0  # seconds; a view held until later than HOLD plus this is from before a clock was set back
REPEAT_GAP = 5  # minimum number of ordinary pairs between a pair and its repeat
TRIES = 3

Reason = Literal["quota", "no more pairs", "paused", "closed"]


class Done(NamedTuple):
    """There is nothing to show."""

    reason: Reason


class Progress(NamedTuple):
    done: int  # votes of the person, hidden ones included
    quota: int | None


class _Choice(NamedTuple):
    pair: str
    swapped: bool
    repeat_of: str | None = None


class _Seen(NamedTuple):
    """What a person has seen and what is left for everybody."""

    views: Counter[tuple[str, str]]  # by (ordinary, gold or repeat; modality)
    skipped: int  # views closed without a vote
    left: dict[str, int]  # ordinary pairs that want votes, by modality


def next_page(database: Database, person: str) -> tuple[View | Done, Progress]:
    """Return the page to show and the person's progress, from one transaction."""
    found = _next_page(database, person)
    if found[0] == Done("no more pairs") and _release_late_views(database, person):
        return _next_page(database, person)
    return found


def begin(database: Database, person: str, key: str) -> View:
    """Record durably that the person has read the instruction, so the takes may be shown. Idempotent."""
    with database.writing() as connection:
        row, who = require_view(connection, person, key, lock=True)
        who.require_role()
        if row.begun is None:
            if who.project_state != "open":
                raise Refused(who.project_state, f"the study is {who.project_state}: nothing new can be begun")
            if who.state == "paused":
                raise Refused("paused", "you are paused: nothing new can be begun")
            now = database.now()
            row = row._replace(begun=now, held=None if row.held is None else now + HOLD)
            _BEGIN.run(connection, {"view": key, "now": now, "until": row.held})
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
        return _find_view(connection, who, progress, row, is_broken, database.now()), progress


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
    if who.project_state == "closed":
        return Done("closed")
    if who.project_state == "paused" or who.state == "paused":
        return Done("paused")
    if row is not None and _keep_open(connection, row, is_broken, now):
        return read_view(connection, row, who.study)
    if progress.quota is not None and progress.done >= progress.quota:
        return Done("quota")
    seen = _read_seen(connection, who)
    row = _reopen_skipped(connection, who.id, now) if seen.skipped else None
    if row is not None:
        return read_view(connection, row, who.study)
    choice = _choose(connection, who, seen)
    if choice is None:
        return Done("no more pairs")
    return read_view(connection, _show(connection, who, choice, now), who.study)


def _show(connection: Connection, who: Viewer, choice: _Choice, now: float) -> ViewRow:
    """Open a view of a pair whose showing has been counted."""
    held = now + HOLD if choice.repeat_of is None else None
    row = ViewRow(new_id(), who.project, choice.pair, who.id, choice.swapped, choice.repeat_of, now, held=held)
    _OPEN.run(connection, row._asdict())
    return row


def _keep_open(connection: Connection, row: ViewRow, is_broken: bool, now: float) -> bool:
    """Whether an open view can still be voted on; hold it again if it was released, close it if not."""
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


def _read_seen(connection: Connection, who: Viewer) -> _Seen:
    seen = _Seen(Counter(), 0, {})
    for row in _SEEN.all(connection, {"person": who.id, "project": who.project}):
        if row.kind == _LEFT:
            seen.left[row.modality] = row.n
        else:
            seen.views["repeat" if row.again else row.kind, row.modality] += row.n
            seen = seen._replace(skipped=seen.skipped + row.skipped)
    return seen


def _choose(connection: Connection, who: Viewer, seen: _Seen) -> _Choice | None:
    """Choose what to show and count the showing."""
    study, count = who.study, seen.views.total()
    gold, repeats = (sum(n for (kind, _), n in seen.views.items() if kind == hidden) for hidden in ("gold", "repeat"))
    asked = {"person": who.id, "project": who.project}
    if _is_due(count, gold, study.gold_share, study.seed, who.id, "gold"):
        pair = connection.scalar(_GOLD, asked)
        if pair is not None:
            pair_rows.take(connection, pair, 1)
            return _draw_order(pair, who)
    if _is_due(count, repeats, study.repeat_share, study.seed, who.id, "repeat"):
        voted = connection.execute(_VOTED, asked).all()
        oldest = next((row for row in voted[: max(0, len(voted) - REPEAT_GAP)] if row.again is None), None)
        if oldest is not None:
            return _Choice(oldest.pair, not oldest.swapped, oldest.key)
    pair = _take_ordinary(connection, who, seen)
    return None if pair is None else _draw_order(pair, who)


def _draw_order(pair: str, who: Viewer) -> _Choice:
    return _Choice(pair, chance(who.study.seed, "order", pair, who.id) < 0.5)


def _is_due(seen: int, hidden: int, share: float, seed: int, person: str, what: str) -> bool:
    """Whether the next hidden view is due: the k-th lies at a random place in the k-th block of 1 / share views."""
    return share > 0 and seen >= int((hidden + chance(seed, what, person, hidden)) / share)


def _take_ordinary(connection: Connection, who: Viewer, seen: _Seen) -> str | None:
    """Take a pair that wants votes: first one that is not locked, then wait, because the last pair may be locked."""

    def share(modality: str) -> tuple[float, str]:
        mine = seen.views["ordinary", modality]
        return (mine + 1) / (mine + seen.left[modality]), modality

    asked = {"project": who.project, "person": who.id}
    for statement in (_TAKE_FREE, _TAKE):
        for modality in sorted(seen.left, key=share):
            row = statement.one_or_none(connection, {**asked, "modality": modality})
            if row is not None:
                pair: str = row.id
                return pair
        if connection.dialect.name == "sqlite":  # one writer, no row locks
            break
    return None


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
_OURS = pairs.c.project == bindparam("project")
_UNSEEN = ~exists().where((views.c.pair == pairs.c.id) & _MINE)
_WANTS_VOTES = pairs.c.stage < FULL  # begun or untouched, in this order

_V = views.alias()
_VOTED_ON = (_V.c.person == people.c.id) & (_V.c.votes > 0)
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

_LEFT = "left"
_SEEN = Statement(
    union_all(
        select(pairs.c.kind, pairs.c.modality, _AGAIN.label("again"), func.count().label("n"))
        .add_columns(func.sum(case((views.c.closed.is_not(None) & (views.c.votes == 0), 1), else_=0)).label("skipped"))
        .join(pairs, pairs.c.id == views.c.pair)
        .where(_MINE)
        .group_by(pairs.c.kind, pairs.c.modality, _AGAIN),
        select(literal(_LEFT), pairs.c.modality, false(), func.count(), literal(0))
        .where(_OURS & (pairs.c.kind == "ordinary") & _WANTS_VOTES)
        .group_by(pairs.c.modality),
    )
)

# the gold pair that the fewest people have seen
_GOLD = (
    select(pairs.c.id)
    .where(_OURS & (pairs.c.kind == "gold") & ~pairs.c.broken & _UNSEEN)
    .order_by(pairs.c.taken, pairs.c.lot)
    .limit(1)
)

# the ordinary pairs that a person has voted on, the earliest first, with their repeats
_REPEAT = views.alias()
_VOTED = (
    select(views.c.key, views.c.pair, views.c.swapped, _REPEAT.c.key.label("again"))
    .join(pairs, pairs.c.id == views.c.pair)
    .outerjoin(_REPEAT, _REPEAT.c.repeat_of == views.c.key)
    .where(_MINE & ~_AGAIN & (views.c.votes > 0) & (pairs.c.kind == "ordinary") & ~pairs.c.broken)
    .order_by(views.c.created)
)

_CAN_BE_VOTED_ON = pairs.c.stage.in_((BEGUN, UNTOUCHED)) | (~pairs.c.broken & (_AGAIN | (pairs.c.kind == "gold")))
_SKIPPED = (
    select(*(views.c[name] for name in ViewRow._fields))
    .join(pairs, pairs.c.id == views.c.pair)
    .where(_MINE & views.c.closed.is_not(None) & (views.c.votes == 0) & _CAN_BE_VOTED_ON)
    .order_by(views.c.created)
    .limit(1)
)


def _take_first(wanted: Select[tuple[str]]) -> Update:
    """Count one more showing of the pair found, and return its id."""
    more = pairs.c.taken + 1
    stage = stage_of(more, pairs.c.wanted, pairs.c.broken)
    found = update(pairs).where(pairs.c.id == wanted.scalar_subquery()).values(taken=more, stage=stage)
    return found.returning(pairs.c.id)


_P = pairs.alias()
_WANTED = (
    select(_P.c.id)
    .where((_P.c.project == bindparam("project")) & (_P.c.kind == "ordinary"))
    .where((_P.c.modality == bindparam("modality")) & (_P.c.stage < FULL))
    .where(~exists().where((views.c.pair == _P.c.id) & _MINE))
    .order_by(_P.c.stage, _P.c.lot)
    .limit(1)
)
_TAKE_FREE = Statement(_take_first(_WANTED.with_for_update(of=_P, key_share=True, skip_locked=True)))
_TAKE = Statement(_take_first(_WANTED.with_for_update(of=_P, key_share=True)))

_OPEN = Statement(insert(views))
_BEGIN = Statement(
    update(views).where(views.c.key == bindparam("view")).values(begun=bindparam("now"), held=bindparam("until"))
)
