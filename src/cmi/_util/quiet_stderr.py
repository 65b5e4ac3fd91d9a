"""Silence what C libraries print to standard error, but not what Python prints.

libmpg123 prints warnings about damaged MP3 files, and libsndfile, which calls it, has no option against that. Inside a
block the descriptor of standard error points to /dev/null, while `sys.stderr` writes to the terminal through another
descriptor. Several threads may run such blocks at once; messages of C code in other threads are lost meanwhile.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TextIO

_STDERR = 2
_lock = Lock()
_inside = 0  # blocks that are running
_kept: tuple[int, TextIO | None, TextIO | None] = (-1, None, None)  # descriptor, sys.stderr, its substitute


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Run a block without what C code prints to standard error."""
    global _inside, _kept
    with _lock:
        if _inside == 0:
            _kept = _redirect()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _restore(*_kept)


def _redirect() -> tuple[int, TextIO | None, TextIO | None]:
    try:
        descriptor = os.dup(_STDERR)
    except OSError:  # standard error is closed
        return -1, None, None
    nowhere = os.open(os.devnull, os.O_WRONLY)
    stream, substitute = sys.stderr, None
    if _writes_to(stream, _STDERR):
        stream.flush()
        substitute = open(  # noqa: SIM115
            descriptor, "w", buffering=1, encoding=stream.encoding, errors=stream.errors, closefd=False
        )
        sys.stderr = substitute
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)
    return descriptor, stream, substitute


def _restore(descriptor: int, stream: TextIO | None, substitute: TextIO | None) -> None:
    if descriptor < 0:
        return
    os.dup2(descriptor, _STDERR)
    if substitute is not None:
        if sys.stderr is substitute:
            sys.stderr = stream
        substitute.flush()
    os.close(descriptor)


def _writes_to(stream: TextIO | None, descriptor: int) -> bool:
    try:
        return stream is not None and stream.fileno() == descriptor
    except (OSError, ValueError):  # no descriptor, as in a notebook or a test
        return False
