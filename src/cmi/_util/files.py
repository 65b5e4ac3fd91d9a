"""Write files and folders atomically (even through a power failure), lock them, and claim a folder for one command."""

import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cmi._util.errors import InputError
from cmi._util.printable import ESCAPE

UNFINISHED = ".unfinished"
SETTINGS = "settings.json"
_PRIVATE = 0o600
# Why a file cannot grow, and what to do about it.
DISK_FULL = {
    errno.ENOSPC: "the disk is full; what was finished before is kept: make room",
    errno.EDQUOT: "your disk quota is used up; what was finished before is kept: make room",
    errno.EFBIG: "larger than the limit on files' sizes (ulimit -f); what was finished before is kept: raise the limit",
}
_DISK_ERRORS = {*DISK_FULL, errno.EROFS, errno.EIO}


@contextmanager
def whole_file(path: Path, sync: bool = True) -> Iterator[Path]:
    """Yield a name beside `path` to write to. On success its bytes reach the disk and it takes the name `path`.

    On failure nothing is left behind, an older `path` stays as it was, and an OSError becomes an InputError that
    names `path`. Several processes may write the same path; the last one wins. A link is followed, and a device or a
    pipe (/dev/stdout) is written to as it is. Without `sync` a power failure may leave a torn file.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        if target.exists() and not target.is_file():
            yield target
            return
        unfinished = target.with_name(f"{target.name[:50]}.{secrets.token_hex(4)}{UNFINISHED}")
        try:
            yield unfinished
            move_into_place(unfinished, target, sync)
        finally:
            with suppress(OSError):
                unfinished.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically. Lone surrogates in text are written as escapes."""
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content.encode("utf-8", ESCAPE) if isinstance(content, str) else content)


def move_into_place(finished: Path, target: Path, sync: bool = True) -> None:
    """Give a file or folder its final name once all its bytes are on disk. What had that name before is replaced."""
    if sync:
        for path in (finished, *finished.rglob("*")):
            if not path.is_symlink():  # its name is on disk with its folder; what it names is elsewhere
                sync_file(path)
    if finished.is_dir():
        shutil.rmtree(target, ignore_errors=True)
    finished.replace(target)
    if sync:
        sync_file(target.parent)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file. The InputError names the file that failed: `source` if it cannot be read, else `target`."""
    with whole_file(target) as unfinished:
        try:
            shutil.copyfile(source, unfinished)
        except OSError as error:
            if error.errno in _DISK_ERRORS:  # shutil names the source here, whichever side failed
                raise OSError(error.errno, error.strerror, str(target)) from error
            raise InputError(f"{source}: {error.strerror or error}") from error


def cannot_write(path: Path | str, error: OSError) -> InputError:
    """Return the InputError for a file that could not be written."""
    if error.errno in DISK_FULL:
        return InputError(f"{path}: {DISK_FULL[error.errno]} and run the same command again")
    return InputError(f"{path}: {error.strerror or error}")


def sync_file(path: Path) -> None:
    """Wait until a file's bytes, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents unless they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: Not a directory; choose another folder") from error
    except OSError as error:
        raise cannot_write(folder, error) from error


def claim(folder: Path, settings: dict[str, Any], command: str) -> None:
    """Raise InputError unless the folder is new, empty, or was created by `command` with the same settings.

    A stopped command can be resumed in its folder, and the files of two commands never mix.
    """
    make_folder(folder)
    begun = folder / SETTINGS
    try:
        if not begun.exists():
            if any(path.suffix != UNFINISHED for path in folder.iterdir()):
                raise InputError(f"{folder}: not empty, and not created by `{command}`; choose another folder")
            write_whole(begun, json.dumps(settings) + "\n")
        elif json.loads(begun.read_text(encoding="utf-8")) != settings:
            raise InputError(f"{folder}: created with other settings ({SETTINGS}); choose another folder")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: {getattr(error, 'strerror', None) or error}") from error


def take_lock(file: int | IO[bytes], alone: bool = True, waits: bool = False) -> bool:
    """Lock an open file, exclusively (`alone`) or shared; False if another process's lock prevents it.

    The system releases the lock when the file is closed or the process ends.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path, waits: bool = True) -> Iterator[None]:
    """Hold the lock file `path`; if another process holds it, wait for it or raise an InputError."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not take_lock(lock, waits=waits):
            raise InputError(f"{path.parent}: another process is writing into it; wait for it to end")
        yield
    finally:
        os.close(lock)


def lock_file(guarded: Path, alone: bool) -> IO[bytes] | None:
    """Lock the file GUARDED.lock until it is closed; None if another process's lock prevents it.

    The file is never removed because another process may be about to lock it. It has the permissions of `guarded`.
    """
    path = guarded.with_name(guarded.name + ".lock")
    try:
        file = os.fdopen(_open_lock(path, guarded), "rb")
        try:
            if take_lock(file, alone):
                return file
        except OSError:
            file.close()
            raise
    except OSError as error:
        raise cannot_write(path, error) from error
    file.close()
    return None


def _open_lock(path: Path, guarded: Path) -> int:
    is_new = not path.exists()
    handle = os.open(path, os.O_RDONLY | os.O_CREAT, _PRIVATE)
    if is_new and guarded.exists():
        status = guarded.stat()
        os.fchmod(handle, _PRIVATE | status.st_mode & 0o666)
        if os.geteuid() == 0:  # made for a server that does not run as root
            os.fchown(handle, status.st_uid, status.st_gid)
    return handle
