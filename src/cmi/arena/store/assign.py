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
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, bindparam, exists, func, insert, select, update

from cmi.arena.store import pairs as pair_rows
from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import chance
from cmi.arena.store.schema import BEGUN, UNTOUCHED, new_id, pairs, people, projects, views
from cmi.arena.store.study import Study
from cmi.arena.store.views import View, ViewRow, open_view, read_view, require_view

HOLD = 3600.0  # seconds that an open view counts as in flight
CLOCKS_APART = 300.0  # seconds; a view held until later than HOLD plus this is from before a clock was set back
REPEAT_GAP = 5  # minimum number of ordinary pairs between a pair and its repeat

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


class _Who(NamedTuple):
    id: str
    role: str
    state: str
    quota: int | None  # their own, or the project's
    project: str
    project_state: Literal["open", "paused", "closed"]
    study: Study


def next_page(database: Database, person: str) -> tuple[View | Done, Progress]:
    """Return the page to show and the person's progress, from one transaction."""
    found = _next_page(database, person)
    if found[0] == Done("no more pairs") and _release_late_views(database, person):
        return _next_page(database, person)
    return found


def begin(database: Database, person: str, key: str) -> View:
    """Record durably that the person has read the instruction, so the takes may be shown. Idempotent."""
    with database.writing() as connection:
        who = _require_annotator(connection, person)
        row = require_view(connection, person, key, lock=True)
        if row.begun is None:
            if who.project_state != "open":
                raise Refused(who.project_state, f"the study is {who.project_state}: nothing new can be begun")
            if who.state == "paused":
                raise Refused("paused", "you are paused: nothing new can be begun")
            now = database.now()
            row = row._replace(begun=now, held=None if row.held is None else now + HOLD)
            connection.execute(_BEGIN, {"view": key, "now": now, "until": row.held})
        return read_view(connection, row, who.study)


def look(database: Database, person: str, key: str) -> View:
    """Return an earlier page of the person, with their vote."""
    with database.reading() as connection:
        who = _require_annotator(connection, person)
        return read_view(connection, require_view(connection, person, key), who.study)


def skip(database: Database, person: str, key: str) -> None:
    """Continue without a vote; Refused unless a sound of the pair is missing or changed."""
    with database.writing(lasting=False) as connection:
        _require_annotator(connection, person, lock=True)
        row = require_view(connection, person, key, lock=True)
        if not pair_rows.is_broken(connection, row.pair):
            raise Refused("skip", "nothing is wrong with these recordings; try to play them again")
        if row.closed is None:
            _close(connection, row, database.now())


def progress(database: Database, person: str) -> Progress:
    with database.reading() as connection:
        who = _read_person(connection, person)
        return Progress(_count_votes(connection, person), who.quota)


def _next_page(database: Database, person: str) -> tuple[View | Done, Progress]:
    """Lock the person's row, so that simultaneous requests get the same view."""
    with database.writing(lasting=False) as connection:
        who = _require_annotator(connection, person, lock=True)
        progress = Progress(_count_votes(connection, person), who.quota)
        return _find_view(connection, who, progress, database.now()), progress


def _find_view(connection: Connection, who: _Who, progress: Progress, now: float) -> View | Done:
    if who.project_state == "closed":
        return Done("closed")
    if who.project_state == "paused" or who.state == "paused":
        return Done("paused")
    row = open_view(connection, who.id)
    if row is not None and _keep_open(connection, row, now):
        return read_view(connection, row, who.study)
    if progress.quota is not None and progress.done >= progress.quota:
        return Done("quota")
    row = _reopen_skipped(connection, who.id, now)
    if row is not None:
        return read_view(connection, row, who.study)
    choice = _choose(connection, who)
    if choice is None:
        return Done("no more pairs")
    return read_view(connection, _show(connection, who, choice, now), who.study)


def _show(connection: Connection, who: _Who, choice: _Choice, now: float) -> ViewRow:
    first = choice.repeat_of is None
    if first:
        pair_rows.take(connection, choice.pair, 1)
    held = now + HOLD if first else None
    row = ViewRow(new_id(), who.project, choice.pair, who.id, choice.swapped, choice.repeat_of, now, held=held)
    connection.execute(insert(views), row._asdict())
    return row


def _keep_open(connection: Connection, row: ViewRow, now: float) -> bool:
    """Whether an open view can still be voted on; hold it again if it was released, close it if not."""
    if pair_rows.is_broken(connection, row.pair):
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


def _choose(connection: Connection, who: _Who) -> _Choice | None:
    had, study = _count_views(connection, who.id), who.study
    seen = sum(had.values())
    gold, repeats = (sum(count for (kind, _), count in had.items() if kind == hidden) for hidden in ("gold", "repeat"))
    asked = {"person": who.id, "project": who.project}
    if _is_due(seen, gold, study.gold_share, study.seed, who.id, "gold"):
        pair = connection.scalar(_GOLD, asked)
        if pair is not None:
            return _draw_order(pair, who)
    if _is_due(seen, repeats, study.repeat_share, study.seed, who.id, "repeat"):
        voted = connection.execute(_VOTED, asked).all()
        oldest = next((row for row in voted[: max(0, len(voted) - REPEAT_GAP)] if row.again is None), None)
        if oldest is not None:
            return _Choice(oldest.pair, not oldest.swapped, oldest.key)
    pair = _find_ordinary(connection, who, had)
    return None if pair is None else _draw_order(pair, who)


def _draw_order(pair: str, who: _Who) -> _Choice:
    return _Choice(pair, chance(who.study.seed, "order", pair, who.id) < 0.5)


def _count_views(connection: Connection, person: str) -> Counter[tuple[str, str]]:
    """Count a person's views by (ordinary, gold or repeat; modality)."""
    had: Counter[tuple[str, str]] = Counter()
    for row in connection.execute(_HAD, {"person": person}):
        had["repeat" if row.again else row.kind, row.modality] += row.n
    return had


def _is_due(seen: int, hidden: int, share: float, seed: int, person: str, what: str) -> bool:
    """Whether the next hidden view is due: the k-th lies at a random place in the k-th block of 1 / share views."""
    return share > 0 and seen >= int((hidden + chance(seed, what, person, hidden)) / share)


def _find_ordinary(connection: Connection, who: _Who, had: Counter[tuple[str, str]]) -> str | None:
    """Find and lock a pair that wants votes: first an unlocked one, then wait, because the last pair may be locked."""
    asked = {"project": who.project, "person": who.id}
    left = {row.modality: row.n for row in connection.execute(_LEFT, asked)}

    def share(modality: str) -> tuple[float, str]:
        mine = had["ordinary", modality]
        return (mine + 1) / (mine + left[modality]), modality

    for query in (_ORDINARY_FREE, _ORDINARY):
        for modality in sorted(left, key=share):
            for stage in (BEGUN, UNTOUCHED):
                pair: str | None = connection.scalar(query, {**asked, "modality": modality, "stage": stage})
                if pair is not None:
                    return pair
        if connection.dialect.name == "sqlite":  # one writer, no row locks
            break
    return None


def _release_late_views(database: Database, person: str) -> bool:
    """Release the project's views that were held for too long; return whether there were any."""
    with database.writing(lasting=False) as connection:
        now = database.now()
        late = (views.c.held < now) | (views.c.held > now + HOLD + CLOCKS_APART)
        here = views.c.project == _read_person(connection, person).project
        asked = select(views.c.key, views.c.pair).where(here & late).order_by(views.c.key)
        rows = connection.execute(asked.with_for_update(skip_locked=True, key_share=True)).all()
        if rows:
            let_go = update(views).where(views.c.key == bindparam("view")).values(held=None)
            connection.execute(let_go, [{"view": row.key} for row in rows])
        for pair, count in sorted(Counter(row.pair for row in rows).items()):
            pair_rows.take(connection, pair, -count)
    return bool(rows)


def _count_votes(connection: Connection, person: str) -> int:
    return connection.scalar(_VOTES, {"person": person}) or 0


def _read_person(connection: Connection, person: str, lock: bool = False) -> _Who:
    row: Row[Any] | None = connection.execute(_WHO_LOCKED if lock else _WHO, {"person": person}).one_or_none()
    if row is None:
        raise NotFound("there is no such person")
    study = Study(**row.settings)
    return _Who(person, row.role, row.state, row.quota or study.quota, row.project, row.project_state, study)


def _require_annotator(connection: Connection, person: str, lock: bool = False) -> _Who:
    who = _read_person(connection, person, lock)
    if who.role != "annotator":
        raise Refused("role", f"the {who.role} of a study does not vote in it; make yourself an annotator's link")
    if who.state == "withdrawn":
        raise Refused("withdrawn", "you have withdrawn from this study")
    return who


# Queries are built once, because building one takes longer than running it on SQLite.

_MINE = views.c.person == bindparam("person")
_AGAIN = views.c.repeat_of.is_not(None)
_OURS = pairs.c.project == bindparam("project")
_UNSEEN = ~exists().where((views.c.pair == pairs.c.id) & _MINE)

_WHO = (
    select(people.c.role, people.c.state, people.c.quota, people.c.project)
    .add_columns(projects.c.state.label("project_state"), projects.c.settings)
    .join(projects, projects.c.id == people.c.project)
    .where(people.c.id == bindparam("person"))
)
_WHO_LOCKED = _WHO.with_for_update(of=people, key_share=True)

_VOTES = select(func.count()).select_from(views).where(_MINE & (views.c.votes > 0))

_HAD = (
    select(pairs.c.kind, pairs.c.modality, _AGAIN.label("again"), func.count().label("n"))
    .join(pairs, pairs.c.id == views.c.pair)
    .where(_MINE)
    .group_by(pairs.c.kind, pairs.c.modality, _AGAIN)
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

_LEFT = (
    select(pairs.c.modality, func.count().label("n"))
    .where(_OURS & (pairs.c.kind == "ordinary") & pairs.c.stage.in_((BEGUN, UNTOUCHED)))
    .group_by(pairs.c.modality)
)

_HERE = (pairs.c.modality == bindparam("modality")) & (pairs.c.stage == bindparam("stage"))
_WANTED = (
    select(pairs.c.id).where(_OURS & (pairs.c.kind == "ordinary") & _HERE & _UNSEEN).order_by(pairs.c.lot).limit(1)
)
_ORDINARY = _WANTED.with_for_update(of=pairs, key_share=True)
_ORDINARY_FREE = _WANTED.with_for_update(of=pairs, key_share=True, skip_locked=True)

_BEGIN = update(views).where(views.c.key == bindparam("view")).values(begun=bindparam("now"), held=bindparam("until"))
