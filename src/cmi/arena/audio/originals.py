"""Check that the files of a project's sounds still exist with the bytes that were imported.

A file is hashed when it is first used and whenever its size or modification time has changed. A problem is stored with
the sound, and its pairs are not assigned until the file is found again with its original digest.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from sqlalchemy import select, update

from cmi._util.errors import InputError
from cmi._util.printable import printable
from cmi.arena.store.database import Database
from cmi.arena.store.pairs import mark_broken
from cmi.arena.store.schema import note, pairs, sounds
from cmi.audio import content_hash

Problem = Literal["missing", "changed"]
PARTS = ("a", "b", "reference")

log = logging.getLogger("cmi.arena")


class Original(NamedTuple):
    """A sound's file as of the last check."""

    id: str
    project: str
    path: str
    digest: str
    size: int | None
    modified: int | None
    problem: Problem | None


class Trouble(NamedTuple):
    """A sound that cannot be used, as shown to the project's owner."""

    sound: str
    path: Path
    problem: Problem
    pairs: list[str]  # source ids


_COLUMNS = [sounds.c[name] for name in Original._fields]


def look(database: Database, original: Original, thoroughly: bool = False) -> Problem | None:
    """Return and store what is wrong with a file; `thoroughly` hashes it even if size and time are unchanged."""
    size, modified = _stamp(original.path)
    seen = (original.size, original.modified)
    if not (thoroughly or original.problem) and size is not None and (size, modified) == seen:
        return None
    found = original._replace(problem=_compare(original, size))
    if found.problem is None:
        found = found._replace(size=size, modified=modified)
    if found != original:
        _keep(database, found, is_news=found.problem != original.problem)
    return found.problem


def of_project(database: Database, project: str) -> list[Original]:
    with database.reading() as connection:
        rows = connection.execute(select(*_COLUMNS).where(sounds.c.project == project).order_by(sounds.c.path))
        return [Original._make(row) for row in rows]


def check(database: Database, project: str, thoroughly: bool) -> Iterator[tuple[Original, Problem | None]]:
    """Check all files of a project; yield each sound as it was known and its problem now."""
    for original in of_project(database, project):
        yield original, look(database, original, thoroughly)


def troubles(database: Database, project: str) -> list[Trouble]:
    """The sounds of a project that are missing or changed, with the pairs that need them."""
    broken = (sounds.c.project == project) & sounds.c.problem.is_not(None)
    with database.reading() as connection:
        found = [Original._make(row) for row in connection.execute(select(*_COLUMNS).where(broken))]
        parts = [pairs.c[part] for part in PARTS]
        waiting = connection.execute(
            select(pairs.c.source_id, *parts)
            .where((pairs.c.project == project) & pairs.c.broken)
            .order_by(pairs.c.position)
        ).all()
    return [
        Trouble(one.id, Path(one.path), one.problem, [row[0] for row in waiting if one.id in row[1:]])
        for one in found
        if one.problem is not None
    ]


def _stamp(path: str) -> tuple[int | None, int | None]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None, None
    return found.st_size, found.st_mtime_ns


def _compare(original: Original, size: int | None) -> Problem | None:
    if size is None:
        return "missing"
    try:
        return None if content_hash(Path(original.path)) == original.digest else "changed"
    except InputError:  # unreadable: a folder, no permission, a failing disk
        return "missing"


def _keep(database: Database, found: Original, is_news: bool) -> None:
    with database.writing() as connection:
        values = {"size": found.size, "modified": found.modified, "problem": found.problem}
        connection.execute(update(sounds).where(sounds.c.id == found.id).values(values))
        if is_news:
            mark_broken(connection, found.project, found.id)
            action = f"sound {found.problem or 'repaired'}"
            note(connection, database.now(), found.project, action, found.id, {})
    if is_news:
        said = f"is {found.problem}: see `cmi arena check`" if found.problem else "has its imported content again"
        log.warning("%s %s", printable(found.path), said)
