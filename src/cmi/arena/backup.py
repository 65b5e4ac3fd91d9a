"""A copy of the database while votes come in: whole, of one moment, and checked before it gets its name."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cmi.arena.database import Database
from cmi.errors import InputError


def backup(database: Database, path: Path) -> Path:
    """Copy an SQLite database to a new file. InputError if the file is there, or for PostgreSQL, which has pg_dump."""
    if not database.is_sqlite:
        raise InputError(f"{database.name}: PostgreSQL backs up itself: pg_dump --format=custom --file=arena.dump URL")
    if path.exists():
        raise InputError(f"{path}: there is such a file already; choose another name")
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        original = str(database.engine.url.database)
        with closing(sqlite3.connect(original)) as source, closing(sqlite3.connect(unfinished)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            raise InputError(f"{database.name}: damaged ({verdict}); restore an earlier backup")
        unfinished.rename(path)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return path
