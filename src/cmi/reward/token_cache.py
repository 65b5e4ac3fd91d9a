"""What an encoder heard, kept on disk by content: no recording is encoded twice, whichever command asks.

One safetensors file for each stretch of a recording, named by the hash of all that its tokens depend on. A file is
written under another name and then renamed, so that readers in any process see whole files only and a killed writer
leaves at most a file that is never read. Above the size limit the files that were used longest ago are deleted.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from cmi.cache import cache_folder
from cmi.errors import InputError

GIGABYTE = 10**9
DEFAULT_LIMIT = 20 * GIGABYTE
LOOK_AGAIN = 0.05  # of the limit written, then the folder's size is looked at again
ROOM = 0.9  # of the limit is left in use when files are deleted
ABANDONED = 3600.0  # seconds after which an unfinished file is one of a killed writer


class Entry(NamedTuple):
    tokens: Tensor  # (T, D)
    samples: int  # that they were heard from
    silent: bool


class TokenCache:
    """Entries by key, in `folder` (by default `tokens` in `cache_folder()`), up to `limit` bytes.

    Several processes may share the folder. Each may exceed the limit by a twentieth before it looks again.
    """

    def __init__(self, folder: Path | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = cache_folder() / "tokens" if folder is None else folder
        self.limit = limit
        self._unseen = float("inf")  # bytes written since the folder was looked at: not looked at yet
        self._broken = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: no place for the cache ({error.strerror}): set CMI_CACHE to a folder to write to"
            ) from error

    def get(self, key: str) -> Entry | None:
        path = self._path(key)
        try:
            with safe_open(path, "pt") as file:
                about = file.metadata()
                entry = Entry(file.get_tensor("tokens"), int(about["samples"]), about["silent"] == "yes")
            os.utime(path)  # its age counts from the last use
        except FileNotFoundError:
            return None
        except (SafetensorError, KeyError, ValueError, TypeError, OSError):
            path.unlink(missing_ok=True)  # damaged, by a disk that lost power say: encoded again
            return None
        return entry

    def put_many(self, entries: Mapping[str, Entry]) -> None:
        for key, entry in entries.items():
            self.put(key, entry)

    def put(self, key: str, entry: Entry) -> None:
        """Keep an entry. Where the disk is full or gone, say so once and go on without."""
        if self._broken:
            return
        path = self._path(key)
        unfinished: str | None = None
        try:
            path.parent.mkdir(exist_ok=True)
            file, unfinished = tempfile.mkstemp(".unfinished", dir=path.parent)
            os.close(file)
            about = {"samples": str(entry.samples), "silent": "yes" if entry.silent else "no"}
            save_file({"tokens": entry.tokens.contiguous()}, unfinished, about)
            Path(unfinished).replace(path)
            self._unseen += path.stat().st_size
            if self._unseen > self.limit * LOOK_AGAIN:
                self._make_room()
        except (OSError, SafetensorError) as error:
            self._broken = True
            warnings.warn(f"{self.folder}: the cache can't be written ({error}); going on without it", stacklevel=2)
        finally:
            if unfinished is not None:
                Path(unfinished).unlink(missing_ok=True)

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
            if path.suffix == ".unfinished":
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
