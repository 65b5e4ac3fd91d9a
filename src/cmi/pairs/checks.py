"""Check recordings, each once: what was found is kept in the cache by the file's content.

A file is recognised by its path, size and time of change; after any change it is read again. Cached are its SHA-256,
what is measured (`AudioCheck`) and its fingerprint, so a second run decodes nothing.
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cmi._util.cache import VectorCache, content_key
from cmi._util.errors import InputError, MissingExtra
from cmi._util.workers import process_pool
from cmi.audio import content_hash, load, measure_peaks
from cmi.features import RATE, SECONDS, TakeFeatures, measure_features
from cmi.pairs.fingerprint import fingerprint

FILES, CHECKS, PRINTS = ("cmi.pairs files 1", "cmi.pairs checks 1", "cmi.pairs fingerprints 1")  # keys in the cache
AT_ONCE = 64  # files given to the processes at a time
FEW = 8  # files up to which starting processes does not pay
SHORTEST = 0.1  # seconds that are decoded for their features

Vector = NDArray[np.float32]
log = logging.getLogger("cmi.pairs")


class AudioCheck(NamedTuple):
    """What was found in a recording; all NaN if it cannot be decoded."""

    seconds: float
    is_whole: float  # 0 if the file is shorter than its header says
    peak: float
    clipped: float  # the share of frames at full scale
    loudness: float  # dBFS RMS
    brightness: float  # hertz
    density: float  # onsets per second

    @property
    def is_readable(self) -> bool:
        return not math.isnan(self.seconds)

    @property
    def features(self) -> TakeFeatures:
        return TakeFeatures(self.loudness, self.seconds, self.brightness, self.density)


UNREADABLE = AudioCheck(*[math.nan] * 7)


class CheckedFiles(NamedTuple):
    """The digest of each file that exists, and what was found by digest."""

    digests: dict[Path, str]
    checks: dict[str, AudioCheck]


class Checker:
    """Checks files in several processes, with a cache that all commands share."""

    def __init__(self, workers: int | None = None, folder: Path | None = None) -> None:
        self._workers = workers
        self._cache = VectorCache(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cache.close()

    def digest_all(self, paths: Sequence[Path]) -> dict[Path, str]:
        """Return the SHA-256 of every file that exists, without decoding it."""
        known, new = self._known(paths)
        found = {path: digest for path in new if (digest := _digest(path))}
        self._cache.put_many(FILES, [(new[path], _to_vector(digest)) for path, digest in found.items()])
        return known | found

    def check_all(
        self, paths: Sequence[Path], on_checked: Callable[[int, int], None] = lambda done, total: None
    ) -> CheckedFiles:
        """Check every file that exists."""
        digests, unknown = self._known(paths)
        checks = self._checks(digests.values())
        missing = [path for path, digest in digests.items() if digest not in checks]
        keys = unknown | dict(zip(missing, file_keys(missing), strict=True))
        log.info("%d of %d recordings were checked before", len(digests) - len(missing), len(paths))
        on_checked(len(paths) - len(keys), len(paths))
        for done, found in enumerate(self._check_new(list(keys)), len(paths) - len(keys) + 1):
            if found.digest:
                self._keep(keys[found.path], found)
                digests[found.path] = found.digest
                checks[found.digest] = found.check
            on_checked(done, len(paths))
        return CheckedFiles(digests, checks)

    def fingerprints(self, digests: Sequence[str]) -> dict[str, Vector]:
        """Return the fingerprints of checked files, by digest."""
        found = self._cache.get_many(PRINTS, [bytes.fromhex(digest) for digest in digests])
        return {key.hex(): vector for key, vector in found.items()}

    def _known(self, paths: Sequence[Path]) -> tuple[dict[Path, str], dict[Path, bytes]]:
        """The digests of files that are as they were, and the keys of those that are new or have changed."""
        keys = {path: key for path, key in zip(paths, file_keys(paths), strict=True) if key}
        vectors = self._cache.get_many(FILES, list(keys.values()))
        digests = {path: _to_digest(vectors[key]) for path, key in keys.items() if key in vectors}
        return digests, {path: key for path, key in keys.items() if path not in digests}

    def _keep(self, file_key: bytes, found: "_Found") -> None:
        key = bytes.fromhex(found.digest)
        if len(found.fingerprint):
            self._cache.put_many(PRINTS, [(key, found.fingerprint)])
        if found.is_final:
            self._cache.put_many(CHECKS, [(key, np.array(found.check, np.float32))])
        self._cache.put_many(FILES, [(file_key, _to_vector(found.digest))])

    def _checks(self, digests: Iterable[str]) -> dict[str, AudioCheck]:
        found = self._cache.get_many(CHECKS, [bytes.fromhex(digest) for digest in set(digests)])
        return {key.hex(): _as_cached(vector) for key, vector in found.items()}

    def _check_new(self, paths: Sequence[Path]) -> Iterator["_Found"]:
        if len(paths) <= FEW or self._workers == 1:
            yield from map(_check, paths)
            return
        with process_pool(self._workers) as pool:
            for start in range(0, len(paths), AT_ONCE):
                yield from pool.map(_check, paths[start : start + AT_ONCE])


def file_keys(paths: Sequence[Path]) -> list[bytes]:
    """A key that changes with the file; empty if there is no such file."""
    keys = []
    for path in paths:
        try:
            about = path.stat()
            keys.append(content_key(f"{path.absolute()} {about.st_size} {about.st_mtime_ns}"))
        except (OSError, ValueError):
            keys.append(b"")
    return keys


class _Found(NamedTuple):
    path: Path
    digest: str  # '' if the file cannot be read
    check: AudioCheck
    fingerprint: Vector = np.zeros(0, np.float32)
    is_final: bool = True


def _check(path: Path) -> _Found:
    digest = _digest(path)
    try:
        peaks = measure_peaks(path)
        if peaks.seconds < SHORTEST:
            return _Found(path, digest, AudioCheck(*peaks, -math.inf, 0.0, 0.0))
        sound = load(path, RATE, SECONDS)
        about = measure_features(sound)
        check = [*peaks, about.loudness, about.brightness, about.density]
        return _Found(path, digest, _as_cached(check), fingerprint(sound))
    except InputError as error:
        # With the extra installed, the file may be readable the next time.
        return _Found(path, digest, UNREADABLE, is_final=not isinstance(error, MissingExtra))


def _as_cached(values: Iterable[float]) -> AudioCheck:
    """Round as the cache does, so that a second run finds exactly what the first did."""
    return AudioCheck(*map(float, np.array(list(values), np.float32)))


def _digest(path: Path) -> str:
    try:
        return content_hash(path)
    except InputError:
        return ""


def _to_vector(digest: str) -> Vector:
    return np.frombuffer(bytes.fromhex(digest), np.uint8).astype(np.float32)


def _to_digest(vector: Vector) -> str:
    return vector.astype(np.uint8).tobytes().hex()
