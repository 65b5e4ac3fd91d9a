"""Copies of an SQLite database: made while votes come in, and put back in its place.

A copy is whole, of one moment, and checked before it gets its name. What was deleted is not in it: it is packed anew.
"""

import errno
import glob
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, create_engine, func, select
from sqlalchemy.exc import DBAPIError

from cmi.arena.database import Database, parse_url, reason
from cmi.arena.migrate import require_known
from cmi.arena.schema import projects, votes
from cmi.arena.sqlite_file import beside, claimed_alone, finish_restore, make_private, real_path
from cmi.errors import InputError
from cmi.files import UNFINISHED, whole_file

_UNWRITTEN = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_CANTOPEN")


class Restored(NamedTuple):
    path: Path
    projects: int
    votes: int
    replaced: Path | None  # where the database is kept that was there before


def backup(database: Database, path: Path) -> Path:
    """Copy an SQLite database to a new file. InputError if the file is there, or for PostgreSQL, which has pg_dump."""
    if not database.is_sqlite:
        raise InputError(f"{database.name}: PostgreSQL backs up itself: pg_dump --format=custom --file=arena.dump URL")
    if path.exists():
        raise InputError(f"{path}: there is such a file already; choose another name")
    with whole_file(path) as unfinished:
        _copy(Path(str(database.engine.url.database)), "mode=ro", unfinished)
    return path


def restore(backup: Path, db: str) -> Restored:
    """Put a copy of a backup in the place of the database `db`, which is kept under another name, log and all.

    Nothing changes unless the backup is whole and an arena's. Killed at any moment, the database is either the old one
    or the new one. InputError while the database is in use.
    """
    url = parse_url(db)
    if url.drivername != "sqlite" or not url.database:
        raise InputError("PostgreSQL restores itself: pg_restore --clean --if-exists --dbname=URL arena.dump")
    path = real_path(Path(url.database))
    if not backup.is_file():
        raise InputError(f"{backup}: no such file")
    if path.exists() and path.samefile(backup):
        raise InputError(f"{backup}: the database itself; name a backup of it")
    with claimed_alone(path):
        restoring = beside(path, ".restoring")
        if restoring.exists():
            finish_restore(path)
        for left in path.parent.glob(f"{glob.escape(restoring.name)}.*{UNFINISHED}*"):  # by a restore that was killed
            left.unlink(missing_ok=True)
        with whole_file(restoring) as unfinished:
            # without a log nothing is to be waited for, and nothing is left beside the backup
            _copy(backup, "mode=ro" if beside(backup, "-wal").exists() else "immutable=1", unfinished)
            counts = _count(unfinished, backup)
        return Restored(path, *counts, finish_restore(path))


def _copy(original: Path, mode: str, target: Path) -> None:
    """Check, then copy and pack; an InputError is about the original, an OSError about the target."""
    make_private(target)
    try:
        with closing(sqlite3.connect(f"{original.absolute().as_uri()}?{mode}", uri=True)) as source:
            verdict = source.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict == "ok":
                source.execute("VACUUM INTO ?", (str(target),))  # to one file, without a log beside it
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in _UNWRITTEN:
            raise OSError(errno.ENOSPC if "full" in str(error) else errno.EIO, str(error)) from error
        verdict = error
    if verdict != "ok":
        said = " ".join(str(verdict).split())
        raise InputError(f"{original}: damaged, or not a database ({said}); use an earlier backup")


def _count(path: Path, name: Path) -> tuple[int, int]:
    """How many projects and votes a database has; InputError if it is not an arena's."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    try:
        with engine.connect() as connection:
            require_known(connection, str(name))
            projects_, votes_ = (
                connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (projects, votes)
            )
    except DBAPIError as error:
        raise InputError(f"{name}: not an arena's database ({reason(error)})") from error
    finally:
        engine.dispose()
    return projects_, votes_
