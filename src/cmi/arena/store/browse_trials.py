"""Trials and ratings for the owner's pages, like pairs and votes in cmi.arena.store.browse."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select, true

from cmi.arena.store.browse import (
    FoundRows,
    Searched,
    SomeId,
    VoteOrder,
    answer_order,
    contains,
    count_rows,
    read_recording,
)
from cmi.arena.store.database import Database, require_id
from cmi.arena.store.errors import NotFound
from cmi.arena.store.hiding import history
from cmi.arena.store.ratings import CountedRating, latest_ratings, read_ratings
from cmi.arena.store.schema import people, ratings, sittings, stimuli, trials
from cmi.arena.store.trials import BROKEN

TrialState = Literal["shown", "hidden", "broken", "untouched", "rated"]
TrialOrder = Literal["position", "most-ratings", "fewest-ratings", "latest"]


class TrialFilter(BaseModel):
    """Which trials; '' and None mean all.

    text       in the prompt, the lyrics, the id or a system's name, in any case
    system     made one of the stimuli
    state      shown (not hidden), hidden, broken (a recording is missing), untouched (without ratings), or rated
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Searched = ""
    system: Searched = ""
    state: TrialState | None = None
    feedback: bool = False


class RatingFilter(BaseModel):
    """Which ratings; '' means all.

    text       in the feedback, the prompt or the trial's id, in any case
    system     made one of the stimuli
    hidden     of hidden trials too
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Searched = ""
    person: SomeId = ""
    trial: SomeId = ""
    system: Searched = ""
    feedback: bool = False
    hidden: bool = False


def find_trials(
    database: Database,
    project: str,
    which: TrialFilter = TrialFilter(),  # noqa: B008  (immutable)
    order: TrialOrder = "position",
    offset: int = 0,
    limit: int = 100,
) -> FoundRows:
    """Trials with their systems and how many ratings they have."""
    tally = _tally(project).subquery()
    count = func.coalesce(tally.c.ratings, 0)
    is_broken = BROKEN & trials.c.hidden.is_(None)
    asked = (
        select(*(trials.c[name] for name in ("id", "source_id", "text", "position", "hidden")), count.label("ratings"))
        .add_columns(tally.c.latest, tally.c.feedback, is_broken.label("broken"))
        .select_from(trials.outerjoin(tally, tally.c.trial == trials.c.id))
        .where((trials.c.project == project) & _match_trials(which, count, tally.c.feedback, is_broken))
    )
    orders: dict[TrialOrder, tuple[ColumnElement[Any], ...]] = {
        "position": (),
        "most-ratings": (count.desc(),),
        "fewest-ratings": (count,),
        "latest": (func.coalesce(tally.c.latest, 0).desc(),),
    }
    with database.reading() as connection:
        total = count_rows(connection, asked)
        page = asked.order_by(*orders[order], trials.c.position).offset(offset).limit(limit)
        rows = [dict(row._mapping) for row in connection.execute(page)]
        systems: dict[str, list[str]] = {row["id"]: [] for row in rows}
        parts = select(stimuli.c.trial, stimuli.c.system).where(stimuli.c.trial.in_(systems))
        for trial, system in connection.execute(parts.order_by(stimuli.c.position)):
            systems[trial].append(system)
    return FoundRows([row | {"broken": bool(row["broken"]), "systems": systems[row["id"]]} for row in rows], total)


def find_ratings(
    database: Database,
    project: str,
    which: RatingFilter = RatingFilter(),  # noqa: B008  (immutable)
    order: VoteOrder = "newest",
    offset: int = 0,
    limit: int = 100,
) -> FoundRows:
    """Ratings with the systems and the numbers that the rater saw."""
    asked = latest_ratings(project, which.hidden).where(
        contains(which.text, ratings.c.feedback, trials.c.text, trials.c.source_id),
        _has_system(stimuli.c.system == which.system) if which.system else true(),
        ratings.c.person == which.person if which.person else true(),
        ratings.c.trial == which.trial if which.trial else true(),
        ratings.c.feedback != "" if which.feedback else true(),
    )
    with database.reading() as connection:
        total = count_rows(connection, asked.with_only_columns(ratings.c.id, maintain_column_froms=True))
        page = asked.order_by(answer_order(ratings, order), ratings.c.id).offset(offset).limit(limit)
        found = list(read_ratings(connection, project, page))
        named = select(people.c.id, people.c.name).where(people.c.id.in_({row.person for row in found}))
        names = {row.id: row.name for row in connection.execute(named)}
    return FoundRows([_rating_row(row, names[row.person]) for row in found], total)


def describe_trial(database: Database, project: str, trial: str) -> dict[str, Any]:
    """A trial with its recordings, state and history; its ratings are found by `find_ratings`."""
    ours = (trials.c.project == project) & (trials.c.id == require_id(trial, "trial"))
    with database.reading() as connection:
        row = connection.execute(select(trials).where(ours)).one_or_none()
        if row is None:
            raise NotFound("there is no such trial in this project")
        asked = select(stimuli).where(stimuli.c.trial == trial).order_by(stimuli.c.position)
        reference = read_recording(connection, row.reference)
        parts = [
            {"system": part.system, "role": part.role, "recording": read_recording(connection, part.sound)}
            for part in connection.execute(asked)
        ]
        recordings = [reference, *(part["recording"] for part in parts)]
        return {
            **{name: getattr(row, name) for name in ("id", "source_id", "text", "lyrics", "hidden")},
            "reference": reference,
            "stimuli": parts,
            "broken": any(one is not None and one["problem"] for one in recordings),
            "history": [one._asdict() for one in history(connection, project, trial, "trial")],
        }


def _tally(project: str) -> Select[Any]:
    """Latest ratings by trial: how many, how many of them with feedback, and when the last one came."""
    return (
        select(ratings.c.trial, func.count().label("ratings"), func.max(ratings.c.created).label("latest"))
        .add_columns(func.sum(case((ratings.c.feedback != "", 1), else_=0)).label("feedback"))
        .join(sittings, (sittings.c.key == ratings.c.sitting) & (sittings.c.votes == ratings.c.number))
        .where(ratings.c.project == project)
        .group_by(ratings.c.trial)
    )


def _match_trials(
    which: TrialFilter, count: ColumnElement[int], feedback: ColumnElement[int], is_broken: ColumnElement[bool]
) -> ColumnElement[bool]:
    is_shown = trials.c.hidden.is_(None)
    states: dict[TrialState | None, ColumnElement[bool]] = {
        None: true(),
        "shown": is_shown,
        "hidden": trials.c.hidden.is_not(None),
        "broken": is_broken,
        "untouched": (count == 0) & is_shown,
        "rated": (count > 0) & is_shown,
    }
    return and_(
        states[which.state],
        *(
            or_(
                contains(word, trials.c.text, trials.c.lyrics, trials.c.source_id),
                _has_system(contains(word, stimuli.c.system)),
            )
            for word in which.text.split()
        ),
        _has_system(stimuli.c.system == which.system) if which.system else true(),
        feedback > 0 if which.feedback else true(),
    )


def _has_system(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a stimulus of the trial meets the condition."""
    return trials.c.id.in_(select(stimuli.c.trial).where(condition))


def _rating_row(row: CountedRating, name: str | None) -> dict[str, Any]:
    shown = [
        {"place": place, "system": row.stimuli[position].system, "role": row.stimuli[position].role}
        | {"answers": {axis: values[position] for axis, values in row.answers.items()}}
        for place, position in enumerate(row.shown, start=1)
    ]
    columns = ("id", "person", "trial", "source_id", "text", "hidden", "feedback", "seconds", "created")
    about = {column: getattr(row, column) for column in columns}
    return {**about, "name": name, "corrections": row.number - 1, "stimuli": shown}
