"""Pairs and votes for the owner's pages: searched, filtered and sorted, and one pair in full.

The dashboard's numbers link here, so filters count as the statistics do: the latest vote of each view, without people
who withdrew, and hidden pairs only if requested.
"""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, case, func, or_, select, true

from cmi.arena.store.database import Database, require_id, storable
from cmi.arena.store.errors import NotFound
from cmi.arena.store.hiding import history
from cmi.arena.store.schema import pairs, people, sounds, stimuli, trials, views, votes
from cmi.arena.store.study import Side
from cmi.arena.store.views import turned
from cmi.arena.store.votes import latest_votes

Axis = Literal["alignment", "musicality"]
AXES: tuple[Axis, ...] = ("alignment", "musicality")
DAY = 86_400.0  # seconds

VoteKind = Literal["study", "gold", "repeat", "qualification", "first-views"]
PairState = Literal["shown", "hidden", "broken", "untouched", "begun", "done"]
VoteOrder = Literal["newest", "oldest", "slowest", "fastest"]
PairOrder = Literal["position", "most-votes", "fewest-votes", "latest", "disputed"]


Searched = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]
SomeId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,64}$")]


class PairFilter(BaseModel):
    """Which pairs; '' and None mean all.

    text       in the prompt, the lyrics, the id or a system's name, in any case
    system     made one of the takes; `against` made the other
    state      shown (not hidden), hidden, broken (a recording is missing), or by its votes: untouched, begun, done
    shared     whether two people or more voted on it
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Searched = ""
    modality: Searched = ""
    kind: Literal["ordinary", "gold", ""] = ""
    system: Searched = ""
    against: Searched = ""
    state: PairState | None = None
    shared: bool = False
    feedback: bool = False


class VoteFilter(BaseModel):
    """Which votes; '' and None mean all.

    kind         study (first votes on ordinary pairs, which is what most statistics count), gold, or hidden repeats
    axis         for `confidence`, `won`, `first` and `known`
    without      systems that made neither take
    won          whether `system` was preferred
    first        whether the take shown first was preferred
    known        whether the pair has a known answer on `axis`
    same         whether the same take was preferred on both axes
    shared       whether two people or more voted on the pair
    decided      whether the others who voted on the pair have a majority on `axis`
    day          in UTC
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Searched = ""
    person: SomeId = ""
    pair: SomeId = ""
    modality: Searched = ""
    kind: VoteKind | None = None
    system: Searched = ""
    against: Searched = ""
    without: Annotated[tuple[Searched, ...], Field(max_length=100)] = ()
    axis: Axis = "musicality"
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None
    won: bool | None = None
    first: bool | None = None
    same: bool | None = None
    known: bool = False
    shared: bool = False
    decided: bool = False
    feedback: bool = False
    hidden: bool = False
    day: date | None = None


class FoundRows(NamedTuple):
    """Some of the rows that a filter finds, and how many there are in all."""

    rows: list[dict[str, Any]]
    total: int


_STUDY_VIEW = (views.c.votes > 0) & views.c.repeat_of.is_(None) & views.c.qualifying.is_(None)


def find_pairs(
    database: Database,
    project: str,
    which: PairFilter = PairFilter(),  # noqa: B008  (immutable)
    order: PairOrder = "position",
    after: int = -1,
    offset: int = 0,
    limit: int = 100,
) -> FoundRows:
    """Pairs with their votes; `after` is a position that they come after, `offset` skips the first of those found."""
    tally = _tally(project).subquery()
    count = func.coalesce(tally.c.votes, 0)
    columns = ("id", "source_id", "text", "modality", "kind", "system_a", "system_b", "position", "wanted", "hidden")
    joined = pairs.outerjoin(tally, tally.c.pair == pairs.c.id)
    asked = (
        select(*(pairs.c[name] for name in columns), pairs.c.broken, count.label("votes"))
        .add_columns(tally.c.alignment_a, tally.c.musicality_a, tally.c.latest, tally.c.feedback)
        .select_from(joined)
        .where((pairs.c.project == project) & _match_pairs(which, count, tally.c.feedback))
    )
    agreed = func.abs(2 * tally.c.alignment_a - count) + func.abs(2 * tally.c.musicality_a - count)
    orders = {
        "position": (),
        "most-votes": (count.desc(),),
        "fewest-votes": (count,),
        "latest": (func.coalesce(tally.c.latest, 0).desc(),),
        "disputed": (case((count > 1, agreed / (2.0 * count)), else_=2.0),),
    }
    with database.reading() as connection:
        total = count_rows(connection, asked)
        page = asked.where(pairs.c.position > after).order_by(*orders[order], pairs.c.position)
        rows = connection.execute(page.offset(offset).limit(limit)).all()
    return FoundRows([_pair_row(row) for row in rows], total)


def find_votes(
    database: Database,
    project: str,
    which: VoteFilter = VoteFilter(),  # noqa: B008  (immutable)
    order: VoteOrder = "newest",
    offset: int = 0,
    limit: int = 100,
) -> FoundRows:
    """Votes, in the pair's own terms and in the letters that the voter saw."""
    found = latest_votes(project, which.hidden, qualifying=which.kind == "qualification")
    asked = found.add_columns(people.c.name).where(_match_votes(project, which))
    with database.reading() as connection:
        total = count_rows(connection, asked.with_only_columns(votes.c.id, maintain_column_froms=True).order_by(None))
        page = asked.order_by(None).order_by(answer_order(votes, order), votes.c.id).offset(offset).limit(limit)
        return FoundRows([_vote_row(row) for row in connection.execute(page)], total)


def read_pair(database: Database, project: str, pair: str) -> dict[str, Any]:
    """A pair with its recordings, state and history; its votes are found by `find_votes`."""
    ours = (pairs.c.project == project) & (pairs.c.id == require_id(pair, "pair"))
    with database.reading() as connection:
        row = connection.execute(select(pairs).where(ours)).one_or_none()
        if row is None:
            raise NotFound("there is no such pair in this project")
        names = ("id", "source_id", "text", "lyrics", "modality", "kind", "gold", "system_a", "system_b", "wanted")
        recordings = {part: read_recording(connection, getattr(row, part)) for part in ("reference", "a", "b")}
        return {
            **{name: getattr(row, name) for name in (*names, "hidden", "replaces")},
            "recordings": recordings,
            "broken": any(one is not None and one["problem"] for one in recordings.values()),
            "replaced_by": connection.scalar(select(pairs.c.id).where(pairs.c.replaces == pair).limit(1)),
            "history": [one._asdict() for one in history(connection, project, pair)],
        }


def find_systems(database: Database, project: str) -> list[str]:
    """The names of all systems of a project's pairs or trials."""
    columns = (pairs.c.system_a, pairs.c.system_b)
    asked = [select(column).where(pairs.c.project == project) for column in columns]
    asked.append(select(stimuli.c.system).join(trials).where(trials.c.project == project))
    with database.reading() as connection:
        found = {name for one in asked for name in connection.scalars(one.distinct())}
    return sorted(found - {""})


def _tally(project: str) -> Select[Any]:
    """First votes by pair: how many, for which take, with how much feedback, and when the latest came."""
    for_a = [func.sum(case((votes.c[axis] == "a", 1), else_=0)).label(f"{axis}_a") for axis in AXES]
    return (
        select(votes.c.pair, func.count().label("votes"), func.max(votes.c.created).label("latest"), *for_a)
        .add_columns(func.sum(case((votes.c.feedback != "", 1), else_=0)).label("feedback"))
        .join(views, (views.c.key == votes.c.view) & (views.c.votes == votes.c.number))
        .where((votes.c.project == project) & views.c.repeat_of.is_(None) & views.c.qualifying.is_(None))
        .group_by(votes.c.pair)
    )


def _match_pairs(which: PairFilter, count: ColumnElement[int], feedback: ColumnElement[int]) -> ColumnElement[bool]:
    has_problem = pairs.c.broken & pairs.c.hidden.is_(None)
    ordinary = (pairs.c.kind == "ordinary") & pairs.c.hidden.is_(None)
    states: dict[PairState | None, ColumnElement[bool]] = {
        None: true(),
        "shown": pairs.c.hidden.is_(None),
        "hidden": pairs.c.hidden.is_not(None),
        "broken": has_problem,
        "untouched": (count == 0) & pairs.c.hidden.is_(None),
        "begun": ordinary & (count > 0) & (count < pairs.c.wanted),
        "done": ordinary & (count >= pairs.c.wanted),
    }
    return and_(
        states[which.state],
        contains(which.text, pairs.c.text, pairs.c.lyrics, pairs.c.source_id, pairs.c.system_a, pairs.c.system_b),
        _match_systems(which.system, which.against),
        pairs.c.modality == which.modality if which.modality else true(),
        pairs.c.kind == which.kind if which.kind else true(),
        count > 1 if which.shared else true(),
        feedback > 0 if which.feedback else true(),
    )


def _match_votes(project: str, which: VoteFilter) -> ColumnElement[bool]:
    kinds: dict[VoteKind | None, ColumnElement[bool]] = {
        None: true(),
        "study": (pairs.c.kind == "ordinary") & views.c.repeat_of.is_(None),
        "gold": pairs.c.kind == "gold",
        "repeat": views.c.repeat_of.is_not(None),
        "qualification": views.c.qualifying.is_not(None),
        "first-views": views.c.repeat_of.is_(None),
    }
    chosen = votes.c[which.axis]
    conditions = [
        kinds[which.kind],
        contains(which.text, votes.c.feedback, pairs.c.text, pairs.c.source_id),
        _match_systems(which.system, which.against),
        votes.c.person == which.person if which.person else true(),
        votes.c.pair == which.pair if which.pair else true(),
        pairs.c.modality == which.modality if which.modality else true(),
        votes.c.feedback != "" if which.feedback else true(),
        pairs.c.system_a.not_in(which.without) & pairs.c.system_b.not_in(which.without) if which.without else true(),
    ]
    if which.confidence is not None:
        conditions.append(votes.c[f"{which.axis}_confidence"] == which.confidence)
    if which.won is not None and which.system:
        preferred = case((chosen == "a", pairs.c.system_a), else_=pairs.c.system_b)
        conditions.append(preferred == which.system if which.won else preferred != which.system)
    if which.first is not None:
        shown_first = case((views.c.swapped, "b"), else_="a")
        conditions.append(chosen == shown_first if which.first else chosen != shown_first)
    if which.same is not None:
        alike = votes.c.alignment == votes.c.musicality
        conditions.append(alike if which.same else ~alike)
    if which.known:
        conditions.append(pairs.c.gold[which.axis].as_string().is_not(None))
    if which.shared:
        of_several = select(views.c.pair).where((views.c.project == project) & _STUDY_VIEW)
        conditions.append(votes.c.pair.in_(of_several.group_by(views.c.pair).having(func.count() > 1)))
    if which.decided:
        conditions.append(_lead_of_others(which.axis) != 0)
    if which.day is not None:
        start = datetime(which.day.year, which.day.month, which.day.day, tzinfo=UTC)
        begin = start.timestamp()
        conditions.append((votes.c.created >= begin) & (votes.c.created < begin + DAY))
    return and_(*conditions)


def _lead_of_others(axis: Axis) -> ColumnElement[int]:
    """Return by how many votes of other people take a leads on the pair of a vote."""
    vote, view, voter = votes.alias(), views.alias(), people.alias()
    return (
        select(func.coalesce(func.sum(case((vote.c[axis] == "a", 1), else_=-1)), 0))
        .join(view, (view.c.key == vote.c.view) & (view.c.votes == vote.c.number))
        .join(voter, voter.c.id == vote.c.person)
        .where((vote.c.pair == votes.c.pair) & (vote.c.person != votes.c.person))
        .where(view.c.repeat_of.is_(None) & view.c.qualifying.is_(None) & (voter.c.state != "withdrawn"))
        .correlate(votes)
        .scalar_subquery()
    )


def _match_systems(system: str, against: str) -> ColumnElement[bool]:
    """Pairs of a system with another one, as the ranking counts them."""
    if not system:
        return true()
    ours, theirs = pairs.c.system_a, pairs.c.system_b
    if against:
        return or_(and_(ours == system, theirs == against), and_(ours == against, theirs == system))
    return and_(or_(ours == system, theirs == system), ours != theirs, ours != "", theirs != "")


def contains(text: str, *columns: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether one of the columns contains all words of `text`, in any case."""
    words = storable(text).lower().split()
    return and_(
        true(), *(or_(*(func.lower(column).contains(word, autoescape=True) for column in columns)) for word in words)
    )


def _pair_row(row: Row[Any]) -> dict[str, Any]:
    found = dict(row._mapping)
    found["broken"] = found["broken"] and found["hidden"] is None
    return found


def _vote_row(row: Row[Any]) -> dict[str, Any]:
    names = ("id", "view", "pair", "source_id", "text", "modality", "hidden", "system_a", "system_b", "gold")
    return {
        **{name: getattr(row, name) for name in (*names, "person", "name", "created", "seconds", "feedback", "heard")},
        "kind": "repeat" if row.repeat_of is not None else row.kind,
        "corrections": row.number - 1,
        "shown_as_a": turned("a", row.swapped),
        **{axis: _answer(row, axis) for axis in AXES},
    }


def _answer(row: Row[Any], axis: str) -> dict[str, Any]:
    choice: Side = getattr(row, axis)
    return {
        "choice": choice,
        "letter": turned(choice, row.swapped).upper(),
        "confidence": getattr(row, f"{axis}_confidence"),
        "touched": getattr(row, f"{axis}_touched"),
    }


def answer_order(answers: Table, order: VoteOrder) -> ColumnElement[Any]:
    """Return how votes or ratings are sorted: by time of the answer, or by how long it took."""
    orders: dict[VoteOrder, ColumnElement[Any]] = {
        "newest": answers.c.created.desc(),
        "oldest": answers.c.created,
        "slowest": answers.c.seconds.desc(),
        "fastest": answers.c.seconds,
    }
    return orders[order]


def count_rows(connection: Connection, found: Select[Any]) -> int:
    return connection.scalar(select(func.count()).select_from(found.subquery())) or 0


def read_recording(connection: Connection, sound: str | None) -> dict[str, Any] | None:
    if sound is None:
        return None
    row = connection.execute(select(sounds).where(sounds.c.id == sound)).one()
    names = ("id", "seconds", "peaks", "gain_db", "lufs", "rate", "channels", "problem")
    return {name: getattr(row, name) for name in names}
