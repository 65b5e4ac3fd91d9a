"""Keep what C libraries print to standard error off the terminal, and nothing else.

libmpg123 prints warnings about damaged MP3 files, and libsndfile, which calls it, has no switch for that. While a block
runs, the descriptor of standard error leads nowhere; Python's `sys.stderr` goes on to the terminal through another one,
so that progress bars, warnings and errors of other threads are seen. Threads may be in such blocks at the same time.
What C code of another thread prints in that moment is lost.
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
_kept: tuple[int, TextIO | None, TextIO | None] = (-1, None, None)  # descriptor; Python's stream, and its substitute


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Run a block without what C code prints to standard error."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _kept
    with _lock:
        if _inside == 0:
            _kept = _redirect()
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _restore(*_kept)


def _redirect() -> tuple[int, TextIO | None, TextIO | None]:
    try:
        descriptor = os.dup(_STDERR)
    except OSError:  # closed: there is nothing to keep quiet
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
    except (OSError, ValueError):  # none behind it, as in a notebook or a test
        return False
