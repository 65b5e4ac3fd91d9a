"""Views: one pair as shown to one person, with the takes in the order drawn for them.

Everything in `View` is as SHOWN: `a` is the take that the page calls A.
"""

from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select

from cmi.arena.store.database import Database, require_id
from cmi.arena.store.errors import NotFound
from cmi.arena.store.schema import pairs, sounds, views, votes
from cmi.arena.store.study import Side, Study

Part = Literal["a", "b", "reference"]
Problem = Literal["missing", "changed"]


class Original(NamedTuple):
    """A sound's file as of the last check."""

    id: str
    project: str
    path: str
    digest: str
    size: int | None
    modified: int | None
    problem: Problem | None


class PlayableSound(NamedTuple):
    original: Original
    seconds: float
    peaks: list[float]
    gain_db: float


class Ballot(NamedTuple):
    """A person's choices."""

    alignment: Side
    alignment_confidence: int
    musicality: Side
    musicality_confidence: int
    feedback: str = ""
    heard_a: float = 0.0  # seconds
    heard_b: float = 0.0
    heard_reference: float = 0.0
    alignment_touched: bool | None = None  # whether the person set the confidence; None if the page did not say
    musicality_touched: bool | None = None

    def turned(self, swapped: bool) -> "Ballot":
        """Convert between the sides shown and the pair's own sides."""
        if not swapped:
            return self
        alignment, musicality = turned(self.alignment, swapped), turned(self.musicality, swapped)
        return self._replace(alignment=alignment, musicality=musicality, heard_a=self.heard_b, heard_b=self.heard_a)


class Given(NamedTuple):
    """The latest vote on a view."""

    number: int
    created: float
    ballot: Ballot


class View(NamedTuple):
    key: str
    pair: str
    text: str
    lyrics: str
    modality: str
    reference: PlayableSound | None
    a: PlayableSound
    b: PlayableSound
    needed_a: float  # seconds that must be heard before a vote
    needed_b: float
    needed_reference: float
    begun: float | None
    vote: Given | None


class ViewRow(NamedTuple):
    key: str
    project: str
    pair: str
    person: str
    swapped: bool
    repeat_of: str | None
    created: float
    begun: float | None = None
    closed: float | None = None
    held: float | None = None
    votes: int = 0


_PART = {side: sounds.alias(side) for side in ("a", "b", "reference")}
_SOUND = (*Original._fields, *PlayableSound._fields[1:])
_COLUMNS = [views.c[name] for name in ViewRow._fields]
_MINE = select(*_COLUMNS).where((views.c.key == bindparam("key")) & (views.c.person == bindparam("person")))
_MINE_LOCKED = _MINE.with_for_update(key_share=True)
_OPEN = select(*_COLUMNS).where((views.c.person == bindparam("person")) & views.c.closed.is_(None))
_SHOWN = (
    select(
        *(pairs.c[name] for name in ("text", "lyrics", "modality")),
        *(part.c[name].label(f"{side}_{name}") for side, part in _PART.items() for name in _SOUND),
    )
    .join(_PART["a"], _PART["a"].c.id == pairs.c.a)
    .join(_PART["b"], _PART["b"].c.id == pairs.c.b)
    .outerjoin(_PART["reference"], _PART["reference"].c.id == pairs.c.reference)
    .where(pairs.c.id == bindparam("pair"))
)
_VOTE = select(votes).where((votes.c.view == bindparam("view")) & (votes.c.number == bindparam("number")))


def require_view(connection: Connection, person: str, key: str, lock: bool = False) -> ViewRow:
    """Read a person's view; NotFound if it is another's. `lock` locks its row."""
    asked = {"key": require_id(key, "page"), "person": person}
    row = connection.execute(_MINE_LOCKED if lock else _MINE, asked).one_or_none()
    if row is None:
        raise NotFound("you have no such page; continue with the next pair")
    return ViewRow._make(row)


def open_view(connection: Connection, person: str) -> ViewRow | None:
    """The view that a person has not voted on yet."""
    row = connection.execute(_OPEN, {"person": person}).one_or_none()
    return None if row is None else ViewRow._make(row)


def read_view(connection: Connection, row: ViewRow, study: Study) -> View:
    pair = connection.execute(_SHOWN, {"pair": row.pair}).one()._mapping
    part = {side: _sound([pair[f"{side}_{name}"] for name in _SOUND]) for side in _PART}
    a, b = part[turned("a", row.swapped)], part[turned("b", row.swapped)]
    vote = connection.execute(_VOTE, {"view": row.key, "number": row.votes}).one() if row.votes else None
    return View(
        key=row.key,
        pair=row.pair,
        text=pair["text"],
        lyrics=pair["lyrics"],
        modality=pair["modality"],
        reference=part["reference"] if pair["reference_id"] else None,
        a=a,
        b=b,
        needed_a=study.needed(a.seconds),
        needed_b=study.needed(b.seconds),
        needed_reference=study.needed_reference(pair["reference_seconds"]),
        begun=row.begun,
        vote=None if vote is None else given(vote, row.swapped),
    )


def find_original(database: Database, person: str, key: str, part: Part) -> Original:
    """The file of a part of a person's view; NotFound if it is another's or not begun yet."""
    with database.reading() as connection:
        row = require_view(connection, person, key)
        if row.begun is None and part != "reference":
            raise NotFound("the takes of this pair have not been opened yet")
        column = pairs.c[part if part == "reference" else turned(part, row.swapped)]
        asked = select(*(sounds.c[name] for name in Original._fields)).join(pairs, column == sounds.c.id)
        found = connection.execute(asked.where(pairs.c.id == row.pair)).one_or_none()
    if found is None:
        raise NotFound("this pair has no such sound")
    return Original._make(found)


def _sound(values: list[Any]) -> PlayableSound:
    ends = len(Original._fields)
    return PlayableSound(Original._make(values[:ends]), *values[ends:])


def given(vote: Row[Any], swapped: bool) -> Given:
    """A stored vote as its voter saw it."""
    columns = {name: getattr(vote, name) for name in Ballot._fields if not name.startswith("heard_")}
    stored = Ballot(**columns, **{f"heard_{part}": seconds for part, seconds in vote.heard.items()})
    return Given(vote.number, vote.created, stored.turned(swapped))


def turned(side: Side, swapped: bool) -> Side:
    """Convert between the side shown and the pair's own side."""
    if not swapped:
        return side
    return "b" if side == "a" else "a"
