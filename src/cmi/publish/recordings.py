"""Lengths and hashes of recordings, cached by path, size and time of the last change (`cmi._util.cache`)."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.cache import VectorCache, content_key
from cmi._util.errors import InputError
from cmi.audio import content_hash, duration

AT_ONCE = 256  # recordings between two writes to the cache
Vector = NDArray[np.float32]
OnDone = Callable[[int], None]


class Lengths(NamedTuple):
    """Seconds by recording, NaN if unknown, with the numbers of those that are missing or cannot be read."""

    seconds: NDArray[np.float64]
    missing: int
    unreadable: int


def read_lengths(paths: Sequence[Path], on_done: OnDone = lambda done: None) -> Lengths:
    """Read the lengths of recordings from their headers."""
    seconds, missing, unreadable = np.full(len(paths), math.nan), 0, 0
    for i, (is_there, vector) in enumerate(_measure("seconds", paths, _length, on_done)):
        if vector is not None:
            seconds[i] = vector[0]
        missing += not is_there
        unreadable += is_there and vector is None
    return Lengths(seconds, missing, unreadable)


def read_hashes(paths: Sequence[Path], on_done: OnDone = lambda done: None) -> list[str]:
    """Return the SHA-256 of each recording; InputError if one is missing."""
    found = []
    for path, (is_there, vector) in zip(paths, _measure("sha256", paths, _hash, on_done), strict=True):
        if not is_there or vector is None:
            raise InputError(f"{path}: the recording is missing or cannot be read")
        found.append(vector.astype(np.uint8).tobytes().hex())
    return found


def hash_equal_sizes(paths: Sequence[Path], on_done: OnDone = lambda done: None) -> dict[Path, str]:
    """Return the SHA-256 of each recording that another one might equal, by its size; missing ones are left out."""
    by_size: defaultdict[int, list[Path]] = defaultdict(list)
    for path in paths:
        with suppress(OSError):
            by_size[path.stat().st_size].append(path)
    same = [path for group in by_size.values() if len(group) > 1 for path in group]
    return dict(zip(same, read_hashes(same, on_done), strict=True))


def _length(path: Path) -> Vector:
    return np.array([duration(path)], np.float32)


def _hash(path: Path) -> Vector:
    return np.frombuffer(bytes.fromhex(content_hash(path)), np.uint8).astype(np.float32)  # a byte fits a float


def _measure(
    kind: str, paths: Sequence[Path], measure: Callable[[Path], Vector], on_done: OnDone
) -> Iterator[tuple[bool, Vector | None]]:
    """Yield whether each recording exists, and its vector, None if it cannot be read."""
    with VectorCache() as cache:
        for start in range(0, len(paths), AT_ONCE):
            batch = paths[start : start + AT_ONCE]
            keys = [_key(path) for path in batch]
            known = cache.get_many(kind, [key for key in keys if key])
            new: dict[bytes, Vector] = {}
            for path, key in zip(batch, keys, strict=True):
                if key and key not in known and key not in new:
                    try:
                        new[key] = measure(path)
                    except InputError:
                        continue
            cache.put_many(kind, new.items())
            for key in keys:
                yield bool(key), known.get(key, new.get(key))
            on_done(len(batch))


def _key(path: Path) -> bytes:
    """Return the key of a file in the cache, b'' if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return b""
    return content_key(f"{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}")
