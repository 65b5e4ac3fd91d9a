"""Locks on files, which the system gives back when a process ends, however it ends."""

import fcntl
import os
from pathlib import Path


def lock_file(path: Path, alone: bool) -> int | None:
    """Lock a file, made if need be, alone or together with others; None if others are in the way.

    The lock lasts until the descriptor that is returned is closed. The file stays: who removed it could not know
    whether somebody is about to lock it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle
