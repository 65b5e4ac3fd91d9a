"""Views: one pair as shown to one person, with the takes in the order drawn for them.

Everything in `View` is as SHOWN: `a` is the take that the page calls A.

What a pair shows never changes, so it is read once and kept in memory. Only what was known of a sound's file when it
was read may be out of date (`Original`): whoever finds the file different reads it anew, after `forget_pair`.
"""

import json
from collections import OrderedDict
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, Text, bindparam, cast, select

from cmi.arena.store.database import Database, require_id
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.schema import pairs, people, projects, sounds, views, votes
from cmi.arena.store.statements import Statement
from cmi.arena.store.study import Side, Study

MOST_PAIRS = 2000  # kept in memory, about 10 kB each

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
    gain_db: float
    peaks: str  # JSON, as the page gets it


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


class PairContent(NamedTuple):
    """What a pair shows, with its own a and b."""

    text: str
    lyrics: str
    modality: str
    a: PlayableSound
    b: PlayableSound
    reference: PlayableSound | None

    def needed(self, study: Study) -> dict[Part, float]:
        """Seconds of each sound that must be heard before a vote."""
        reference = study.needed_reference(None if self.reference is None else self.reference.seconds)
        return {"a": study.needed(self.a.seconds), "b": study.needed(self.b.seconds), "reference": reference}


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
    is_qualifying: bool = False


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
    qualifying: bool | None = None


class Viewer(NamedTuple):
    """Whose view it is, and the state and settings of their project."""

    id: str
    role: str
    state: str
    quota: int | None  # their own, or the project's
    project: str
    project_state: Literal["open", "paused", "closed"]
    study: Study
    checked: float | None
    qualified: float | None
    screened_out: str | None

    @property
    def is_to_be_checked(self) -> bool:
        return self.checked is None and (self.study.device_check or self.study.headphone_check)

    @property
    def is_to_qualify(self) -> bool:
        return self.qualified is None and self.study.qualify_pairs > 0

    def require_role(self) -> "Viewer":
        """Refused if they may not vote."""
        if self.role != "annotator":
            raise Refused("role", f"the {self.role} of a study does not vote in it; make yourself an annotator's link")
        if self.state == "withdrawn":
            raise Refused("withdrawn", "you have withdrawn from this study")
        return self

    def require_active(self) -> None:
        """Refused if they are paused."""
        if self.state == "paused":
            message = "you are paused: your votes are not accepted until the owner of the study resumes you"
            raise Refused("paused", message)

    def require_open(self) -> None:
        """Refused if they may not begin anything new now."""
        if self.project_state != "open":
            raise Refused(self.project_state, f"the study is {self.project_state}: no new page can be opened")
        if self.state == "paused":
            raise Refused("paused", "you are paused: no new page can be opened")
        if self.screened_out is not None or self.is_to_be_checked:
            raise Refused("check", "a check comes first, or was not passed: no new page can be opened")


def require_view(connection: Connection, person: str, key: str, lock: bool = False) -> tuple[ViewRow, Viewer]:
    """Read a person's view; NotFound if it is another's. `lock` locks its row."""
    asked = {"key": require_id(key, "page"), "person": person}
    row = (_MINE_LOCKED if lock else _MINE).one_or_none(connection, asked)
    if row is None:
        read_viewer(connection, person).require_role()
        raise NotFound("you have no such page; continue with the next pair")
    return ViewRow._make(row[:_WIDTH]), viewer_of(row, person)


def as_read(row: ViewRow) -> dict[str, Any]:
    """The values of AS_READ."""
    return {"view": row.key, "votes_read": row.votes, "held_read": row.held}


def read_viewer(connection: Connection, person: str) -> Viewer:
    row = _PERSON.one_or_none(connection, {"person": person})
    if row is None:
        raise NotFound("there is no such person")
    return viewer_of(row, person)


def viewer_of(row: Any, person: str) -> Viewer:
    """The annotator in a row with the columns PERSON."""
    study = _read_study(row.settings)
    entry = row.checked, row.qualified, row.screened_out
    return Viewer(person, row.role, row.state, row.quota or study.quota, row.of, row.project_state, study, *entry)


@lru_cache(256)
def _read_study(settings: str) -> Study:
    return Study(**json.loads(settings))


def read_view(connection: Connection, row: ViewRow, study: Study) -> View:
    content = read_content(connection, row.pair)
    needed = content.needed(study)
    shown: tuple[Side, Side] = ("b", "a") if row.swapped else ("a", "b")
    a, b = (getattr(content, side) for side in shown)
    vote = connection.execute(_VOTE, {"view": row.key, "number": row.votes}).one() if row.votes else None
    return View(
        key=row.key,
        pair=row.pair,
        text=content.text,
        lyrics=content.lyrics,
        modality=content.modality,
        reference=content.reference,
        a=a,
        b=b,
        needed_a=needed[shown[0]],
        needed_b=needed[shown[1]],
        needed_reference=needed["reference"],
        begun=row.begun,
        vote=None if vote is None else given(vote, row.swapped),
        is_qualifying=bool(row.qualifying),
    )


_contents: OrderedDict[str, PairContent] = OrderedDict()  # by id, which is unique among all databases


def read_content(connection: Connection, pair: str) -> PairContent:
    found = _contents.get(pair)
    if found is None:
        row = connection.execute(_SHOWN, {"pair": pair}).one()._mapping
        a, b, reference = (_sound([row[f"{side}_{name}"] for name in _SOUND]) for side in _PART)
        shown = row["text"], row["lyrics"], row["modality"]
        found = PairContent(*shown, a, b, reference if row["reference_id"] else None)
        _contents[pair] = found
        if len(_contents) > MOST_PAIRS:
            _contents.popitem(last=False)
    return found


def forget_pair(pair: str) -> None:
    """Read the pair's sounds anew when it is next shown."""
    _contents.pop(pair, None)


def find_original(database: Database, person: str, key: str, part: Part) -> Original:
    """The file of a part of a person's view; NotFound if it is another's or not begun yet."""
    with database.reading() as connection:
        row, _ = require_view(connection, person, key)
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


_PART = {side: sounds.alias(side) for side in ("a", "b", "reference")}
_SOUND = (*Original._fields, *PlayableSound._fields[1:])
_WIDTH = len(ViewRow._fields)
# the view is as it was read: not voted on, held or released since
AS_READ = (
    (views.c.key == bindparam("view"))
    & (views.c.votes == bindparam("votes_read"))
    & views.c.held.is_not_distinct_from(bindparam("held_read", type_=views.c.held.type))
)
VIEW = [views.c[name] for name in ViewRow._fields]
PERSON = [
    *(people.c[name] for name in ("role", "state", "quota", "checked", "qualified", "screened_out")),
    people.c.project.label("of"),
    projects.c.state.label("project_state"),
    cast(projects.c.settings, Text).label("settings"),
]
_PERSON = Statement(
    select(*PERSON).join(projects, projects.c.id == people.c.project).where(people.c.id == bindparam("person"))
)
_VIEW_AND_PERSON = (
    select(*VIEW, *PERSON)
    .join(people, people.c.id == views.c.person)
    .join(projects, projects.c.id == people.c.project)
    .where((views.c.key == bindparam("key")) & (views.c.person == bindparam("person")))
)
_MINE = Statement(_VIEW_AND_PERSON)
_MINE_LOCKED = Statement(_VIEW_AND_PERSON.with_for_update(of=views, key_share=True))
_SHOWN = (
    select(
        *(pairs.c[name] for name in ("text", "lyrics", "modality")),
        *(
            (cast(part.c[name], Text) if name == "peaks" else part.c[name]).label(f"{side}_{name}")
            for side, part in _PART.items()
            for name in _SOUND
        ),
    )
    .join(_PART["a"], _PART["a"].c.id == pairs.c.a)
    .join(_PART["b"], _PART["b"].c.id == pairs.c.b)
    .outerjoin(_PART["reference"], _PART["reference"].c.id == pairs.c.reference)
    .where(pairs.c.id == bindparam("pair"))
)
_VOTE = select(votes).where((votes.c.view == bindparam("view")) & (votes.c.number == bindparam("number")))
