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

Before all that, nobody gets a pair who has still to pass the study's sound checks or who was screened out, and gold
pairs come first for whoever has to qualify (`cmi.arena.store.qualification`). The views of a qualification count for
nothing else.

A pair with a missing or changed sound is not assigned. An annotator who has it continues with another pair and gets it
back under the same key once it is repaired.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple

from sqlalchemy import (
    Connection,
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
from cmi.arena.store import qualification
from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound, Overtaken, Refused
from cmi.arena.store.pairs import chance, chance_text
from cmi.arena.store.schema import BEGUN, FULL, UNTOUCHED, new_id, pairs, people, projects, views
from cmi.arena.store.statements import Statement
from cmi.arena.store.taking import PAIR, TAKE, TAKE_AND_SHOW
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

HOLD = 3600.0  # seconds that an open view counts as in flight
CLOCKS_APART = 300.0  # seconds; a view held until later than HOLD plus this is from before a clock was set back
REPEAT_GAP = 5  # minimum number of ordinary pairs between a pair and its repeat
TRIES = 3

Reason = Literal["quota", "no more pairs", "paused", "closed", "checks", "screened out", "not ready"]


class Done(NamedTuple):
    """There is nothing to show."""

    reason: Reason


class Progress(NamedTuple):
    """Of the study or, while a person qualifies, of the qualification."""

    done: int  # votes of the person, hidden ones included
    quota: int | None


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
    """Why a person is shown nothing, whatever is left to do; None if they may go on."""
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
            pair = _take_gold(connection, who)
            if pair is None:
                return Done("not ready")
            row = _show(connection, _new_view(who, now, pair)._replace(qualifying=True))
            return read_view(connection, row, who.study)
    if progress.quota is not None and progress.done >= progress.quota:
        return Done("quota")
    seen = _read_seen(connection, who)
    row = _reopen_skipped(connection, who.id, now) if seen.skipped else None
    if row is not None:
        return read_view(connection, row, who.study)
    row = _open_view(connection, who, seen, now)
    return Done("no more pairs") if row is None else read_view(connection, row, who.study)


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


def _open_view(connection: Connection, who: Viewer, seen: _Seen, now: float) -> ViewRow | None:
    """Choose what to show, count the showing and open a view of it."""
    study, count = who.study, seen.views.total()
    gold, repeats = (sum(n for (kind, _), n in seen.views.items() if kind == hidden) for hidden in ("gold", "repeat"))
    asked = {"person": who.id, "project": who.project}
    if _is_due(count, gold, study.gold_share, study.seed, who.id, "gold"):
        pair = _take_gold(connection, who)
        if pair is not None:
            return _show(connection, _new_view(who, now, pair))
    if _is_due(count, repeats, study.repeat_share, study.seed, who.id, "repeat"):
        voted = connection.execute(_VOTED, asked).all()
        oldest = next((row for row in voted[: max(0, len(voted) - REPEAT_GAP)] if row.again is None), None)
        if oldest is not None:
            view = _new_view(who, now, oldest.pair)
            return _show(connection, view._replace(swapped=not oldest.swapped, repeat_of=oldest.key, held=None))
    return _open_ordinary(connection, who, seen, now)


def _take_gold(connection: Connection, who: Viewer) -> str | None:
    pair = connection.scalar(_GOLD, {"person": who.id, "project": who.project})
    if pair is not None:
        pair_rows.take(connection, pair, 1)
    return pair


def _new_view(who: Viewer, now: float, pair: str) -> ViewRow:
    swapped = chance(*_order(who, pair)) < 0.5
    return ViewRow(new_id(), who.project, pair, who.id, swapped, None, now, held=now + HOLD)


def _order(who: Viewer, pair: str) -> tuple[int, str, str, str]:
    """The names of the chance by which the takes are swapped."""
    return who.study.seed, "order", pair, who.id


def _show(connection: Connection, row: ViewRow) -> ViewRow:
    _SHOW.run(connection, row._asdict())
    return row


def _is_due(seen: int, hidden: int, share: float, seed: int, person: str, what: str) -> bool:
    """Whether the next hidden view is due: the k-th lies at a random place in the k-th block of 1 / share views."""
    return share > 0 and seen >= int((hidden + chance(seed, what, person, hidden)) / share)


def _open_ordinary(connection: Connection, who: Viewer, seen: _Seen, now: float) -> ViewRow | None:
    """Take a pair that wants votes: first one that is not locked, then wait, because the last pair may be locked."""

    def share(modality: str) -> tuple[float, str]:
        mine = seen.views["ordinary", modality]
        return (mine + 1) / (mine + seen.left[modality]), modality

    asked = {"project": who.project, "person": who.id}
    modalities = sorted(seen.left, key=share)
    if connection.dialect.name == "sqlite":  # one writer, no row locks
        for modality in modalities:
            row = TAKE.one_or_none(connection, {**asked, "modality": modality})
            if row is not None:
                return _show(connection, _new_view(who, now, row.id))
        return None
    view = _new_view(who, now, "")
    before, after = chance_text(*_order(who, PAIR)).split(PAIR)
    values = {**view._asdict(), "before": before, "after": after}
    for statement in TAKE_AND_SHOW:
        for modality in modalities:
            row = statement.one_or_none(connection, {**values, "modality": modality})
            if row is not None:
                return view._replace(pair=row.pair, swapped=row.swapped)
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

_LEFT = "left"
_SEEN = Statement(
    union_all(
        select(pairs.c.kind, pairs.c.modality, _AGAIN.label("again"), func.count().label("n"))
        .add_columns(func.sum(case((views.c.closed.is_not(None) & (views.c.votes == 0), 1), else_=0)).label("skipped"))
        .join(pairs, pairs.c.id == views.c.pair)
        .where(_MINE & views.c.qualifying.is_(None))
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
    .where(views.c.qualifying.is_(None))
    .order_by(views.c.created)
    .limit(1)
)


_SHOW = Statement(insert(views))
_BEGIN = Statement(
    update(views)
    .where(AS_READ & views.c.begun.is_(None))
    .values(begun=bindparam("now"), held=bindparam("until"))
    .returning(views.c.key)
)
