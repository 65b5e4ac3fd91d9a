"""An SQLite database as a file with others beside it: who uses it, whose log lies there, and whether it is sound.

    study.sqlite3              the database
    study.sqlite3-wal, -shm    SQLite's log, and its index; gone when the last process has closed the database
    study.sqlite3.lock         locked by everyone who uses the database, and by a restore alone
    study.sqlite3.restoring    a backup that has been copied and checked, and takes the database's place next
    study.sqlite3.replaced-…   what a restore put aside, with its log

A restore counts from the moment at which `.restoring` has its name: whoever opens the database after that finishes it.
At no moment does a log lie beside a database that it does not belong to.
"""

import fcntl
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, ClassVar

from cmi._util.errors import InputError
from cmi._util.files import cannot_write, lock_file, move_into_place, sync_file

_LOCKED_BY_SQLITE = 510, 0x40000002  # (length, start): bytes on which a connection in WAL mode keeps a lock
_FORMATS = slice(18, 20)  # of the header: how to write and how to read the file
_WITHOUT_LOG = b"\x01\x01"
_CHECKPOINT_WAIT = 1.0  # seconds


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def real_path(path: Path) -> Path:
    """Where SQLite keeps its other files: beside the database itself, not beside a link to it."""
    return path.resolve() if path.is_symlink() else path


class DatabaseClaim:
    """Says that this process uses a database: until it is released, no restore begins.

    A restore that was cut short is finished first. InputError if one is under way, or if the log is another's.
    """

    _held: ClassVar[Counter[Path]] = Counter()  # by this process
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        path = real_path(path)
        self._path = path.absolute()
        with self._guard:
            self._lock: IO[bytes] | None = _claim(path)
            try:
                if not self._held[self._path]:  # reading it now would take SQLite's locks from this process
                    require_own_log(path)
            except BaseException:
                self._lock.close()
                raise
            self._held[self._path] += 1

    def release(self) -> None:
        with self._guard:
            if self._lock is not None:
                self._lock.close()
                self._lock = None
                self._held[self._path] -= 1


@contextmanager
def claimed_alone(path: Path) -> Iterator[None]:
    """Keep everyone else from the database; InputError if somebody uses it."""
    lock = lock_file(path, alone=True)
    if lock is None:
        raise _in_use(path)
    with lock:
        if _is_open(path):
            raise _in_use(path)
        yield


def finish_restore(path: Path) -> Path | None:
    """Let `.restoring` take the database's place; where the old one is kept, if there was one.

    To be called by who has claimed the file alone. Killed at any point, the next call goes on from there.
    """
    restoring = beside(path, ".restoring")
    try:
        begun = datetime.fromtimestamp(restoring.stat().st_mtime, UTC)  # so that a second try gives the same name
        aside = beside(path, f".replaced-{begun:%Y%m%dT%H%M%S.%f}")
        for suffix in ("", "-wal"):
            if beside(path, suffix).exists():
                if beside(aside, suffix).exists():
                    raise InputError(f"{beside(path, suffix)}: in the way of a restore; move it elsewhere")
                beside(path, suffix).rename(beside(aside, suffix))
        beside(path, "-shm").unlink(missing_ok=True)
        sync_file(path.parent)  # the old log must be away before the new file is there, also after a power failure
        move_into_place(restoring, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    return aside if aside.exists() else None


def make_private(path: Path) -> None:
    """A new file that only its owner can read: it holds names."""
    try:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return  # another process was faster
    except OSError as error:
        raise cannot_write(path, error) from error


def require_own_log(path: Path) -> None:
    """InputError if the log beside the database is another's: SQLite would write it over the database and ruin it.

    A database with a log says so in its header before the log is made; backups say that they have none.
    """
    log = beside(path, "-wal")
    try:
        has_log = log.stat().st_size > 0  # looked at first: another process may be making both
        with path.open("rb") as file:
            formats = file.read(_FORMATS.stop)[_FORMATS]
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if has_log and formats == _WITHOUT_LOG:
        raise InputError(
            f"{log}: the log of another database than {path.name}, which it would damage (was a backup put there by "
            "hand?); nothing was changed: move the log elsewhere, or use `cmi arena restore`, which does"
        )


def empty_log(path: Path, wait: float = _CHECKPOINT_WAIT) -> bool:
    """Bring everything from the log into the database and cut the log to nothing; False if others are in the way."""
    path = real_path(path)
    if not _is_nonempty(beside(path, "-wal")):
        return True
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=wait)) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _claim(path: Path) -> IO[bytes]:
    while True:
        lock = lock_file(path, alone=False)
        if lock is None:
            raise InputError(f"{path}: a backup is being restored just now; try again when that is done")
        if not beside(path, ".restoring").exists():
            return lock
        lock.close()
        with claimed_alone(path):
            finish_restore(path)


def _in_use(path: Path) -> InputError:
    return InputError(f"{path}: in use by a server or another command; stop it first")


def _is_open(path: Path) -> bool:
    """Whether a program that knows nothing of our lock has the database open, such as `sqlite3` or an older `cmi`.

    Not to be called by a process that has it open itself, which would lose SQLite's locks by it.
    """
    try:
        file = path.open("r+b")
    except OSError:
        return False
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *_LOCKED_BY_SQLITE)
        except OSError:
            return True
    return False


def _is_nonempty(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_size > 0
    return False
