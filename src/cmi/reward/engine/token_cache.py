"""What an encoder heard, kept on disk by content: no recording is encoded twice, whichever command asks.

One safetensors file for each stretch of a recording, named by the hash of all that its tokens depend on. A file is
written under another name and then renamed, so that readers in any process see whole files only and a killed writer
leaves at most a file that is never read. Above the size limit the files that were used longest ago are deleted.

Each entry has a checksum that is verified whenever it is read: one that a disk has damaged is encoded again.

Recordings that come without a file, as a server's do, are kept in memory instead (`TokenMemory`).
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
LOOK_AGAIN = 0.05  # of the limit written, then the folder's size is looked at again
ROOM = 0.9  # of the limit is left in use when files are deleted
DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64}  # safetensors'
ABANDONED = 3600.0  # seconds after which an unfinished file is one of a killed writer


class CachedTokens(NamedTuple):
    tokens: Tensor  # (T, D)
    samples: int  # that they were heard from
    silent: bool
    stated: float | None = None  # seconds that the file states, if it ended before them


class TokenCache:
    """Entries by key, in `folder` (by default `tokens` in `cache_folder()`), up to `limit` bytes.

    Several processes may share the folder. Each may exceed the limit by a twentieth before it looks again.
    """

    def __init__(self, folder: Path | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = cache_folder() / "tokens" if folder is None else folder
        self.limit = limit
        self._unseen = float("inf")  # bytes written since the folder was looked at: not looked at yet
        self._broken = False
        self._told = mmap.mmap(-1, 1)  # of damage; one byte for this process and those it forks
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: no place for the cache ({error.strerror}): set CMI_CACHE to a folder to write to"
            ) from error

    def get(self, key: str, pinned: bool = False) -> CachedTokens | None:
        """The entry, if there is one; `pinned` in memory that a GPU can copy from while it computes."""
        path = self._path(key)
        try:
            entry, checksum = _parse(path, pinned)
            if checksum != _checksum(key, entry):
                raise ValueError("another checksum")
            os.utime(path)  # its age counts from the last use
        except FileNotFoundError:
            return None
        except (KeyError, ValueError, TypeError, OSError, RuntimeError, RecursionError):
            self._discard(path)  # damaged, by a disk that lost power say: encoded again
            return None
        return entry

    def _discard(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()
        if not self._told[0]:
            self._told[0] = 1
            warnings.warn(f"{self.folder}: a damaged entry was deleted, and is made again", stacklevel=3)

    def put_many(self, entries: Mapping[str, CachedTokens]) -> None:
        for key, entry in entries.items():
            self.put(key, entry)

    def put(self, key: str, entry: CachedTokens) -> None:
        """Keep an entry. Where the disk is full or gone, say so once and go on without."""
        if self._broken:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # the user may have emptied the cache
            about = {"samples": str(entry.samples), "silent": "yes" if entry.silent else "no"}
            about |= {"stated": "" if entry.stated is None else repr(entry.stated), "checksum": _checksum(key, entry)}
            # Without fsync, which took 8 ms for an entry where the write took 2: what a power failure leaves of an
            # entry has another checksum.
            with whole_file(path, sync=False) as unfinished:
                save_file({"tokens": entry.tokens.contiguous()}, unfinished, about)
            self._unseen += path.stat().st_size
            if self._unseen > self.limit * LOOK_AGAIN:
                self._make_room()
        except (OSError, InputError, SafetensorError) as error:
            self._broken = True
            warnings.warn(f"{self.folder}: the cache can't be written ({error}); going on without it", stacklevel=2)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.safetensors"

    def _make_room(self) -> None:
        """Delete what was used longest ago if there is too much, and what killed writers left behind."""
        self._unseen = 0
        entries, total = [], 0
        for path in self.folder.glob("*/*"):
            try:
                about = path.stat()
            except FileNotFoundError:  # deleted by another process
                continue
            if path.suffix == UNFINISHED:
                if time.time() - about.st_mtime > ABANDONED:
                    path.unlink(missing_ok=True)
                continue
            entries.append((about.st_mtime, about.st_size, path))
            total += about.st_size
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            if total <= self.limit * ROOM:
                return
            path.unlink(missing_ok=True)
            total -= size


class TokenMemory:
    """Entries by key in this process, up to `limit` bytes; those used longest ago go first. Any thread may use it."""

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
    """An entry and the checksum that its file states.

    In one read, into memory that torch uses again: files that are mapped, as safetensors does it, and fresh memory make
    threads that read at once wait for each other.
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
    """CRC-32 of all that is kept, and of its name: 1 ms for 1.2 MB. It is for accidents; nobody is kept out by it."""
    tokens = entry.tokens.contiguous()
    about = repr((key, entry.samples, entry.silent, entry.stated, str(tokens.dtype), tuple(tokens.shape)))
    content = memoryview(tokens.view(-1).view(torch.uint8).numpy().data)
    return f"{zlib.crc32(content, zlib.crc32(about.encode())):08x}"
