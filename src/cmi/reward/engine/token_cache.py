"""A disk cache of audio tokens, keyed by content, so that no command encodes a recording twice.

Each span of a recording has one safetensors file, named by the hash of everything that its tokens depend on. Files are
written under a temporary name and then renamed, so that other processes never see incomplete ones. Above the size limit
the least recently used files are deleted.

Every entry has a checksum that is verified when it is read; damaged entries are computed again.

Waveforms that do not come from a file, such as those sent to a server, are cached in memory (`TokenMemory`).
"""

import json
import mmap
import os
import threading
import time
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi._util.files import UNFINISHED, whole_file

GIGABYTE = 10**9
DEFAULT_LIMIT = 20 * GIGABYTE
CHECK_SIZE_EVERY = 0.05  # the folder's size is checked each time this share of the limit has been written
LOW_WATER = 0.9  # files are deleted until this share of the limit is used
DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64}  # safetensors'
ABANDONED_AFTER = 3600.0  # seconds after which an unfinished file is taken to be that of a killed process


class CachedTokens(NamedTuple):
    tokens: Tensor  # (T, D)
    samples: int  # number of samples that were encoded
    silent: bool
    stated: float | None = None  # seconds according to the header, if the file is truncated


class TokenCache:
    """Entries by key, in `folder` (by default `tokens` in `cache_folder()`), up to `limit` bytes.

    Several processes may share the folder. Each may exceed the limit by CHECK_SIZE_EVERY.
    """

    def __init__(self, folder: Path | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = cache_folder() / "tokens" if folder is None else folder
        self.limit = limit
        self._written = float("inf")  # bytes written since the folder's size was checked; it was not checked yet
        self._broken = False
        self._warned = mmap.mmap(-1, 1)  # whether a warning was printed, shared with forked processes
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: cannot be used for the cache ({error.strerror}); set CMI_CACHE to a writable folder"
            ) from error

    def get(self, key: str, pinned: bool = False) -> CachedTokens | None:
        """Return the entry, or None; `pinned` loads it into pinned memory."""
        path = self._path(key)
        try:
            entry, checksum = _parse(path, pinned)
            if checksum != _checksum(key, entry):
                raise ValueError("another checksum")
            os.utime(path)  # the time of the last use decides what is deleted first
        except FileNotFoundError:
            return None
        except (KeyError, ValueError, TypeError, OSError, RuntimeError, RecursionError):
            self._discard(path)  # damaged, for example by a power failure
            return None
        return entry

    def _discard(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()
        if not self._warned[0]:
            self._warned[0] = 1
            warnings.warn(f"{self.folder}: a damaged entry was deleted and will be computed again", stacklevel=3)

    def put_many(self, entries: Mapping[str, CachedTokens]) -> None:
        for key, entry in entries.items():
            self.put(key, entry)

    def put(self, key: str, entry: CachedTokens) -> None:
        """Store an entry. If the disk is full or missing, warn once and continue without the cache."""
        if self._broken:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # the user may have emptied the cache
            about = {"samples": str(entry.samples), "silent": "yes" if entry.silent else "no"}
            about |= {"stated": "" if entry.stated is None else repr(entry.stated), "checksum": _checksum(key, entry)}
            # Without fsync, which takes 8 ms per entry while the write takes 2: after a power failure, the checksum
            # of an incomplete entry does not match.
            with whole_file(path, sync=False) as unfinished:
                save_file({"tokens": entry.tokens.contiguous()}, unfinished, about)
            self._written += path.stat().st_size
            if self._written > self.limit * CHECK_SIZE_EVERY:
                self._evict()
        except (OSError, InputError, SafetensorError) as error:
            self._broken = True
            warnings.warn(f"{self.folder}: the cache cannot be written ({error}); continuing without it", stacklevel=2)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.safetensors"

    def _evict(self) -> None:
        """Delete the least recently used entries above the limit, and files that killed processes left behind."""
        self._written = 0
        entries, total = [], 0
        for path in self.folder.glob("*/*"):
            try:
                about = path.stat()
            except FileNotFoundError:  # deleted by another process
                continue
            if path.suffix == UNFINISHED:
                if time.time() - about.st_mtime > ABANDONED_AFTER:
                    path.unlink(missing_ok=True)
                continue
            entries.append((about.st_mtime, about.st_size, path))
            total += about.st_size
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            if total <= self.limit * LOW_WATER:
                return
            path.unlink(missing_ok=True)
            total -= size


class TokenMemory:
    """A thread-safe cache in this process, of up to `limit` bytes; the least recently used entries go first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._bytes = 0
        self._entries: OrderedDict[str, CachedTokens] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> CachedTokens | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put_many(self, entries: Mapping[str, CachedTokens]) -> None:
        with self._lock:
            for key, entry in entries.items():
                if key not in self._entries:
                    self._entries[key] = entry
                    self._bytes += entry.tokens.nbytes
            while self._bytes > self.limit:
                self._bytes -= self._entries.popitem(last=False)[1].tokens.nbytes


def _parse(path: Path, pinned: bool) -> tuple[CachedTokens, str]:
    """Return an entry and the checksum in its file.

    The file is read at once into memory that torch reuses. Mapped files, as safetensors uses them, and newly allocated
    memory would make concurrent reader threads wait for each other.
    """
    with path.open("rb", buffering=0) as file:
        content = torch.empty(os.fstat(file.fileno()).st_size, dtype=torch.uint8, pin_memory=pinned)
        values = content.numpy()
        file.readinto(values)  # type: ignore[arg-type]
    begin = 8 + int.from_bytes(values[:8].tobytes(), "little")
    header = json.loads(values[8:begin].tobytes())
    about, tensor = header["__metadata__"], header["tokens"]
    first, last = tensor["data_offsets"]
    tokens = content[begin + first : begin + last].view(DTYPES[tensor["dtype"]]).view(tensor["shape"])
    stated = float(about["stated"]) if about["stated"] else None
    return CachedTokens(tokens, int(about["samples"]), about["silent"] == "yes", stated), about["checksum"]


def _checksum(key: str, entry: CachedTokens) -> str:
    """Return the CRC-32 of an entry and its key, against accidental damage; it takes 1 ms for 1.2 MB."""
    tokens = entry.tokens.contiguous()
    about = repr((key, entry.samples, entry.silent, entry.stated, str(tokens.dtype), tuple(tokens.shape)))
    content = memoryview(tokens.view(-1).view(torch.uint8).numpy().data)
    return f"{zlib.crc32(content, zlib.crc32(about.encode())):08x}"
