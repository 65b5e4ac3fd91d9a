"""Files that are there whole or not at all, even after a power failure; errors that name the file that failed."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.printable import ESCAPE

UNFINISHED = ".unfinished"
# Why a file cannot grow, and what to do about it.
DISK_FULL = {
    errno.ENOSPC: "the disk is full; what was finished before is kept: make room",
    errno.EDQUOT: "your disk quota is used up; what was finished before is kept: make room",
    errno.EFBIG: "larger than the limit on files' sizes (ulimit -f); what was finished before is kept: raise the limit",
}
_DISK_ERRORS = {*DISK_FULL, errno.EROFS, errno.EIO}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` to write to. On success its bytes reach the disk and it takes the name `path`.

    On failure nothing is left behind, an older `path` stays as it was, and an OSError becomes an InputError that
    names `path`. Several processes may write the same path; the last one wins. A link is followed, and a device or a
    pipe (/dev/stdout) is written to as it is.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        if target.exists() and not target.is_file():
            yield target
            return
        unfinished = target.with_name(f"{target.name[:50]}.{secrets.token_hex(4)}{UNFINISHED}")
        try:
            yield unfinished
            sync_file(unfinished)
            unfinished.replace(target)
            sync_folder(target.parent)
        finally:
            with suppress(OSError):
                unfinished.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file that is there with all its content or not at all. Half characters in text are written as escapes."""
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content.encode("utf-8", ESCAPE) if isinstance(content, str) else content)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file. The InputError names the file that failed: `source` if it cannot be read, else `target`."""
    with whole_file(target) as unfinished:
        try:
            shutil.copyfile(source, unfinished)
        except OSError as error:
            if error.errno in _DISK_ERRORS:  # shutil names the source here, whichever side failed
                raise OSError(error.errno, error.strerror, str(target)) from error
            raise InputError(f"{source}: {error.strerror or error}") from error


def cannot_write(path: Path | str, error: OSError) -> InputError:
    """The sentence for a file that could not be written."""
    if error.errno in DISK_FULL:
        return InputError(f"{path}: {DISK_FULL[error.errno]} and run the same command again")
    return InputError(f"{path}: {error.strerror or error}")


def sync_file(path: Path) -> None:
    """Wait until the file's bytes are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Wait until all that is in the folder is on disk."""
    for path in (folder, *folder.rglob("*")):
        sync_file(path)


def sync_folder(folder: Path) -> None:
    """Wait until the names in the folder are on disk."""
    sync_file(folder)
