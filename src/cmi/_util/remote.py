"""Files at addresses such as s3://bucket/take.wav, read through fsspec: the one place that opens them.

A `RemotePath` is a path whose text is its address. It is fetched whole into an unnamed temporary file, so that a
recording is decoded by the same code wherever it is, and nothing is left behind by a process that is killed.

Credentials are found by the file system's own package (for S3: environment variables, ~/.aws, the machine's role).
Addresses that contain any are refused, and messages name the kind of an error, never what a library says about it.
"""

import hashlib
import os
import posixpath
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra

SCHEMES = ("s3", "gs", "gcs", "memory", "file")
WEB = ("http", "https", "ftp")
LARGEST_REMEMBERED = 64 * 2**20  # bytes of a file
MOST_REMEMBERED = 4 * LARGEST_REMEMBERED  # bytes of all
OpenFile = BufferedReader | BufferedRandom  # a file that has a descriptor
_ADDRESS = re.compile(r"([a-z][a-z0-9]+)://(.*)", re.DOTALL)


class RemotePath(type(Path())):  # type: ignore[misc]
    """An address. Joining, `parent`, `name` and `suffix` are those of a path; what reads local files does not find it.

    >>> folder = to_path("s3://bucket/songs")
    >>> str(folder / "a.wav"), folder.name
    ('s3://bucket/songs/a.wav', 'songs')
    """

    def __str__(self) -> str:
        scheme, *parts = self.parts
        return f"{scheme}//{'/' if scheme == 'file:' else ''}{'/'.join(parts)}"

    def absolute(self) -> "RemotePath":
        return self

    def __reduce__(self) -> tuple[type["RemotePath"], tuple[str, ...]]:
        return RemotePath, self.parts


def to_path(name: str) -> Path:
    """A path, or a RemotePath for an address; InputError for an address that cannot be read."""
    found = _ADDRESS.fullmatch(name)
    if found is None or found[1] not in SCHEMES + WEB:
        return Path(name)
    scheme, rest = found.groups()
    if scheme in WEB:
        raise InputError(f"{scheme}:// addresses are not read; download it, or use one of {', '.join(SCHEMES)}")
    if "@" in rest.partition("/")[0]:
        raise InputError(f"{scheme}:// with a user or password in it; leave them out, and set them in the environment")
    path = RemotePath(name)
    if str(path) != name or not rest.strip("/"):
        raise InputError(f"{name}: not the address of a file; it has no name, ends with /, or has // or . in it")
    return path


def join_path(folder: Path, name: str) -> Path:
    """The path of `name` as a file in `folder` states it: relative to the folder, absolute, or an address."""
    path = to_path(name)
    if isinstance(path, RemotePath) or path.is_absolute():
        return path
    if not isinstance(folder, RemotePath):
        return folder / path
    bucket, *above = posixpath.normpath(f"{'/'.join(folder.parts[1:])}/{path}").split("/")
    if bucket in ("..", "."):
        raise InputError(f"{name}: above the top of {folder}")
    return RemotePath(folder.parts[0], bucket, *above)


def stamp(path: RemotePath) -> str:
    """Return a hash of the file's size, time and tag, as its file system reports them; it changes with the file."""
    with _reading(path):
        return _stamp(_find(path)[2])


def open_file(path: Path) -> OpenFile:
    """Open a file for reading, wherever it is."""
    return open_remote(path) if isinstance(path, RemotePath) else path.open("rb")


def open_remote(path: RemotePath) -> OpenFile:
    """A local copy, open for reading. Small files that were read last are remembered until they change."""
    with _reading(path):
        system, name, about = _find(path)
        if about.get("type") == "directory":
            raise InputError(f"{path}: a folder, expected a file")
        if about.get("type") != "file":  # reading a device may never end
            raise InputError(f"{path}: not a regular file")
        copy = tempfile.TemporaryFile(prefix="cmi-")  # noqa: SIM115  (the caller closes it)
        try:
            if (about.get("size") or 0) > LARGEST_REMEMBERED:
                with system.open(name, "rb") as file:
                    shutil.copyfileobj(file, copy, 2**20)
            else:
                copy.write(_recent.get(f"{path} {_stamp(about)}", lambda: system.cat_file(name)))
            copy.seek(0)
        except BaseException:
            copy.close()
            raise
        return copy


class _Recent:
    """The files that were read last; any thread may use it."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, fetch: Any) -> bytes:
        with self._lock:
            content = self._files.get(key)
        if content is None:
            content = bytes(fetch())
        with self._lock:
            self._files[key] = content
            self._files.move_to_end(key)
            while sum(map(len, self._files.values())) > MOST_REMEMBERED:
                self._files.popitem(last=False)
        return content


_recent = _Recent()


def _find(path: RemotePath) -> tuple[Any, str, Mapping[str, Any]]:
    """The file system of an address, the file's name in it, and what it says about the file."""
    system = _file_system(path.parts[0].rstrip(":"), os.getpid())
    name = system._strip_protocol(str(path))
    return system, name, system.info(name)


@cache  # for each process, because connections do not survive a fork
def _file_system(scheme: str, process: int) -> Any:
    what = f"reading {scheme}:// addresses"
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise MissingExtra(what, "remote") from error
    try:
        return fsspec.filesystem(scheme)
    except ImportError as error:
        if scheme == "s3":
            raise MissingExtra(what, "remote") from error
        from fsspec.registry import known_implementations

        raise InputError(f"{what} needs a package: {known_implementations[scheme]['err']}") from error


def _stamp(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(str(sorted(about.items())).encode()).hexdigest()[:32]


@contextmanager
def _reading(path: RemotePath) -> Iterator[None]:
    """Any error as an InputError that does not repeat what a library says, which may quote credentials."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else None
        known = {FileNotFoundError: "No such file or directory", PermissionError: "Permission denied"}
        raise InputError(f"{path}: {known.get(type(error)) or reason or _unreadable(error)}") from None
    except Exception as error:  # each file system's package has errors of its own
        raise InputError(f"{path}: {_unreadable(error)}") from None


def _unreadable(error: Exception) -> str:
    return f"cannot be read ({type(error).__name__}); check the address, the connection and the credentials"
