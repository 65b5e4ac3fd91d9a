"""Register audio files as sounds of a project, with opaque ids."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from cmi.arena.audio.measure import SoundMeasurement, measure
from cmi.arena.audio.originals import Original
from cmi.arena.store.database import Database, require_id
from cmi.arena.store.errors import NotFound
from cmi.arena.store.pairs import mark_broken
from cmi.arena.store.schema import new_id, sounds

__all__ = ["SoundMeasurement", "find", "known", "measure", "register", "register_all"]


def register(connection: Connection, project: str, path: Path, measured: SoundMeasurement | None = None) -> str:
    """Register a file and return its id; the same bytes have the same id."""
    return register_all(connection, project, [(path, measured or measure(path))])[0]


def register_all(connection: Connection, project: str, files: Sequence[tuple[Path, SoundMeasurement]]) -> list[str]:
    """Register many files. A sound whose file was lost is repaired by a file with the same bytes."""
    ids = known(connection, project)
    lost = _lost(connection, project)
    rows: list[dict[str, Any]] = []
    for path, measured in files:
        if measured.digest in lost:
            _repair(connection, project, ids[measured.digest], path)
        if measured.digest not in ids:
            ids[measured.digest] = new_id()
            row = {"id": ids[measured.digest], "project": project, "path": str(path.resolve())}
            rows.append({**row, **measured._asdict()})
    if rows:
        connection.execute(insert(sounds), rows)
    return [ids[measured.digest] for _, measured in files]


def known(connection: Connection, project: str) -> dict[str, str]:
    """The ids of a project's sounds, by the digests of their bytes."""
    rows = connection.execute(select(sounds.c.digest, sounds.c.id).where(sounds.c.project == project))
    return {row.digest: row.id for row in rows}


def _lost(connection: Connection, project: str) -> set[str]:
    """Digests of sounds whose files are missing or changed."""
    columns = sounds.c.digest, sounds.c.path, sounds.c.problem
    rows = connection.execute(select(*columns).where(sounds.c.project == project))
    return {row.digest for row in rows if row.problem is not None or not Path(row.path).exists()}


def _repair(connection: Connection, project: str, sound: str, path: Path) -> None:
    values = {"path": str(path.resolve()), "size": None, "modified": None, "problem": None}
    connection.execute(update(sounds).where(sounds.c.id == sound).values(values))
    mark_broken(connection, project, sound)


def find(database: Database, project: str, sound: str) -> Original:
    """The file of a sound; NotFound if it belongs to another project."""
    ours = (sounds.c.project == project) & (sounds.c.id == require_id(sound, "sound"))
    with database.reading() as connection:
        row = connection.execute(select(*(sounds.c[name] for name in Original._fields)).where(ours)).one_or_none()
    if row is None:
        raise NotFound("there is no such sound")
    return Original._make(row)
