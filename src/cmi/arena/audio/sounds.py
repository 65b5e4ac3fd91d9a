"""The sounds of a project: their files, registered with opaque ids, and whether they still are what was imported.

A file is hashed when it is first used and whenever its size or modification time has changed. A problem is stored with
the sound, and its pairs are not assigned until the file is found again with its original digest.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi._util.printable import printable
from cmi.arena.audio.measure import SoundMeasurement, measure
from cmi.arena.store.database import Database, require_id
from cmi.arena.store.database_url import parse_url
from cmi.arena.store.errors import NotFound
from cmi.arena.store.pairs import mark_broken
from cmi.arena.store.schema import new_id, note, pairs, sounds, stimuli, trials
from cmi.arena.store.views import Original, Problem
from cmi.audio import content_hash

log = logging.getLogger("cmi.arena")

_ORIGINALS = select(*(sounds.c[name] for name in Original._fields))


def sounds_folder(db: str) -> Path:
    """The folder for uploads and anchors: beside an SQLite file, else in the cache folder."""
    url = parse_url(db)
    if url.drivername == "sqlite" and url.database:
        return Path(f"{url.database}.sounds").absolute()
    return cache_folder() / "arena-sounds"


class Trouble(NamedTuple):
    """A sound that cannot be used, as shown to the project's owner."""

    sound: str
    path: Path
    problem: Problem
    pairs: list[str]  # source ids, or those of trials


def register(connection: Connection, project: str, path: Path, measured: SoundMeasurement | None = None) -> str:
    """Register a file and return its id; the same bytes have the same id."""
    return register_all(connection, project, [(path, measured or measure(path))])[0]


def register_all(connection: Connection, project: str, files: Sequence[tuple[Path, SoundMeasurement]]) -> list[str]:
    """Register many files. A sound whose file was lost is repaired by a file with the same bytes."""
    known = connection.execute(_ORIGINALS.where(sounds.c.project == project)).all()
    ids = {row.digest: row.id for row in known}
    lost = {row.digest for row in known if row.problem is not None or not Path(row.path).exists()}
    rows: list[dict[str, Any]] = []
    for path, measured in files:
        if measured.digest in lost:
            its = update(sounds).where(sounds.c.id == ids[measured.digest])
            connection.execute(its.values(path=str(path.resolve()), size=None, modified=None, problem=None))
            mark_broken(connection, project, ids[measured.digest])
        if measured.digest not in ids:
            ids[measured.digest] = new_id()
            row = {"id": ids[measured.digest], "project": project, "path": str(path.resolve())}
            rows.append({**row, **measured._asdict()})
    if rows:
        connection.execute(insert(sounds), rows)
    return [ids[measured.digest] for _, measured in files]


def find(database: Database, project: str, sound: str) -> Original:
    """The file of a sound; NotFound if it belongs to another project."""
    ours = (sounds.c.project == project) & (sounds.c.id == require_id(sound, "sound"))
    with database.reading() as connection:
        row = connection.execute(_ORIGINALS.where(ours)).one_or_none()
    if row is None:
        raise NotFound("there is no such sound")
    return Original._make(row)


def look(database: Database, original: Original, thoroughly: bool = False) -> Problem | None:
    """Return and store what is wrong with a file; `thoroughly` hashes it even if size and time are unchanged."""
    if not thoroughly and is_unchanged(original):
        return None
    size, modified = _stamp(original.path)
    found = original._replace(problem=_compare(original, size))
    if found.problem is None:
        found = found._replace(size=size, modified=modified)
    if found != original:
        _keep(database, found, is_news=found.problem != original.problem)
    return found.problem


def is_unchanged(original: Original) -> bool:
    """Whether the file has the size and time that it had when it was last found right."""
    size, modified = _stamp(original.path)
    return original.problem is None and size is not None and (size, modified) == (original.size, original.modified)


def check(database: Database, project: str, thoroughly: bool) -> Iterator[tuple[Original, Problem | None]]:
    """Check all files of a project; yield each sound as it was known and its problem now."""
    with database.reading() as connection:
        rows = connection.execute(_ORIGINALS.where(sounds.c.project == project).order_by(sounds.c.path)).all()
    for original in map(Original._make, rows):
        yield original, look(database, original, thoroughly)


def troubles(database: Database, project: str) -> list[Trouble]:
    """The sounds of a project that are missing or changed, with the pairs that need them."""
    broken = (sounds.c.project == project) & sounds.c.problem.is_not(None)
    with database.reading() as connection:
        found = connection.execute(_ORIGINALS.where(broken)).all()
        asked = select(pairs.c.source_id, pairs.c.a, pairs.c.b, pairs.c.reference).order_by(pairs.c.position)
        waiting = connection.execute(asked.where((pairs.c.project == project) & pairs.c.broken)).all()
        lost = [one.id for one in found]
        parts = (
            select(trials.c.source_id, stimuli.c.sound, trials.c.reference)
            .join(stimuli, stimuli.c.trial == trials.c.id)
            .where(trials.c.project == project)
            .where(stimuli.c.sound.in_(lost) | trials.c.reference.in_(lost))
            .order_by(trials.c.position)
        )
        waiting = [*waiting, *connection.execute(parts)]
    needing = {one.id: list(dict.fromkeys(row[0] for row in waiting if one.id in row[1:])) for one in found}
    return [Trouble(one.id, Path(one.path), one.problem, needing[one.id]) for one in found]


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
            note(connection, database.now(), found.project, f"sound {found.problem or 'repaired'}", found.id, {})
    if is_news:
        said = f"is {found.problem}: see `cmi arena check`" if found.problem else "has its imported content again"
        log.warning("%s %s", printable(found.path), said)
