"""How people's participation ended, and the parameters of the links that they came by."""

from collections import defaultdict
from typing import Any, NamedTuple

from sqlalchemy import select, update

from cmi.arena.store import assign, projects, recruit, trials
from cmi.arena.store.assign import Done
from cmi.arena.store.checks import KINDS, NEEDED
from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound
from cmi.arena.store.exits import Exit, Outcome
from cmi.arena.store.people import get as get_person
from cmi.arena.store.people import list_people
from cmi.arena.store.qualification import tally
from cmi.arena.store.schema import note, participants, people, sound_checks
from cmi.arena.store.views import read_viewer
from cmi.report.tables import spreadsheet_value


class End(NamedTuple):
    outcome: Outcome | None  # None: they are not at the end
    screened_out: str | None  # by which check
    exit: Exit


def find_end(database: Database, person: str) -> End:
    """Whether a person is at the end, and where they go from there.

    Whoever has done all that there is is complete; if there was nothing to do for them at all, they have returned.
    """
    outcome = _find_outcome(database, person)
    if outcome is None:
        return End(None, None, Exit(None, None))
    with database.writing() as connection:
        connection.execute(update(people).where(people.c.id == person).values(outcome=outcome))
        check = read_viewer(connection, person).screened_out
    return End(outcome, check, recruit.exit_of(database, person, outcome))


def _find_outcome(database: Database, person: str) -> Outcome | None:
    with database.reading() as connection:
        project = read_viewer(connection, person).project
    find_next = assign.next_page if projects.get(database, project).kind == "pairs" else trials.next_trial
    found, progress = find_next(database, person)
    if not isinstance(found, Done) or found.reason in ("paused", "checks", "not ready"):
        return None
    if found.reason == "screened out":
        return "screened out"
    return "complete" if progress.done else "returned"


def admit(database: Database, project: str, person: str) -> None:
    """Let a person in who was screened out, or who has not passed a check yet: all of them count as passed."""
    if get_person(database, project, person).role != "annotator":
        raise NotFound("there is no such annotator in this project")
    with database.writing() as connection:
        now = database.now()
        values = {"checked": now, "qualified": now, "screened_out": None, "outcome": None}
        connection.execute(update(people).where(people.c.id == person).values(values))
        note(connection, now, project, "admitted", person, {})


def list_participants(database: Database, project: str) -> list[dict[str, Any]]:
    """A row for each annotator: where they came from, how they did in each check, and how it ended."""
    annotators = [one for one in list_people(database, project) if one.role == "annotator"]
    attempts: dict[tuple[str, str], list[Any]] = defaultdict(list)
    with database.reading() as connection:
        ours = sound_checks.c.project == project
        for row in connection.execute(select(sound_checks).where(ours).order_by(sound_checks.c.number)):
            attempts[row.person, row.kind].append(row)
        came = {
            row.person: row for row in connection.execute(select(participants).where(participants.c.project == project))
        }
        entry = ("checked", "qualified", "screened_out", "outcome")
        ends = {
            row.id: {name: getattr(row, name) for name in entry}
            for row in connection.execute(select(people).where(people.c.project == project))
        }
        tallies = {one.id: tally(connection, one.id) for one in annotators}
    rows = []
    for one in annotators:
        link = came.get(one.id)
        checks: dict[str, Any] = {}
        for kind in KINDS:
            done = [row for row in attempts[one.id, kind] if row.finished is not None]
            checks |= {
                f"{kind}_attempts": len(attempts[one.id, kind]),
                f"{kind}_right": done[-1].right if done else None,
                f"{kind}_passed": any(row.right >= NEEDED for row in done) if done else None,
                f"{kind}_volume": done[-1].volume if done else None,
            }
        rows.append(
            {
                "person": one.id,
                "participant": link.participant if link else None,
                "parameters": dict(link.parameters) if link else {},
                "state": one.state,
                "joined": one.created,
                "votes": one.votes - tallies[one.id].n,
                **checks,
                "qualification_right": tallies[one.id].right,
                "qualification_pairs": tallies[one.id].n,
                **ends[one.id],
            }
        )
    return rows


def flat_participants(database: Database, project: str) -> list[dict[str, Any]]:
    """As `list_participants`, for a spreadsheet: with a column for each parameter of their links."""
    rows = list_participants(database, project)
    names = sorted({name for row in rows for name in row["parameters"]})
    return [
        {name: spreadsheet_value(value) for name, value in row.items() if name != "parameters"}
        | {f"parameter_{name}": spreadsheet_value(row["parameters"].get(name, "")) for name in names}
        for row in rows
    ]
