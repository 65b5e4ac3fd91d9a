"""The files of an SQLite database: locking, restoring and checking its log.

    study.sqlite3              the database
    study.sqlite3-wal, -shm    SQLite's log and its index; removed when the last process closes the database
    study.sqlite3.lock         lock: shared by all users of the database, exclusive for a restore
    study.sqlite3.restoring    a copied and checked backup that is about to replace the database
    study.sqlite3.replaced-…   the database that a restore replaced, with its log

Once `.restoring` exists, whoever opens the database finishes the restore. A log never lies beside a database to which
it does not belong.
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

_LOCKED_BY_SQLITE = 510, 0x40000002  # (length, start) of the bytes locked by connections in WAL mode
_FORMATS = slice(18, 20)  # in the header: write and read version
_WITHOUT_LOG = b"\x01\x01"


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def real_path(path: Path) -> Path:
    """Where SQLite keeps its other files: beside the database itself, not beside a link to it."""
    return path.resolve() if path.is_symlink() else path


class DatabaseClaim:
    """Keeps restores from beginning while this process uses a database; first finishes an interrupted one."""

    _held: ClassVar[Counter[Path]] = Counter()  # by this process
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path) -> None:
        path = real_path(path)
        self._path = path.absolute()
        with self._guard:
            self._lock: IO[bytes] | None = _claim(path)
            try:
                if not self._held[self._path]:  # reading the file would drop SQLite's locks
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
    """Lock the database exclusively; InputError if it is in use."""
    lock = lock_file(path, alone=True)
    if lock is None:
        raise _in_use(path)
    with lock:
        if _is_open(path):
            raise _in_use(path)
        yield


def finish_restore(path: Path) -> Path | None:
    """Replace the database by `.restoring`; return where the old one is kept, if there was one.

    The caller must hold the exclusive lock. If this is killed, the next call continues.
    """
    restoring = beside(path, ".restoring")
    try:
        begun = datetime.fromtimestamp(restoring.stat().st_mtime, UTC)  # the same name if this is repeated
        aside = beside(path, f".replaced-{begun:%Y%m%dT%H%M%S.%f}")
        for suffix in ("", "-wal"):
            if beside(path, suffix).exists():
                if beside(aside, suffix).exists():
                    raise InputError(f"{beside(path, suffix)}: in the way of a restore; move it elsewhere")
                beside(path, suffix).rename(beside(aside, suffix))
        beside(path, "-shm").unlink(missing_ok=True)
        sync_file(path.parent)  # the old log must be gone first, even after a power failure
        move_into_place(restoring, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    return aside if aside.exists() else None


def make_private(path: Path) -> None:
    """Create the file readable by its owner only, because it holds names."""
    try:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return  # another process was faster
    except OSError as error:
        raise cannot_write(path, error) from error


def require_own_log(path: Path) -> None:
    """InputError if the log belongs to another database: SQLite would apply it and destroy this one.

    The header of a database says whether it has a log; backups have none.
    """
    log = beside(path, "-wal")
    try:
        has_log = log.stat().st_size > 0  # first, because another process may be creating both
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


def empty_log(path: Path, wait: float) -> bool:
    """Merge the log into the database and truncate it; False if other connections prevent that."""
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
    """Whether a program without our lock, such as `sqlite3`, has the database open.

    A process that has it open itself must not call this: it would lose SQLite's locks.
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
