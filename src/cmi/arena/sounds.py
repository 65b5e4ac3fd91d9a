"""Sounds: audio files that a project's pages may play, known by an opaque id."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from cmi.arena.database import Database, require_id
from cmi.arena.errors import NotFound
from cmi.arena.measure import Measured, measure
from cmi.arena.schema import new_id, sounds

__all__ = ["Located", "Measured", "known", "locate", "measure", "register", "register_all"]


class Located(NamedTuple):
    """Where the server finds a sound."""

    path: Path
    media_type: str


def register(connection: Connection, project: str, path: Path, measured: Measured | None = None) -> str:
    """The id of a file in a project; the same bytes have the same id. `measured` saves decoding it here."""
    return register_all(connection, project, [(path, measured or measure(path))])[0]


def register_all(connection: Connection, project: str, files: Sequence[tuple[Path, Measured]]) -> list[str]:
    """As `register`, for many files at once."""
    ids = known(connection, project)
    rows: list[dict[str, Any]] = []
    for path, measured in files:
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


def locate(database: Database, project: str, sound: str) -> Located:
    """Where a sound of the project lies: NotFound for any other project's."""
    asked = select(sounds.c.path, sounds.c.media_type)
    ours = (sounds.c.project == project) & (sounds.c.id == require_id(sound, "sound"))
    with database.reading() as connection:
        row = connection.execute(asked.where(ours)).one_or_none()
    if row is None:
        raise NotFound("there is no such sound")
    return Located(Path(row.path), row.media_type)
