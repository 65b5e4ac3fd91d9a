"""Statements that take an ordinary pair for a person: the first that wants votes and that they have not seen.

On PostgreSQL the view is opened in the same statement. The first of TAKE_AND_SHOW passes over pairs that others are
taking, the second waits for them.
"""

from sqlalchemy import Select, Text, Update, bindparam, exists, func, insert, select, update

from cmi.arena.store.schema import FULL, pairs, stage_of, views
from cmi.arena.store.statements import Statement
from cmi.arena.store.views import ViewRow


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
    .where(~exists().where((views.c.pair == _P.c.id) & (views.c.person == bindparam("person"))))
    .order_by(_P.c.stage, _P.c.lot)
    .limit(1)
)
TAKE = Statement(_take_first(_WANTED))

PAIR = "\x1e"  # stands for the id of the pair that the database chooses


def _take_and_show(skip_locked: bool) -> Statement:
    """Take a pair and open its view in one statement, for PostgreSQL; `chance` decides about the order of its takes."""
    locked = _WANTED.with_for_update(of=_P, key_share=True, skip_locked=skip_locked)
    taken = _take_first(locked).cte("taken")
    text = bindparam("before", type_=Text) + taken.c.id + bindparam("after", type_=Text)
    is_swapped = func.get_byte(func.sha256(func.convert_to(text, "UTF8")), 0) < 128  # a chance below a half
    known = {"pair": taken.c.id, "swapped": is_swapped}
    row = [known.get(name, bindparam(name, type_=views.c[name].type)) for name in ViewRow._fields]
    return Statement(
        insert(views)
        .from_select(ViewRow._fields, select(*row).select_from(taken))
        .returning(views.c.pair, views.c.swapped)
    )


TAKE_AND_SHOW = _take_and_show(skip_locked=True), _take_and_show(skip_locked=False)
