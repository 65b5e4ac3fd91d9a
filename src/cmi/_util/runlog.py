"""An append-only log of results: one JSON object per line, synced to disk one by one, resumed by key.

A run writes to `results.jsonl.partial`, and `finish` renames that file to `results.jsonl`. Opening a finished log
resumes it: the first new record renames the file back until the next `finish`.

A killed process leaves at most one torn line, at the end of the partial file; opening the log again removes it.
A broken line anywhere else is reported as an error.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeGuard
from weakref import WeakSet

from cmi._util.errors import InputError
from cmi._util.files import sync_file, take_lock
from cmi._util.json_text import parse_json

PARTIAL = ".partial"


class RunLog:
    """The log of one run, open for appending by this process alone (and by one thread at a time).

    `key` names the field that identifies a record: a string or an integer, unique in the log. Only the keys are kept
    in memory. A log that another process has open, that is damaged, or that holds a key twice is an InputError.

        with RunLog(path) as log:
            for item in items:
                if item.id not in log:
                    log.append({"id": item.id, "answer": model.answer(item)})
            log.finish()
    """

    def __init__(self, path: Path, key: str = "id") -> None:
        self.path = path
        self.key = key
        self._done: set[str | int] = set()
        self._file, self._name = _open_locked(path)
        try:
            self._end = self._read_keys()
            if self._end < os.fstat(self._file).st_size:
                os.ftruncate(self._file, self._end)
                os.fsync(self._file)
            sync_file(path.parent)  # even if the file existed: its creator may have been killed before syncing
        except BaseException:
            self.close()
            raise
        _open_logs.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, key: object) -> bool:
        return _as_read(key) in self._done

    @property
    def done(self) -> frozenset[str | int]:
        """The keys of all records in the log, as it is now."""
        return frozenset(self._done)

    def append(self, record: Mapping[str, Any], sync: bool = True) -> None:
        """Add `record`: when this returns it is on disk, and when it raises the log is as it was.

        Without `sync`, a power failure may lose the record until the next synced one; a kill may not.
        ValueError if the key is unusable or already in the log, or if a number is NaN or infinite.
        """
        try:
            line = json.dumps(dict(record), ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"
        except ValueError as error:
            raise ValueError(f"record {record.get(self.key)!r} cannot be written as JSON: {error}") from None
        key = _as_read(record.get(self.key))
        if not _is_key(key):
            raise ValueError(f"the record's {self.key!r} must be a string or an integer, not {key!r}")
        if key in self._done:
            raise ValueError(f"{self.key} {key!r} is already in {self._name}")
        self._move_to(_partial(self.path))
        try:
            rest = line
            while rest:  # a full disk may take a part first
                rest = rest[os.write(self._file, rest) :]
            if sync:
                os.fsync(self._file)
        except BaseException as error:
            os.ftruncate(self._file, self._end)
            if isinstance(error, OSError) and error.errno:
                error.filename = str(self._name)
            raise
        self._end += len(line)
        self._done.add(key)

    def finish(self) -> None:
        """Give the log its final name: the run is complete."""
        self._move_to(self.path)

    def close(self) -> None:
        """Close the file and release its lock; an unfinished log stays partial."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _read_keys(self) -> int:
        """Collect the key of every record and return the offset where the last one ends."""
        end = 0
        with os.fdopen(self._file, "rb", closefd=False) as file:
            for number, end, record in _lines(file, self._name):  # noqa: B007 (the last end is the answer)
                key = record.get(self.key)
                if not _is_key(key):
                    raise InputError(
                        f"{self._name} line {number}: {self.key!r} must be a string or an integer, not {key!r}"
                    )
                if key in self._done:
                    raise InputError(f"{self._name} line {number}: {self.key} {key!r} is in the log twice")
                self._done.add(key)
        return end

    def _move_to(self, name: Path) -> None:
        if self._file < 0:
            raise ValueError(f"{self._name}: the log is closed")
        if self._name != name:
            self._name = self._name.replace(name)
            sync_file(name.parent)


_open_logs: WeakSet[RunLog] = WeakSet()


def _close_logs() -> None:
    for log in list(_open_logs):
        log.close()


# A forked process shares the lock and may outlive its parent: it closes the file at once.
os.register_at_fork(after_in_child=_close_logs)


def read_records(path: Path, missing_ok: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the complete records of a log, finished or partial, without the torn last line of a partial one.

    A missing log is an InputError, or has no records if `missing_ok`.
    """
    for name in (path, _partial(path), path):  # again, because the log may be finished meanwhile
        try:
            with name.open("rb") as file:
                for _, _, record in _lines(file, name):
                    yield record
            return
        except FileNotFoundError:
            continue
    if not missing_ok:
        raise InputError(f"{path}: there is no such log, finished or partial")


def _lines(file: BinaryIO, name: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (line number, offset of its end, record); stop before the torn last line of a partial log."""
    end = 0
    for number, line in enumerate(file, start=1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("no end of line")
            record = parse_json(line.decode("utf-8"))
        except ValueError:
            is_last = not line.endswith(b"\n") or not file.read(1)
            if is_last and name.suffix == PARTIAL:
                return
            raise InputError(f"{name} line {number}: not a complete JSON object; correct or remove the line") from None
        if not isinstance(record, dict):
            raise InputError(f"{name} line {number}: expected a JSON object, found {type(record).__name__}")
        end += len(line)
        yield number, end, record


def _open_locked(path: Path) -> tuple[int, Path]:
    """Open and lock the log's file; return it with its present name, finished or partial."""
    while True:
        names = _present(path)
        if len(names) == 2:
            raise InputError(f"{path} and {_partial(path).name} both exist: keep one, move the other away")
        name = names[0] if names else _partial(path)
        if names and not name.is_file():
            raise InputError(f"{name}: not a regular file; a log is renamed when it is finished")
        try:
            file = os.open(name, os.O_RDWR | os.O_APPEND | (0 if names else os.O_CREAT), 0o666)
        except OSError as error:
            raise InputError(f"{name}: cannot be opened for writing: {error.strerror}") from None
        if not take_lock(file):
            os.close(file)
            raise InputError(f"{name}: another process is writing this log; wait for it to end")
        if _present(path) == [name] and os.path.samestat(name.stat(), os.fstat(file)):
            return file, name
        os.close(file)  # another process renamed it before we had the lock: try again


def _present(path: Path) -> list[Path]:
    return [name for name in (path, _partial(path)) if name.exists()]


def _partial(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL)


def _is_key(value: object) -> TypeGuard[str | int]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _as_read(key: object) -> Any:
    """Return `key` as JSON reads it back: two surrogates that make a pair are joined."""
    return json.loads(json.dumps(key))
