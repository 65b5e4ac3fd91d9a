"""Locks on files, which the system gives back when a process ends, however it ends."""

import fcntl
import os
from pathlib import Path
from typing import IO


def lock_file(path: Path, alone: bool) -> IO[bytes] | None:
    """Lock a file, made if need be, alone or together with others; None if others are in the way.

    The lock lasts until the file that is returned is closed. It is not removed: who did that could not know whether
    somebody is about to lock it.
    """
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file
