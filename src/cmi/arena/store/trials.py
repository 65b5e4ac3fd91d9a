"""Trials: a prompt with one or more stimuli, which each annotator rates on one page, and who gets which.

Kinds of projects, besides pairs (`KINDS` has their numbers):

mos       one take, rated from 1 (bad) to 5 (excellent) on each axis: absolute category rating, ITU-T P.800
mushra    takes, the hidden reference and anchors, rated from 0 to 100 beside the open reference: ITU-R BS.1534
ranking   takes, put into an order on each axis; 1 is the best, equal ranks are ties

Every annotator may rate every trial once, up to their quota: first those with the fewest ratings, in an order of their
own, with the stimuli in an order of their own. A sitting is a trial as shown to a person; it keeps that order, and an
open one is shown again, so a reload shows the same page. A trial that is hidden or has a missing or changed sound is
not shown; whoever has it open continues with another and gets it back under the same key once it is repaired.

Everything in `TrialView` is as SHOWN: stimuli are called 1, 2, … in the order drawn for the person.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast, get_args

from sqlalchemy import Connection, Row, Text, exists, func, insert, or_, select, true, update
from sqlalchemy import cast as sql_cast

from cmi._util.errors import InputError
from cmi.arena.store.assign import Done, Progress, why_barred
from cmi.arena.store.database import Database, require_id, storable
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import chance, check_prompt, lock_project
from cmi.arena.store.schema import new_id, people, projects, ratings, sittings, sounds, stimuli, trials
from cmi.arena.store.study import Study
from cmi.arena.store.views import Original, PlayableSound, Viewer, read_viewer

RatedAxis = Literal["alignment", "musicality"]
RatedKind = Literal["mos", "mushra", "ranking"]
StimulusRole = Literal["take", "reference", "anchor35", "anchor70"]


class RatingScale(NamedTuple):
    """What annotators of a kind answer, and how many stimuli a trial has."""

    axes: tuple[RatedAxis, ...]
    lowest: int
    highest: int | None  # None: the number of stimuli
    fewest: int = 2
    most: int = 12  # anchors and the hidden reference included


KINDS: dict[RatedKind, RatingScale] = {
    "mos": RatingScale(("alignment", "musicality"), 1, 5, fewest=1, most=1),
    "mushra": RatingScale(("musicality",), 0, 100),  # BS.1534 asks for basic audio quality, which counts as musicality
    "ranking": RatingScale(("alignment", "musicality"), 1, None),
}


@dataclass(frozen=True)
class NewStimulus:
    """`sound` is the id of a sound of the same project."""

    sound: str
    system: str
    role: StimulusRole = "take"


@dataclass(frozen=True)
class NewTrial:
    source_id: str
    text: str
    stimuli: tuple[NewStimulus, ...]
    lyrics: str = ""
    reference: str | None = None
    about: dict[str, Any] = field(default_factory=dict)  # extra fields for the export
    where: str = ""  # begins messages about it


class Stimulus(NamedTuple):
    position: int
    role: StimulusRole
    sound: PlayableSound


class GivenRating(NamedTuple):
    """The latest rating of a sitting: `answers` by axis and shown number, `heard` in seconds by shown number."""

    number: int
    created: float
    answers: dict[RatedAxis, dict[str, int]]
    feedback: str
    heard: dict[str, float]


class TrialView(NamedTuple):
    key: str
    kind: RatedKind
    text: str
    lyrics: str
    reference: PlayableSound | None
    stimuli: dict[str, Stimulus]  # by shown number
    needed: dict[str, float]  # seconds to be heard before a vote, of each stimulus and of the `reference`
    created: float
    begun: float | None
    rating: GivenRating | None


def add_trials(connection: Connection, project: str, new: Sequence[NewTrial]) -> int:
    """Add trials, or none and an InputError; return how many are new.

    An existing trial with the same source id stays as it is; InputError if its prompt or stimuli are others.
    """
    kind = cast(RatedKind, lock_project(connection, project, *get_args(RatedKind)))
    there = connection.execute(select(trials).where(trials.c.project == project)).all()
    known = {row.source_id: row for row in there}
    position = max((row.position for row in there), default=-1)
    ours = set(connection.scalars(select(sounds.c.id).where(sounds.c.project == project)))
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for trial in new:
        source_id = storable(trial.source_id)
        try:
            if source_id in known:
                _require_same(connection, trial, known[source_id])
                continue
            _check(trial, kind, ours)
        except InputError as error:
            raise type(error)(f"{trial.where}{error}") from error
        position += 1
        row = {"id": new_id(), "project": project, "source_id": source_id, "position": position, "about": trial.about}
        row |= {"text": storable(trial.text), "lyrics": storable(trial.lyrics), "reference": trial.reference}
        rows.append(row)
        for place, one in enumerate(trial.stimuli):
            part = {"trial": row["id"], "position": place, "sound": one.sound}
            parts.append({**part, "system": storable(one.system), "role": one.role})
    if rows:
        connection.execute(insert(trials), rows)
        connection.execute(insert(stimuli), parts)
    return len(rows)


def count_trials(database: Database, project: str, hidden: bool = False) -> int:
    """How many trials there are; hidden ones only if asked for."""
    with database.reading() as connection:
        return _count_trials(connection, project, hidden)


def next_trial(database: Database, person: str) -> tuple[TrialView | Done, Progress]:
    """Return the page to show and the person's progress, from one transaction."""
    with database.writing(lasting=False) as connection:
        who = _lock_viewer(connection, person)
        progress = _read_progress(connection, who)
        return _find_trial(connection, who, progress, database.now()), progress


def begin_trial(database: Database, person: str, key: str) -> TrialView:
    """Record durably that the person has read the instruction, so the stimuli may be shown. Idempotent."""
    with database.writing() as connection:
        row, who = require_sitting(connection, person, key, lock=True)
        who.require_role()
        begun = row.begun
        if begun is None:
            who.require_open()
            begun = database.now()
            connection.execute(update(sittings).where(sittings.c.key == key).values(begun=begun))
        return read_trial(connection, row, who.study)._replace(begun=begun)


def look_at_trial(database: Database, person: str, key: str) -> TrialView:
    """Return an earlier page of the person, with their rating."""
    with database.reading() as connection:
        row, who = require_sitting(connection, person, key)
        who.require_role()
        return read_trial(connection, row, who.study)


def skip_trial(database: Database, person: str, key: str) -> None:
    """Continue without a rating; Refused unless the trial is hidden or a sound of it is missing or changed."""
    with database.writing(lasting=False) as connection:
        _lock_viewer(connection, person)
        row, _ = require_sitting(connection, person, key, lock=True)
        if not connection.scalar(select(trials.c.id).where((trials.c.id == row.trial) & _PUT_ASIDE)):
            raise Refused("skip", "nothing is wrong with these recordings; try to play them again")
        if row.closed is None:
            _close(connection, key, database.now())


def read_progress(database: Database, person: str) -> Progress:
    with database.reading() as connection:
        return _read_progress(connection, read_viewer(connection, person))


def find_trial_sound(database: Database, person: str, key: str, part: str) -> Original:
    """The file of a part of a person's sitting: a shown number, or `reference`; NotFound if it is not theirs."""
    with database.reading() as connection:
        row, who = require_sitting(connection, person, key)
        if row.begun is None and part != "reference":
            raise NotFound("the takes of this trial have not been opened yet")
        view = read_trial(connection, row, who.study)
    sound = view.reference if part == "reference" else view.stimuli[part].sound if part in view.stimuli else None
    if sound is None:
        raise NotFound("this trial has no such sound")
    return sound.original


def require_sitting(connection: Connection, person: str, key: str, lock: bool = False) -> tuple[Row[Any], Viewer]:
    """Read a person's sitting with its trial; NotFound if it is another's. `lock` locks its row."""
    mine = (sittings.c.key == require_id(key, "page")) & (sittings.c.person == person)
    asked = _SITTING.where(mine)
    row = connection.execute(asked.with_for_update(of=sittings, key_share=True) if lock else asked).one_or_none()
    who = read_viewer(connection, person)
    if row is None:
        who.require_role()
        raise NotFound("you have no such page; continue with the next one")
    return row, who


def read_trial(connection: Connection, row: Row[Any], study: Study) -> TrialView:
    """What a sitting shows; `row` as of `require_sitting`."""
    asked = select(stimuli.c.position, stimuli.c.role, *_SOUND).join(sounds, sounds.c.id == stimuli.c.sound)
    parts = {one.position: one for one in connection.execute(asked.where(stimuli.c.trial == row.trial))}
    found = connection.execute(select(*_SOUND).where(sounds.c.id == row.reference)).one_or_none()
    reference = None if found is None else _sound(found)
    shown = {str(place): _stimulus(parts[position], reference) for place, position in enumerate(row.shown, start=1)}
    needed = {name: study.needed(one.sound.seconds) for name, one in shown.items()}
    if reference is not None:
        is_open = row.kind == "mushra"  # the reference that all stimuli are compared with
        needed["reference"] = (study.needed if is_open else study.needed_reference)(reference.seconds)
    rating = None
    if row.votes:
        latest = (ratings.c.sitting == row.key) & (ratings.c.number == row.votes)
        rating = rating_as_shown(connection.execute(select(ratings).where(latest)).one(), row.shown)
    shows = row.text, row.lyrics, reference, shown, needed
    return TrialView(row.key, row.kind, *shows, row.created, row.begun, rating)


def rating_as_shown(row: Row[Any], shown: Sequence[int]) -> GivenRating:
    """A stored rating in terms of the numbers that its rater saw."""
    answers: dict[RatedAxis, dict[str, int]] = {
        axis: {str(place): values[position] for place, position in enumerate(shown, start=1)}
        for axis, values in row.answers.items()
    }
    places = {str(position): str(place) for place, position in enumerate(shown, start=1)}
    heard = {places.get(name, name): seconds for name, seconds in row.heard.items()}
    return GivenRating(row.number, row.created, answers, row.feedback, heard)


def _find_trial(connection: Connection, who: Viewer, progress: Progress, now: float) -> TrialView | Done:
    if (barred := why_barred(who)) is not None:
        return barred
    opened = _SITTING.where((sittings.c.person == who.id) & sittings.c.closed.is_(None))
    aside = set(connection.scalars(select(trials.c.id).where((trials.c.project == who.project) & _PUT_ASIDE)))
    row = connection.execute(opened).one_or_none()
    if row is not None:
        if row.trial not in aside:
            return read_trial(connection, row, who.study)
        _close(connection, row.key, now)
    if who.quota is not None and progress.done >= who.quota:
        return Done("quota")
    trial = _choose(connection, who, aside)
    if trial is None:
        return Done("no more pairs")
    _open(connection, who, trial, now)
    return read_trial(connection, connection.execute(opened).one(), who.study)


def _choose(connection: Connection, who: Viewer, aside: Collection[str]) -> str | None:
    """The trial that the person has not rated and that has the fewest ratings, in an order of the person's own."""
    counting = (sittings.c.project == who.project) & ((sittings.c.votes > 0) | sittings.c.closed.is_(None))
    counts = select(sittings.c.trial, func.count()).where(counting).group_by(sittings.c.trial)
    given = Counter({row[0]: row[1] for row in connection.execute(counts)})
    mine = (sittings.c.person == who.id) & (sittings.c.votes > 0)
    rated = set(connection.scalars(select(sittings.c.trial).where(mine)))
    there = connection.scalars(select(trials.c.id).where(trials.c.project == who.project))
    left = [trial for trial in there if trial not in rated and trial not in aside]
    return min(left, key=lambda trial: (given[trial], chance(who.study.seed, "order", trial, who.id)), default=None)


def _open(connection: Connection, who: Viewer, trial: str, now: float) -> None:
    """Open a sitting, or again the one that the person once put aside."""
    mine = (sittings.c.trial == trial) & (sittings.c.person == who.id)
    if connection.execute(update(sittings).where(mine).values(closed=None)).rowcount:
        return
    positions = connection.scalars(select(stimuli.c.position).where(stimuli.c.trial == trial))
    shown = sorted(positions, key=lambda position: chance(who.study.seed, "order", trial, who.id, position))
    row = {"key": new_id(), "project": who.project, "trial": trial, "person": who.id, "shown": shown}
    connection.execute(insert(sittings).values(**row, created=now, votes=0))


def _close(connection: Connection, key: str, now: float) -> None:
    connection.execute(update(sittings).where(sittings.c.key == key).values(closed=now))


def _lock_viewer(connection: Connection, person: str) -> Viewer:
    """Read a person; two requests of the same person wait for each other."""
    connection.execute(select(people.c.id).where(people.c.id == person).with_for_update(key_share=True))
    return read_viewer(connection, person).require_role()


def _read_progress(connection: Connection, who: Viewer) -> Progress:
    """Ratings of hidden trials were work done: they count towards the quota."""
    mine = (sittings.c.person == who.id) & (sittings.c.votes > 0)
    rated = select(trials.c.hidden).join(sittings, sittings.c.trial == trials.c.id).where(mine)
    hidden = [reason is not None for reason in connection.scalars(rated)]
    total = _count_trials(connection, who.project) + sum(hidden)
    return Progress(len(hidden), min(who.quota or total, total))


def _count_trials(connection: Connection, project: str, hidden: bool = False) -> int:
    ours = (trials.c.project == project) & (true() if hidden else trials.c.hidden.is_(None))
    return connection.scalar(select(func.count()).select_from(trials).where(ours)) or 0


def _stimulus(row: Row[Any], reference: PlayableSound | None) -> Stimulus:
    """A stimulus with its sound. The hidden reference and the anchors made from it play at the reference's gain."""
    sound = _sound(row)
    if row.role != "take" and reference is not None:
        sound = sound._replace(gain_db=reference.gain_db)
    return Stimulus(row.position, row.role, sound)


def _sound(row: Row[Any]) -> PlayableSound:
    original = Original._make(getattr(row, name) for name in Original._fields)
    return PlayableSound(original, row.seconds, row.gain_db, row.peaks)


def _require_same(connection: Connection, new: NewTrial, known: Row[Any]) -> None:
    there = connection.execute(select(stimuli.c.sound, stimuli.c.role).where(stimuli.c.trial == known.id))
    has = {(row.sound, row.role) for row in there}, known.text, known.lyrics, known.reference
    given = {(one.sound, one.role) for one in new.stimuli}
    if (given, storable(new.text), storable(new.lyrics), new.reference) != has:
        raise InputError(f"the project has another trial called {new.source_id!r}; give this one an id of its own")


def _check(new: NewTrial, kind: RatedKind, sounds_there: Collection[str]) -> None:
    scale = KINDS[kind]
    check_prompt(new, {f"system {place}": one.system for place, one in enumerate(new.stimuli, start=1)})
    if not scale.fewest <= len(new.stimuli) <= scale.most:
        expected = f"{scale.fewest} to {scale.most}" if scale.fewest < scale.most else f"{scale.fewest}"
        raise InputError(f"{len(new.stimuli)} stimuli on a page of the kind {kind}, expected {expected}")
    if len({one.sound for one in new.stimuli}) < len(new.stimuli):
        raise InputError("two of the takes are the same recording")
    if kind == "mushra" and new.reference is None:
        raise InputError("no reference, which MUSHRA compares the takes with; add a column 'reference'")
    if not {*(one.sound for one in new.stimuli), *filter(None, [new.reference])} <= set(sounds_there):
        raise NotFound("there is no such sound in this project")


_SOUND = (
    *(sounds.c[name] for name in (*Original._fields, "seconds", "gain_db")),
    sql_cast(sounds.c.peaks, Text).label("peaks"),
)
_SITTING = (
    select(sittings, *(trials.c[name] for name in ("text", "lyrics", "reference")), projects.c.kind)
    .join(trials, trials.c.id == sittings.c.trial)
    .join(projects, projects.c.id == sittings.c.project)
)
_PARTS = select(stimuli.c.sound).where(stimuli.c.trial == trials.c.id).correlate(trials)
BROKEN = exists().where(or_(sounds.c.id == trials.c.reference, sounds.c.id.in_(_PARTS)) & sounds.c.problem.is_not(None))
_PUT_ASIDE = or_(trials.c.hidden.is_not(None), BROKEN)
