"""One process at a time writes into a folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cmi._util.errors import InputError


@contextmanager
def locked(path: Path, waits: bool = True) -> Iterator[None]:
    """Hold the lock file `path`; if another process has it, wait for it, or raise an InputError."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(lock)
        raise InputError(f"{path.parent}: another process is writing into it; wait for it to end") from None
    try:
        yield
    finally:
        os.close(lock)
