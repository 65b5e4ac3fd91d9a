"""Statistics for the dashboard, made anew no more often than the server can spare.

A report of a large study takes seconds, and dashboards ask again and again. One report is made at a time; it is shown
for KEEP times as long as it took, so that reports never take more than a fifth of the time.
"""

import asyncio
import time
from typing import Any, NamedTuple

from cmi.arena.statistics import report
from cmi.arena.store import pairs, people, projects, votes
from cmi.arena.store.database import Database

KEEP = 4.0
MOST_KEPT = 100  # projects


class _Made(NamedTuple):
    report: dict[str, Any]
    until: float


class Reports:
    """The latest report of each project."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: dict[str, _Made] = {}
        self._one_at_a_time = asyncio.Lock()

    async def of(self, project: str) -> dict[str, Any]:
        async with self._one_at_a_time:
            made = self._made.get(project)
            if made is not None and time.monotonic() < made.until:
                return made.report
            begin = time.monotonic()
            found = await asyncio.to_thread(make_report, self._database, project)
            end = time.monotonic()
            if len(self._made) >= MOST_KEPT:
                self._made.clear()
            self._made[project] = _Made(found, end + KEEP * (end - begin))
            return found


def make_report(database: Database, project: str) -> dict[str, Any]:
    """What `cmi.arena.statistics.report` says of a project's votes so far."""
    quota = projects.get(database, project).settings.quota
    annotators = [
        (person.id, person.name, person.state, person.quota or quota)
        for person in people.list_people(database, project)
        if person.role == "annotator"
    ]
    return report(votes.counted(database, project), pairs.wanted(database, project), annotators)
