"""Choose what a person is shown next, and open a view of it; in this order:

Gold        one pair with a known answer in each 1 / gold_share views of a person, at a place drawn by the seed.
Repeats     one in each 1 / repeat_share views: the person's oldest ordinary pair that was not repeated and lies at
            least REPEAT_GAP pairs back, with its takes swapped. The page does not mark gold and repeats.
Ordinary    from the modality of which the person has seen the smallest share: first a pair that others have begun and
            that wants more votes, else an untouched one in random order, so a study that stops early has voted on a
            random sample.
"""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, case, exists, false, func, insert, literal, select, union_all

from cmi.arena.store import pairs as pair_rows
from cmi.arena.store.pairs import chance, chance_text
from cmi.arena.store.schema import FULL, new_id, pairs, views
from cmi.arena.store.statements import Statement
from cmi.arena.store.taking import PAIR, TAKE, TAKE_AND_SHOW
from cmi.arena.store.views import Viewer, ViewRow

HOLD = 3600.0  # seconds that an open view counts as in flight
REPEAT_GAP = 5  # minimum number of ordinary pairs between a pair and its repeat


class Seen(NamedTuple):
    """What a person has seen and what is left for everybody."""

    views: Counter[tuple[str, str]]  # by (ordinary, gold or repeat; modality)
    skipped: int  # views closed without a vote
    left: dict[str, int]  # ordinary pairs that want votes, by modality


def read_seen(connection: Connection, who: Viewer) -> Seen:
    seen = Seen(Counter(), 0, {})
    for row in _SEEN.all(connection, {"person": who.id, "project": who.project}):
        if row.kind == _LEFT:
            seen.left[row.modality] = row.n
        else:
            seen.views["repeat" if row.again else row.kind, row.modality] += row.n
            seen = seen._replace(skipped=seen.skipped + row.skipped)
    return seen


def open_view(connection: Connection, who: Viewer, seen: Seen, now: float) -> ViewRow | None:
    """Choose what to show, count the showing and open a view of it."""
    study, count = who.study, seen.views.total()
    gold, repeats = (sum(n for (kind, _), n in seen.views.items() if kind == hidden) for hidden in ("gold", "repeat"))
    asked = {"person": who.id, "project": who.project}
    if _is_due(count, gold, study.gold_share, study.seed, who.id, "gold"):
        pair = take_gold(connection, who)
        if pair is not None:
            return show(connection, new_view(who, now, pair))
    if _is_due(count, repeats, study.repeat_share, study.seed, who.id, "repeat"):
        voted = connection.execute(_VOTED, asked).all()
        oldest = next((row for row in voted[: max(0, len(voted) - REPEAT_GAP)] if row.again is None), None)
        if oldest is not None:
            view = new_view(who, now, oldest.pair)
            return show(connection, view._replace(swapped=not oldest.swapped, repeat_of=oldest.key, held=None))
    return _open_ordinary(connection, who, seen, now)


def take_gold(connection: Connection, who: Viewer) -> str | None:
    pair = connection.scalar(_GOLD, {"person": who.id, "project": who.project})
    if pair is not None:
        pair_rows.take(connection, pair, 1)
    return pair


def new_view(who: Viewer, now: float, pair: str) -> ViewRow:
    swapped = chance(*_order(who, pair)) < 0.5
    return ViewRow(new_id(), who.project, pair, who.id, swapped, None, now, held=now + HOLD)


def _order(who: Viewer, pair: str) -> tuple[int, str, str, str]:
    """The names of the chance by which the takes are swapped."""
    return who.study.seed, "order", pair, who.id


def show(connection: Connection, row: ViewRow) -> ViewRow:
    _SHOW.run(connection, row._asdict())
    return row


def _is_due(seen: int, hidden: int, share: float, seed: int, person: str, what: str) -> bool:
    """Whether the next hidden view is due: the k-th lies at a random place in the k-th block of 1 / share views."""
    return share > 0 and seen >= int((hidden + chance(seed, what, person, hidden)) / share)


def _open_ordinary(connection: Connection, who: Viewer, seen: Seen, now: float) -> ViewRow | None:
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
                return show(connection, new_view(who, now, row.id))
        return None
    view = new_view(who, now, "")
    before, after = chance_text(*_order(who, PAIR)).split(PAIR)
    values = {**view._asdict(), "before": before, "after": after}
    for statement in TAKE_AND_SHOW:
        for modality in modalities:
            row = statement.one_or_none(connection, {**values, "modality": modality})
            if row is not None:
                return view._replace(pair=row.pair, swapped=row.swapped)
    return None


# Queries are built once, because building one takes longer than running it on SQLite.

_MINE = views.c.person == bindparam("person")
_AGAIN = views.c.repeat_of.is_not(None)
_OURS = pairs.c.project == bindparam("project")
_UNSEEN = ~exists().where((views.c.pair == pairs.c.id) & _MINE)
_WANTS_VOTES = pairs.c.stage < FULL  # begun or untouched, in this order

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

_SHOW = Statement(insert(views))
