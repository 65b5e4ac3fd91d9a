"""A cache of embeddings on disk, keyed by content and shared by all commands.

It is one SQLite table with the encoder (and its revision) and the hash of the content as its key. Several processes may
use it at once; a killed process loses at most the batch it was writing. Every row has a checksum, and damaged vectors
are computed again. SQLite's write-ahead log needs a local disk, not a network file system.
"""

import hashlib
import os
import sqlite3
import time
import warnings
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError

FILE_NAME = "vectors.sqlite3"
BUSY_TIMEOUT = 60.0  # seconds that a writer waits for another one
KEYS_PER_QUERY = 900  # SQLite before 3.32 takes 999 variables
DISK_FLOAT = np.dtype("<f4")

TABLE = """
CREATE TABLE IF NOT EXISTS checked_vectors (
    encoder  TEXT NOT NULL,
    key      BLOB NOT NULL,
    vector   BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (encoder, key)
)"""
DROP_UNCHECKED = "DROP TABLE IF EXISTS vectors"  # of versions without checksums


def cache_folder() -> Path:
    """Return the cache folder: $CMI_CACHE, or `cmi` in the user's cache folder ($XDG_CACHE_HOME or ~/.cache)."""
    if own := os.environ.get("CMI_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cmi"


def content_key(text: str) -> bytes:
    """Return the key of a text in the cache: the SHA-256 of its UTF-8 bytes, lone surrogates included."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _start_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Turn WAL mode on, with a loop because SQLite's own busy timeout does not cover the switch."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _checksum(encoder: str, key: bytes, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(repr((encoder, key)).encode()))


class VectorCache:
    """Vectors by encoder and content key, in one SQLite file in `folder` (by default `cache_folder()`)."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = cache_folder() if folder is None else folder
        self.path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            self._fail(error)
        try:
            _start_write_ahead_log(self._connection)
            self._connection.execute("PRAGMA synchronous = NORMAL")  # in WAL mode a crash can't corrupt the file
            self._connection.execute(TABLE)
            self._connection.execute(DROP_UNCHECKED)
        except sqlite3.Error as error:
            self.close()
            self._fail(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def get_many(self, encoder: str, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the cached (read-only) vectors of `encoder` by key, without the keys that have none."""
        found: dict[bytes, NDArray[np.float32]] = {}
        damaged: list[bytes] = []
        try:
            for start in range(0, len(keys), KEYS_PER_QUERY):
                asked = keys[start : start + KEYS_PER_QUERY]
                marks = ", ".join("?" * len(asked))
                query = f"SELECT key, vector, checksum FROM checked_vectors WHERE encoder = ? AND key IN ({marks})"  # noqa: S608
                for key, vector, checksum in self._connection.execute(query, (encoder, *asked)):
                    if checksum == _checksum(encoder, key, vector):
                        found[key] = np.frombuffer(vector, DISK_FLOAT).astype(np.float32, copy=False)
                    else:
                        damaged.append(key)
            self._discard(encoder, damaged)
        except sqlite3.Error as error:
            self._fail(error)
        return found

    def _discard(self, encoder: str, keys: Sequence[bytes]) -> None:
        if keys:
            warnings.warn(
                f"{self.path}: {len(keys)} damaged vectors were deleted and will be computed again", stacklevel=3
            )
            rows = [(encoder, key) for key in keys]
            self._connection.executemany("DELETE FROM checked_vectors WHERE encoder = ? AND key = ?", rows)

    def put_many(self, encoder: str, pairs: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        """Store (key, vector) pairs, all or none; existing vectors are not replaced."""
        blobs = [(key, np.asarray(vector, DISK_FLOAT).tobytes()) for key, vector in pairs]
        rows = [(encoder, key, blob, _checksum(encoder, key, blob)) for key, blob in blobs]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                self._connection.executemany(
                    "INSERT INTO checked_vectors VALUES (?, ?, ?, ?) ON CONFLICT (encoder, key) DO NOTHING", rows
                )
        except sqlite3.Error as error:
            self._fail(error)

    def _fail(self, error: OSError | sqlite3.Error) -> NoReturn:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise InputError(
                f"{self.path} is not a readable vector cache ({error}): delete it, it will be built again"
            ) from error
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{self.path} cannot be used as the vector cache ({reason}): set CMI_CACHE to a folder that can be written"
        ) from error
