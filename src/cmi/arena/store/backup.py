"""Copies of an SQLite database: made while votes come in, and put back in its place.

A copy is whole, of one moment, and checked before it gets its name. What was deleted is not in it: it is packed anew.
"""

import errno
import glob
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, func, select

from cmi._util.errors import InputError
from cmi._util.files import UNFINISHED, whole_file
from cmi.arena.store import people
from cmi.arena.store.database import Database, parse_url, sqlite_engine
from cmi.arena.store.errors import DiskFull, NotFound, Refused, Unavailable
from cmi.arena.store.migrate import migrate, require_known
from cmi.arena.store.schema import projects, votes
from cmi.arena.store.sqlite_file import beside, claimed_alone, finish_restore, make_private, real_path

_UNWRITTEN = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_CANTOPEN")


class RestoredCounts(NamedTuple):
    projects: int
    votes: int
    withdrawn: int  # people who had withdrawn since the backup was made, and now have from it too


class Restored(NamedTuple):
    path: Path
    counts: RestoredCounts
    replaced: Path | None  # where the database is kept that was there before


def backup(database: Database, path: Path) -> Path:
    """Copy an SQLite database to a new file. InputError if the file is there, or for PostgreSQL, which has pg_dump."""
    if not database.is_sqlite:
        raise InputError(f"{database.name}: PostgreSQL backs up itself: pg_dump --format=custom --file=arena.dump URL")
    if path.exists():
        raise InputError(f"{path}: there is such a file already; choose another name")
    with whole_file(path) as unfinished:
        _copy(_uri(Path(str(database.engine.url.database)), "mode=ro"), database.name, unfinished)
    return path


def restore(backup: Path, db: str) -> Restored:
    """Put a copy of a backup in the place of the database `db`, which is kept under another name, log and all.

    Nothing changes unless the backup is whole and an arena's. Who withdrew since it was made stays withdrawn. Killed at
    any moment, the database is either the old one or the new one. InputError while the database is in use.
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
            _copy(_unused(backup), str(backup), unfinished)
            counts = _prepare(unfinished, backup, _withdrawn(path))
        return Restored(path, counts, finish_restore(path))


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?{mode}"


def _unused(path: Path) -> str:
    """The URI of a database that nobody writes to: read with its log if there is one, and else without making one."""
    return _uri(path, "mode=ro" if beside(real_path(path), "-wal").exists() else "immutable=1")


def _copy(original: str, name: str, target: Path) -> None:
    """Check, then copy and pack; an InputError is about the original, an OSError about the target."""
    make_private(target)
    try:
        with closing(sqlite3.connect(original, uri=True)) as source:
            verdict = source.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict == "ok":
                source.execute("VACUUM INTO ?", (str(target),))  # to one file, without a log beside it
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in _UNWRITTEN:
            raise OSError(errno.ENOSPC if "full" in str(error) else errno.EIO, str(error)) from error
        verdict = error
    if verdict != "ok":
        said = " ".join(str(verdict).split())
        raise InputError(f"{name}: damaged, or not a database ({said}); use an earlier backup")


def _withdrawn(path: Path) -> list[tuple[str, str]]:
    """(project, person) of everyone who withdrew; none that are known if the database can't be read."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(_unused(path), uri=True)) as connection:
            return connection.execute("SELECT project, subject FROM audit WHERE action = 'withdrawn'").fetchall()
    except sqlite3.Error:
        return []


def _prepare(path: Path, name: Path, withdrawn: list[tuple[str, str]]) -> RestoredCounts:
    """Bring a copy of the backup `name` up to date, and let those who have withdrawn since withdraw from it."""
    database = Database(sqlite_engine(URL.create("sqlite", database=str(path))))
    try:
        with database.reading() as connection:
            require_known(connection, str(name))
        migrate(database)
        again = sum(_withdraw(database, *who) for who in withdrawn)
        with database.reading() as connection:
            there, cast = (connection.scalar(select(func.count()).select_from(one)) or 0 for one in (projects, votes))
    except DiskFull as error:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    except Unavailable as error:
        raise InputError(f"{name}: not an arena's database ({error.__cause__})") from error
    finally:
        database.close()
    return RestoredCounts(there, cast, again)


def _withdraw(database: Database, project: str, person: str) -> bool:
    """Let somebody withdraw, if they are there, have not done so and may."""
    try:
        if people.get(database, project, person).state == "withdrawn":
            return False
        people.withdraw(database, project, person)
    except (NotFound, Refused):
        return False
    return True
