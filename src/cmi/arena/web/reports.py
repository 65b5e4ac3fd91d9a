"""Cached statistics for the dashboard.

A report of a large study takes seconds. One report is made at a time and cached for KEEP times as long as it took, so
reports never take more than a fifth of the server's time.
"""

import asyncio
import time
from typing import Any

from cmi.arena.statistics import report
from cmi.arena.store import pairs, people, projects, votes
from cmi.arena.store.database import Database

KEEP = 4.0
MOST_KEPT = 100  # projects


class Reports:
    """The latest report of each project."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: dict[str, tuple[dict[str, Any], float]] = {}  # report, valid until
        self._one_at_a_time = asyncio.Lock()

    async def of(self, project: str) -> dict[str, Any]:
        async with self._one_at_a_time:
            if project in self._made and time.monotonic() < self._made[project][1]:
                return self._made[project][0]
            begin = time.monotonic()
            found = await asyncio.to_thread(make_report, self._database, project)
            end = time.monotonic()
            if len(self._made) >= MOST_KEPT:
                self._made.clear()
            self._made[project] = found, end + KEEP * (end - begin)
            return found


def make_report(database: Database, project: str) -> dict[str, Any]:
    """Compute the statistics of a project's votes so far."""
    quota = projects.get(database, project).settings.quota
    annotators = [
        (person.id, person.name, person.state, person.quota or quota)
        for person in people.list_people(database, project)
        if person.role == "annotator"
    ]
    return report(votes.counted(database, project), pairs.wanted(database, project), annotators)
