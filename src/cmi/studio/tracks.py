"""Find real recordings in a folder, and download Debian's free music into one.

Packages are fetched with `apt-get download` and unpacked with `dpkg-deb -x`, without root. Each gets its own folder and
a line in licences.jsonl with name, version, source package, licence file and its SHA-256; recorded packages are not
fetched again. Licences differ between and within packages: read each `copyright` file before passing music on.
"""

import json
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi._util.files import cannot_write, make_folder, move_into_place, write_whole
from cmi.audio import AUDIO_SUFFIXES, content_hash, duration, find_recordings

SHORTEST = 20.0  # seconds; what is shorter is a jingle or a sound effect
LICENCES = "licences.jsonl"
PACKAGES = read_config(files("cmi.studio") / "tracks.toml", dict[str, tuple[float, str]])  # hours and kind


class Track(NamedTuple):
    name: str  # the SHA-256 of the file's bytes
    path: Path
    seconds: float


class Fetched(NamedTuple):
    """One line of licences.jsonl. Paths are relative to the folder it lies in."""

    package: str
    version: str
    source: str  # Debian's source package
    copyright: str  # the file that states the licences
    copyright_sha256: str
    files: str  # the folder with what the package holds


def find_tracks(folder: Path) -> list[Track]:
    """Readable audio files under a folder that last at least SHORTEST, without duplicates."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = [track for track in pool.map(_look, find_recordings(folder)) if track]
    return sorted({track.name: track for track in reversed(found)}.values())  # the first of equal files


def fetch_debian(packages: Iterable[str], folder: Path) -> list[Fetched]:
    """Download and unpack Debian packages into the folder, except those recorded there."""
    make_folder(folder)
    done = {line.package: line for line in read_licences(folder)}
    fetched = []
    for package in dict.fromkeys(packages):
        if package not in done:
            try:
                done[package] = _fetch(package, folder)
            except OSError as error:
                raise cannot_write(error.filename or folder / package, error) from error
            write_whole(folder / LICENCES, "".join(json.dumps(line._asdict()) + "\n" for line in done.values()))
        fetched.append(done[package])
    return fetched


def read_licences(folder: Path) -> list[Fetched]:
    """Read the record of fetched packages, ignoring a truncated last line."""
    record = folder / LICENCES
    if not record.exists():
        return []
    try:
        text = record.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        return [Fetched(**json.loads(line)) for line in whole.splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{record}: a line is not a package's record; move the file away to start over") from error


def _look(path: Path) -> Track | None:
    try:
        seconds = duration(path)
        return Track(content_hash(path), path, seconds) if seconds >= SHORTEST else None
    except InputError:
        return None


def _fetch(package: str, folder: Path) -> Fetched:
    """Fetch a package, unpack it beside its folder and move it into place."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]*", package):
        raise InputError(f"{package!r} is not a Debian package's name")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
        room = Path(scratch)
        _run(["apt-get", "download", package], room, f"{package} cannot be downloaded")
        archive = next(room.glob("*.deb"), None)
        if archive is None:
            raise InputError(f"{package} cannot be downloaded: apt-get left no file")
        version, source = (
            _run(["dpkg-deb", "-f", archive.name, field], room, f"{archive.name} cannot be read").strip()
            for field in ("Version", "Source")
        )
        _run(["dpkg-deb", "-x", archive.name, "files"], room, f"{archive.name} cannot be unpacked")
        _unzip_packs(room / "files")
        place = folder / package
        move_into_place(room / "files", place)
    licence = place / "usr" / "share" / "doc" / package / "copyright"
    if not licence.is_file():
        raise InputError(f"{package} states no licence: {licence} is missing")
    return Fetched(
        package=package,
        version=version,
        source=source or package,
        copyright=str(licence.relative_to(folder)),
        copyright_sha256=content_hash(licence),
        files=str(place.relative_to(folder)),
    )


def _unzip_packs(folder: Path) -> None:
    """Unpack the audio in a game's .pk3 files, which are zip files, beside them."""
    for pack in sorted(folder.rglob("*.pk3")):
        try:
            with zipfile.ZipFile(pack) as content:
                audio = [name for name in content.namelist() if Path(name).suffix.lower() in AUDIO_SUFFIXES]
                content.extractall(pack.with_suffix(""), audio)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise InputError(f"{pack}: a damaged pack: {error}") from error


def _run(command: list[str], folder: Path, failure: str) -> str:
    """Run a command and return its output; InputError beginning with `failure` if it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=3600)  # noqa: S603
    except FileNotFoundError as error:
        raise InputError(f"{failure}: {command[0]} is missing; it exists only on Debian and its derivatives") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{failure}: {command[0]} took more than an hour") from error
    if done.returncode:
        reasons = [line.removeprefix("E: ") for line in done.stderr.splitlines() if line.startswith("E: ")]
        said = reasons[-1] if reasons else (done.stderr.strip() or f"{command[0]} failed").splitlines()[-1]
        raise InputError(f"{failure}: {said}; `apt-get update` may help")
    return done.stdout
