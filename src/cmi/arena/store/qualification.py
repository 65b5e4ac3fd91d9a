"""Qualification: before the study's own pairs, a person must be right on enough gold pairs.

A gold pair is right if every answer that is known of it is. The verdict comes as soon as it is certain: the same that
would come after all `qualify_pairs`. Votes of a qualification are in no statistic and no export of preferences.
"""

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from cmi.arena.store.schema import note, pairs, people, views, votes
from cmi.arena.store.views import Viewer


class GoldTally(NamedTuple):
    right: int
    n: int


def tally(connection: Connection, person: str) -> GoldTally:
    """How many gold pairs of the qualification a person has voted on, without hidden ones, and how many are right."""
    rows = connection.execute(_QUALIFYING, {"person": person}).all()
    right = sum(all(getattr(row, axis) == side for axis, side in (row.gold or {}).items()) for row in rows)
    return GoldTally(right, len(rows))


def judge(connection: Connection, who: Viewer, now: float) -> bool | None:
    """Store and return whether the person has qualified; None if that is not certain yet."""
    found, study = tally(connection, who.id), who.study
    if found.right >= study.qualify_right:
        connection.execute(update(people).where(people.c.id == who.id).values(qualified=now))
        return True
    if found.n - found.right > study.qualify_pairs - study.qualify_right:
        screen_out(connection, who, "qualification", now)
        return False
    return None


def screen_out(connection: Connection, who: Viewer, check: str, now: float) -> None:
    """End a person's participation, because they failed a check."""
    connection.execute(update(people).where(people.c.id == who.id).values(screened_out=check))
    note(connection, now, who.project, "screened out", who.id, {"by": check})


_QUALIFYING = (
    select(pairs.c.gold, votes.c.alignment, votes.c.musicality)
    .join(views, (views.c.key == votes.c.view) & (views.c.votes == votes.c.number))
    .join(pairs, pairs.c.id == votes.c.pair)
    .where((votes.c.person == bindparam("person")) & views.c.qualifying & pairs.c.hidden.is_(None))
)
