"""Back up and restore an SQLite database while the server runs.

A copy is a consistent snapshot, checked before it gets its name; it is vacuumed, so deleted data is not in it.
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
from cmi.arena.store.database import Database, sqlite_engine
from cmi.arena.store.database_url import parse_url
from cmi.arena.store.errors import DiskFull, NotFound, Refused, Unavailable
from cmi.arena.store.migrate import migrate, require_known
from cmi.arena.store.schema import projects, ratings, votes
from cmi.arena.store.sqlite_file import beside, claimed_alone, finish_restore, make_private, real_path

_UNWRITTEN = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_CANTOPEN")


class Restored(NamedTuple):
    path: Path
    projects: int
    votes: int
    withdrawn: int  # people who withdrew after the backup, and were now removed from it too
    replaced: Path | None = None  # the previous database


def backup(database: Database, path: Path) -> Path:
    """Copy an SQLite database to a new file; PostgreSQL has pg_dump for this."""
    if not database.is_sqlite:
        raise InputError(f"{database.name}: back up PostgreSQL with pg_dump --format=custom --file=arena.dump URL")
    if path.exists():
        raise InputError(f"{path}: already exists; choose another name")
    with whole_file(path) as unfinished:
        _copy(_uri(Path(str(database.engine.url.database)), "mode=ro"), database.name, unfinished)
    return path


def restore(backup: Path, db: str) -> Restored:
    """Replace the database `db` by a copy of a backup; the old one is kept under another name, with its log.

    Nothing changes unless the backup is intact. People who withdrew since stay withdrawn. If this is killed, the
    database is either the old or the new one. InputError while the database is in use.
    """
    url = parse_url(db)
    if url.drivername != "sqlite" or not url.database:
        raise InputError("restore PostgreSQL with pg_restore --clean --if-exists --dbname=URL arena.dump")
    path = real_path(Path(url.database))
    if not backup.is_file():
        raise InputError(f"{backup}: no such file")
    if path.exists() and path.samefile(backup):
        raise InputError(f"{backup}: the database itself; name a backup of it")
    with claimed_alone(path):
        restoring = beside(path, ".restoring")
        if restoring.exists():
            finish_restore(path)
        for left in path.parent.glob(f"{glob.escape(restoring.name)}.*{UNFINISHED}*"):  # left by a killed restore
            left.unlink(missing_ok=True)
        with whole_file(restoring) as unfinished:
            _copy(_unused(backup), str(backup), unfinished)
            restored = Restored(path, *_prepare(unfinished, backup, _withdrawn(path)))
        return restored._replace(replaced=finish_restore(path))


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?{mode}"


def _unused(path: Path) -> str:
    """The URI of a database that nobody writes to, opened without creating a log."""
    return _uri(path, "mode=ro" if beside(real_path(path), "-wal").exists() else "immutable=1")


def _copy(original: str, name: str, target: Path) -> None:
    """Check, then copy and vacuum; InputError is about the original, OSError about the target."""
    make_private(target)
    try:
        with closing(sqlite3.connect(original, uri=True)) as source:
            verdict = source.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict == "ok":
                source.execute("VACUUM INTO ?", (str(target),))  # to a single file without a log
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in _UNWRITTEN:
            raise OSError(errno.ENOSPC if "full" in str(error) else errno.EIO, str(error)) from error
        verdict = error
    if verdict != "ok":
        said = " ".join(str(verdict).split())
        raise InputError(f"{name}: damaged, or not a database ({said}); use an earlier backup")


def _withdrawn(path: Path) -> list[tuple[str, str]]:
    """(project, person) of everyone who withdrew; empty if the database cannot be read."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(_unused(path), uri=True)) as connection:
            return connection.execute("SELECT project, subject FROM audit WHERE action = 'withdrawn'").fetchall()
    except sqlite3.Error:
        return []


def _prepare(path: Path, name: Path, withdrawn: list[tuple[str, str]]) -> tuple[int, int, int]:
    """Migrate a copy of the backup `name` and repeat the withdrawals made since; count projects, votes and those."""
    database = Database(sqlite_engine(URL.create("sqlite", database=str(path))))
    try:
        with database.reading() as connection:
            require_known(connection, str(name))
        migrate(database)
        again = sum(_withdraw(database, *who) for who in withdrawn)
        with database.reading() as connection:
            there, *cast = (
                connection.scalar(select(func.count()).select_from(one)) or 0 for one in (projects, votes, ratings)
            )
    except DiskFull as error:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    except Unavailable as error:
        raise InputError(f"{name}: not an arena's database ({error.__cause__})") from error
    finally:
        database.close()
    return there, sum(cast), again


def _withdraw(database: Database, project: str, person: str) -> bool:
    """Withdraw a person if possible; return whether that changed anything."""
    try:
        if people.get(database, project, person).state == "withdrawn":
            return False
        people.withdraw(database, project, person)
    except (NotFound, Refused):
        return False
    return True
