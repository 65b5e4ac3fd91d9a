"""The part of a file that a Range header asks for (RFC 9110, section 14), one range at a time.

Players ask for one range. A header with several is served the whole file, as the RFC allows: thousands of overlapping
ranges would otherwise cost far more than they take to send. A header in another unit, or without sense, is ignored for
the same reason; a range that lies beyond the file can't be satisfied.
"""

import re
from typing import NamedTuple

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
LONGEST_HEADER = 64  # characters


class Span(NamedTuple):
    """Bytes `start` to `stop` of a file, without the last."""

    start: int
    stop: int


class Unsatisfiable(Exception):
    """No byte of the range is in the file."""


def requested_span(header: str | None, size: int) -> Span | None:
    """The bytes asked for, or None: all of them."""
    if header is None or len(header) > LONGEST_HEADER:
        return None
    found = _ONE.fullmatch(header.strip())
    if found is None:
        return None
    first, last = found.groups()
    if first:
        span = Span(int(first), min(size, int(last) + 1) if last else size)
        if last and int(last) < int(first):
            return None
    elif last:
        span = Span(max(0, size - int(last)), size)
    else:
        return None
    if span.start >= span.stop:
        raise Unsatisfiable
    return span
