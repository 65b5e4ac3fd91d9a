"""Sound checks before the first pair: can this listener, on this device, hear what the study needs?

device        a calibration sound to set the level by, then on which side each of TRIALS sounds plays: left, right, both
headphones    which of three tones is the quietest, TRIALS times, after Woods et al. (2017): one tone is quieter, and
              another has its sides in antiphase, so that between loudspeakers, though not in headphones, that one seems
              the quietest

Each trial has CHOICES answers and is drawn anew. NEEDED must be right. What an attempt plays is drawn when it begins,
so a reload changes nothing and counts as the same attempt; the first answers count. Whoever fails the last attempt is
screened out.
"""

import secrets
from statistics import median
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, Row, insert, select, update

from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.qualification import screen_out
from cmi.arena.store.schema import new_id, people, sound_checks, sounds
from cmi.arena.store.views import Viewer, read_viewer

Kind = Literal["device", "headphones"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # in the order in which they come

TRIALS = 6
NEEDED = 5
CHOICES = 3
SECONDS: dict[Kind, float] = {"device": 1.0, "headphones": 4.0}  # that a trial plays
SLACK = 1.0  # seconds by which the browser's clock and ours may differ


class HeadphoneTrial(NamedTuple):
    """At which places of the three the quiet and the inverted tone are."""

    quiet: int
    inverted: int


HEADPHONE_TRIALS = [HeadphoneTrial(quiet, other) for quiet in range(3) for other in range(3) if other != quiet]


class CheckState(NamedTuple):
    kind: Kind
    passed: bool
    attempts: int  # begun or finished
    attempts_left: int  # with the one that is begun
    attempt: int | None  # that is begun


class CheckResult(NamedTuple):
    right: int
    passed: bool
    attempts_left: int


def state(database: Database, person: str) -> list[CheckState]:
    """Return the study's checks in order; [] if the person has none left."""
    with database.writing() as connection:
        who = _read_locked(connection, person)
        if not who.is_to_be_checked or who.screened_out:
            return []
        found = [_state(kind, rows, who) for kind, rows in _attempts(connection, who).items()]
        if all(one.passed for one in found):  # the owner has asked for less in the meantime
            _pass_all(connection, who, database.now())
    return found


def begin(database: Database, person: str, kind: Kind) -> int:
    """Start an attempt, or continue the current one, and return its number; Refused if none is left."""
    with database.writing() as connection:
        who = _read_locked(connection, person)
        rows = _attempts(connection, who).get(kind)
        if rows is None or not who.is_to_be_checked or who.screened_out:
            raise Refused("check", "there is nothing to check now; reload the page")
        found = _state(kind, rows, who)
        if found.attempt is not None:
            return found.attempt
        if found.passed or not found.attempts_left:
            raise Refused("check", "there is nothing to check now; reload the page")
        kinds_of_trial = len(HEADPHONE_TRIALS) if kind == "headphones" else CHOICES
        plan = [secrets.randbelow(kinds_of_trial) for _ in range(TRIALS)]
        ids = {"id": new_id(), "project": who.project, "person": person, "kind": kind, "number": found.attempts + 1}
        connection.execute(insert(sound_checks).values(**ids, plan=plan, created=database.now()))
    return found.attempts + 1


def read_plan(database: Database, person: str, kind: Kind, number: int) -> list[int]:
    """What the trials of an attempt play."""
    with database.reading() as connection:
        return list(_require(connection, person, kind, number).plan)


def answer(
    database: Database, person: str, kind: Kind, number: int, answers: list[int], volume: float | None = None
) -> CheckResult:
    """Judge an attempt. The first answers count: the same request again, or another one, gets the same result."""
    with database.writing() as connection:
        who, now = _read_locked(connection, person), database.now()
        row = _require(connection, person, kind, number)
        right = row.right
        if row.finished is None:
            if 0 <= now - row.created + SLACK < TRIALS * SECONDS[kind]:
                raise Refused("heard", "you cannot have heard the sounds yet; please listen before you answer")
            right = sum(given == right_answer(kind, plan) for given, plan in zip(answers, row.plan, strict=True))
            values = {"answers": answers, "right": right, "volume": volume, "finished": now}
            connection.execute(update(sound_checks).where(sound_checks.c.id == row.id).values(values))
            _settle(connection, who, now)
        rows = _attempts(connection, who, kind).get(kind, [])
    return CheckResult(right, right >= NEEDED, max(0, who.study.check_attempts - len(rows)))


def right_answer(kind: Kind, plan: int) -> int:
    """The right answer of a trial."""
    return HEADPHONE_TRIALS[plan].quiet if kind == "headphones" else plan


def median_loudness(database: Database, project: str) -> float | None:
    """Of the study's recordings in LUFS; None if none was measured."""
    asked = select(sounds.c.lufs).where((sounds.c.project == project) & sounds.c.lufs.is_not(None))
    with database.reading() as connection:
        found = list(connection.scalars(asked))
    return median(found) if found else None


def _settle(connection: Connection, who: Viewer, now: float) -> None:
    """Let the person in if all checks are passed, or screen them out if one was failed too often."""
    found = [_state(kind, rows, who) for kind, rows in _attempts(connection, who).items()]
    failed = next((one.kind for one in found if not one.passed and not one.attempts_left), None)
    if failed is not None and who.screened_out is None:
        screen_out(connection, who, failed, now)
    elif all(one.passed for one in found):
        _pass_all(connection, who, now)


def _pass_all(connection: Connection, who: Viewer, now: float) -> None:
    connection.execute(update(people).where(people.c.id == who.id).values(checked=now))


def _state(kind: Kind, rows: list[Row[Any]], who: Viewer) -> CheckState:
    is_open = [row.number for row in rows if row.finished is None]
    passed = any(row.finished is not None and row.right >= NEEDED for row in rows)
    left = max(0, who.study.check_attempts - len(rows)) + len(is_open)
    return CheckState(kind, passed, len(rows), left, is_open[0] if is_open else None)


def _attempts(connection: Connection, who: Viewer, *more: Kind) -> dict[Kind, list[Row[Any]]]:
    """The attempts at each check that the study asks for, and at those of `more`."""
    wanted = {"device": who.study.device_check, "headphones": who.study.headphone_check}
    found: dict[Kind, list[Row[Any]]] = {kind: [] for kind in KINDS if wanted[kind] or kind in more}
    asked = select(sound_checks).where(sound_checks.c.person == who.id).order_by(sound_checks.c.number)
    for row in connection.execute(asked):
        if row.kind in found:
            found[row.kind].append(row)
    return found


def _require(connection: Connection, person: str, kind: Kind, number: int) -> Row[Any]:
    theirs = (sound_checks.c.person == person) & (sound_checks.c.kind == kind) & (sound_checks.c.number == number)
    row = connection.execute(select(sound_checks).where(theirs)).one_or_none()
    if row is None:
        raise NotFound("there is no such attempt")
    return row


def _read_locked(connection: Connection, person: str) -> Viewer:
    connection.execute(select(people.c.id).where(people.c.id == person).with_for_update(key_share=True))
    return read_viewer(connection, person).require_role()
