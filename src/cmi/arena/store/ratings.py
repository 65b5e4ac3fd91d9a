"""Ratings of trials: saved durably, counted once, corrected by new rows, never overwritten; as votes on pairs are.

A sitting has one rating: the same content again is the same rating (a double click, a retry), other content is a
correction. Answers are given by SHOWN numbers; stored and exported ones are by the trial's own positions.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, insert, select, true, update

from cmi.arena.store.database import Database, storable
from cmi.arena.store.errors import Refused
from cmi.arena.store.schema import new_id, people, projects, ratings, sittings, sounds, stimuli, trials
from cmi.arena.store.trials import (
    KINDS,
    GivenRating,
    RatedAxis,
    RatedKind,
    StimulusRole,
    TrialView,
    rating_as_shown,
    read_trial,
    require_sitting,
)
from cmi.arena.store.votes import HEARD_SLACK, LONGEST_FEEDBACK, SLACK, Saved, why_final


class RatingBallot(NamedTuple):
    """A person's answers by axis and shown number, and the seconds heard by shown number and of the `reference`."""

    answers: Mapping[RatedAxis, Mapping[str, int]]
    feedback: str = ""
    heard: Mapping[Any, float] = MappingProxyType({})


class RecentRating(NamedTuple):
    view: str
    created: float
    text: str
    kind: RatedKind
    rating: GivenRating
    can_correct: bool


class RatedStimulus(NamedTuple):
    system: str
    role: StimulusRole
    path: str
    digest: str
    media_type: str


class CountedRating(NamedTuple):
    """The latest rating of one sitting with its trial; `answers` by axis, one number for each of the `stimuli`."""

    id: str
    number: int
    sitting: str
    person: str
    trial: str
    source_id: str
    text: str
    lyrics: str
    reference: RatedStimulus | None
    about: dict[str, Any]
    stimuli: tuple[RatedStimulus, ...]
    shown: tuple[int, ...]  # positions in the order shown
    answers: dict[RatedAxis, list[int]]
    feedback: str
    seconds: float
    created: float
    hidden: str | None = None  # why the owner hid the trial


def save_rating(database: Database, person: str, key: str, ballot: RatingBallot) -> Saved:
    """Store a rating; it is on disk when this returns. Refused as `cmi.arena.store.votes.save`."""
    with database.writing() as connection:
        row, who = require_sitting(connection, person, key, lock=True)
        if row.begun is None:
            raise Refused("begin", "the takes of this page have not been opened yet")
        view = read_trial(connection, row, who.study)
        answers, heard = _check_answers(view, ballot), _check_heard(view, ballot.heard)
        feedback = _check_feedback(ballot.feedback)
        now, digest = database.now(), _digest(answers, feedback)
        given = select(ratings.c.id, ratings.c.digest, ratings.c.created).where(ratings.c.sitting == key)
        before = connection.execute(given.order_by(ratings.c.number)).all()
        if before and before[-1].digest == digest:
            return Saved(before[-1].id, len(before), again=True)
        who.require_active()
        if before:
            if refused := why_final(who.project_state, len(before), now - before[0].created):
                raise refused
        else:
            _require_heard(view, heard, now)
        seconds = now - row.begun
        positions = {name: str(one.position) for name, one in view.stimuli.items()}
        saved = Saved(new_id(), len(before) + 1, again=False)
        values = {
            "id": saved.vote,
            "number": saved.number,
            "digest": digest,
            "answers": {axis: _by_position(view, one) for axis, one in answers.items()},
            "feedback": feedback,
            "heard": {positions.get(name, name): value for name, value in heard.items()},
            "seconds": seconds if seconds >= 0 else sum(heard.values()),  # the clock was set back
            "created": now,
        }
        whose = {"project": row.project, "sitting": key, "person": person, "trial": row.trial}
        connection.execute(insert(ratings).values(**whose, **values))
        closed = {"votes": saved.number, "closed": now if row.closed is None else row.closed}
        connection.execute(update(sittings).where(sittings.c.key == key).values(**closed))
    return saved


def recent_ratings(database: Database, person: str, n: int) -> list[RecentRating]:
    """The last `n` ratings of a person, the newest first."""
    first, now = ratings.alias(), database.now()
    asked = (
        select(ratings, sittings.c.shown, trials.c.text, first.c.created.label("first"))
        .add_columns(projects.c.state, projects.c.kind)
        .join(sittings, (sittings.c.key == ratings.c.sitting) & (sittings.c.votes == ratings.c.number))
        .join(first, (first.c.sitting == ratings.c.sitting) & (first.c.number == 1))
        .join(trials, trials.c.id == ratings.c.trial)
        .join(projects, projects.c.id == ratings.c.project)
        .where(ratings.c.person == person)
        .order_by(ratings.c.created.desc())
        .limit(n)
    )
    with database.reading() as connection:
        return [
            RecentRating(row.sitting, row.created, row.text, row.kind, rating_as_shown(row, row.shown), refused is None)
            for row in connection.execute(asked)
            for refused in (why_final(row.state, row.number, now - row.first),)
        ]


def counted_ratings(database: Database, project: str, hidden: bool = False) -> Iterator[CountedRating]:
    """The latest rating of each sitting, in order of time, as `latest_ratings`."""
    with database.reading() as connection:
        asked = latest_ratings(project, hidden).order_by(ratings.c.created, ratings.c.id)
        yield from read_ratings(connection, project, asked)


def latest_ratings(project: str, hidden: bool = False) -> Select[Any]:
    """The latest rating of each sitting, without people who withdrew; hidden trials only if asked for."""
    named = ("source_id", "text", "lyrics", "about", "reference", "hidden")
    return (
        select(ratings, sittings.c.shown, *(trials.c[name] for name in named))
        .join(sittings, (sittings.c.key == ratings.c.sitting) & (sittings.c.votes == ratings.c.number))
        .join(people, people.c.id == ratings.c.person)
        .join(trials, trials.c.id == ratings.c.trial)
        .where((ratings.c.project == project) & (people.c.state != "withdrawn"))
        .where(true() if hidden else trials.c.hidden.is_(None))
    )


def read_ratings(connection: Connection, project: str, asked: Select[Any]) -> Iterator[CountedRating]:
    """The rows of a selection from `latest_ratings`, with their stimuli."""
    named = ("path", "digest", "media_type")
    files = select(sounds.c.id, *(sounds.c[name] for name in named)).where(sounds.c.project == project)
    sound = {row.id: tuple(row)[1:] for row in connection.execute(files)}
    parts: dict[str, list[RatedStimulus]] = {}
    here = select(stimuli).join(trials, trials.c.id == stimuli.c.trial).where(trials.c.project == project)
    for row in connection.execute(here.order_by(stimuli.c.trial, stimuli.c.position)):
        parts.setdefault(row.trial, []).append(RatedStimulus(row.system, row.role, *sound[row.sound]))
    for row in connection.execute(asked):
        reference = RatedStimulus("", "reference", *sound[row.reference]) if row.reference else None
        ours: dict[str, Any] = {
            "reference": reference,
            "stimuli": tuple(parts[row.trial]),
            "shown": tuple(row.shown),
        }
        columns = {name: getattr(row, name) for name in CountedRating._fields if name not in ours}
        yield CountedRating(**columns, **ours)


def _check_answers(view: TrialView, ballot: RatingBallot) -> dict[RatedAxis, dict[str, int]]:
    """The answers, ranks without gaps; Refused unless every stimulus shown is rated on every axis."""
    scale = KINDS[view.kind]
    checked: dict[RatedAxis, dict[str, int]] = {}
    highest = len(view.stimuli) if scale.highest is None else scale.highest
    if set(ballot.answers) != set(scale.axes):
        raise Refused("ballot", f"answers on {_join(ballot.answers)}, expected {_join(scale.axes)}")
    for axis in scale.axes:
        values = ballot.answers[axis]
        if set(values) != set(view.stimuli):
            raise Refused("ballot", f"answers about the takes {_join(values)}, expected {_join(view.stimuli)}")
        for value in values.values():
            if isinstance(value, bool) or not isinstance(value, int) or not scale.lowest <= value <= highest:
                raise Refused("ballot", f"{axis} is {value!r}, expected {scale.lowest} to {highest}")
        checked[axis] = _without_gaps(values) if view.kind == "ranking" else dict(values)
    return checked


def _without_gaps(ranks: Mapping[str, int]) -> dict[str, int]:
    """Ranks 1, 2, 3, …, of which ties share one."""
    order = sorted(set(ranks.values()))
    return {name: 1 + order.index(rank) for name, rank in ranks.items()}


def _check_heard(view: TrialView, heard: Mapping[str, float]) -> dict[str, float]:
    """The seconds heard of what there is to hear."""
    for seconds in heard.values():
        if not (math.isfinite(seconds) and seconds >= 0):
            raise Refused("ballot", f"{seconds!r} seconds were heard, expected 0 or more")
    return {name: heard.get(name, 0.0) for name in view.needed}


def _check_feedback(feedback: str) -> str:
    if len(feedback) > LONGEST_FEEDBACK:
        raise Refused("ballot", f"the feedback has {len(feedback)} characters, expected at most {LONGEST_FEEDBACK}")
    return storable(feedback)


def _require_heard(view: TrialView, heard: Mapping[str, float], now: float) -> None:
    """Refused unless enough of each recording was heard, in the time since it was shown."""
    for name, least in view.needed.items():
        if heard[name] + HEARD_SLACK < least and name == "reference":
            raise Refused("heard", f"please hear {least:.0f} s of the reference recording before you vote")
        if heard[name] + HEARD_SLACK < least:
            raise Refused("heard", f"please hear {least:.0f} s of take {name} before you vote")
    # one recording plays at a time; a negative time (the clock was set back) proves nothing
    takes = sum(least for name, least in view.needed.items() if name != "reference")
    for since, least in ((view.begun or now, takes), (view.created, sum(view.needed.values()))):
        if 0 <= now - since + SLACK < least:
            raise Refused("heard", "you cannot have heard the takes yet; please listen before you vote")


def _by_position(view: TrialView, values: Mapping[str, int]) -> list[int]:
    return [values[name] for name, _ in sorted(view.stimuli.items(), key=lambda item: item[1].position)]


def _digest(answers: Mapping[RatedAxis, Mapping[str, int]], feedback: str) -> str:
    """Hash what makes a correction; the time heard may differ in a retry."""
    return hashlib.sha256(json.dumps([answers, feedback], sort_keys=True).encode()).hexdigest()


def _join(names: Any) -> str:
    return ", ".join(sorted(names)) or "nothing"
