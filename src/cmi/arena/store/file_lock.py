"""Locks on files, which the system gives back when a process ends, however it ends."""

import fcntl
import os
from pathlib import Path
from typing import IO

from cmi._util.files import cannot_write

PRIVATE = 0o600


def lock_file(guarded: Path, alone: bool) -> IO[bytes] | None:
    """Lock the file GUARDED.lock, alone or together with others; None if others are in the way. InputError if it fails.

    The lock lasts until the file that is returned is closed. It is not removed: who did that could not know whether
    somebody is about to lock it. Whoever may use what is guarded may lock it.
    """
    path = guarded.with_name(guarded.name + ".lock")
    try:
        file = os.fdopen(_opened(path, guarded), "rb")
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except OSError as error:
        file.close()
        raise cannot_write(path, error) from error
    return file


def _opened(path: Path, guarded: Path) -> int:
    is_new = not path.exists()
    handle = os.open(path, os.O_RDONLY | os.O_CREAT, PRIVATE)
    if is_new and guarded.exists():
        status = guarded.stat()
        os.fchmod(handle, PRIVATE | status.st_mode & 0o666)
        if os.geteuid() == 0:  # made for a server that does not run as root
            os.fchown(handle, status.st_uid, status.st_gid)
    return handle
