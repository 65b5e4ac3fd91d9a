"""Get listed files of public repositories, at pinned commits, from the web or from local mirrors.

Files must have the listed hash. Missing files are returned with the reason, and the same call tries them again.

A list has a line for each file: HASH SIZE OWNER+NAME/PATH. The hash is a SHA-256, or the id that git gives to the file,
for files that were never here: their size is then 0 in the list.

A mirror is a folder owner+name, owner/name or name: a tree of files, a clone, or a bare repository (also in a
subfolder `repo`).
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote

from cmi._util.errors import InputError
from cmi._util.fetch import OnBytes, fetch
from cmi._util.files import cannot_write, locked, move_into_place, write_whole

OURS = ".cmi"  # temporary files of a download
RAW = "https://raw.githubusercontent.com"
GIVE_UP = 3  # files in a row without a response


class Unreachable(InputError):
    """The server did not respond."""


@dataclass(frozen=True)
class RecipeSource:
    """A public repository at one commit."""

    repository: str
    commit: str
    licence: str

    @property
    def folder(self) -> str:
        return self.repository.replace("/", "+")


class RecipeFile(NamedTuple):
    """A file of a repository, by its content."""

    source: RecipeSource
    path: str
    hash: str
    size: int

    @property
    def place(self) -> str:
        """Its path in a folder of several repositories."""
        return f"{self.source.folder}/{self.path}"

    def require_content(self, content: bytes, where: str) -> None:
        """Raise an InputError unless this is the file's content."""
        if len(self.hash) == 64:
            found = hashlib.sha256(content).hexdigest()
        else:  # git's id of a file
            found = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324
        if found != self.hash:
            raise InputError(
                f"{where}: another file than the listed one (its hash is {found[:12]}, not {self.hash[:12]})"
            )


class Missing(NamedTuple):
    """A listed file that could not be downloaded."""

    place: str
    reason: str


Bring = Callable[[RecipeFile, Path], None]  # writes a file's content to the path, or raises an InputError


def read_file_list(path: Path, sources: Mapping[str, RecipeSource]) -> dict[str, RecipeFile]:
    """Read a list of files, by their places; `sources` are by repository."""
    by_folder = {source.folder: source for source in sources.values()}
    files = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found, size, place = line.split(" ", 2)
            folder, inner = place.split("/", 1)
            files[place] = RecipeFile(by_folder[folder], inner, found, int(size))
        except (ValueError, KeyError) as error:
            raise InputError(f"{path.name} line {number}: expected 'HASH SIZE OWNER+NAME/PATH'") from error
    return files


def is_complete(files: Mapping[str, RecipeFile], folder: Path) -> bool:
    return all((folder / place).exists() for place in files)


@contextmanager
def writing_alone(place: Path, size: int | None) -> Iterator[None]:
    """Write `size` bytes into a folder while no other process does; an OSError becomes an InputError."""
    try:
        (place / OURS).mkdir(parents=True, exist_ok=True)
        require_space(place, size)
        with locked(place / OURS / "lock", waits=False):
            yield
    except OSError as error:
        raise cannot_write(error.filename or place, error) from error


def require_space(folder: Path, size: int | None) -> None:
    free = shutil.disk_usage(folder).free
    if size is not None and size > free:
        raise InputError(f"{folder}: {size:,} bytes are needed, but only {free:,} are free")


def get_files(
    files: Mapping[str, RecipeFile], folder: Path, bring: Bring, on_bytes: OnBytes = lambda done, total: None
) -> list[Missing]:
    """Get the files that the folder lacks, to their places there, and return the missing ones.

    Unreachable if the network is down.
    """
    missing: list[Missing] = []
    done = unanswered = 0
    total = sum(file.size for file in files.values())
    for place, file in files.items():
        path = folder / place
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                bring(file, path)
                unanswered = 0
            except InputError as error:
                missing.append(Missing(place, str(error)))
                unanswered = unanswered + 1 if isinstance(error, Unreachable) else 0
                if unanswered == GIVE_UP:
                    raise
        done += file.size
        on_bytes(done, total)
    return missing


def from_web(base: str = RAW, wait: float = 1.0) -> Bring:
    """Download from a server with the files at BASE/OWNER/NAME/COMMIT/PATH."""

    def bring(file: RecipeFile, path: Path) -> None:
        url = f"{base}/{file.source.repository}/{file.source.commit}/{quote(file.path)}"
        fetched = path.with_name(f"{path.name}.fetched")
        try:
            fetch(url, fetched, "name a folder of mirrors with --from", wait=wait)
        except InputError as error:
            if isinstance(error.__cause__, HTTPError):  # it has no such file
                raise
            raise Unreachable(str(error)) from error
        try:
            file.require_content(fetched.read_bytes(), url)
            move_into_place(fetched, path)
        finally:
            fetched.unlink(missing_ok=True)

    return bring


def from_mirrors(mirrors: Path) -> Bring:
    """From the repositories in a folder."""
    if not mirrors.is_dir():
        raise InputError(f"{mirrors}: not a folder, expected one with mirrors of repositories, such as owner+name/")

    def bring(file: RecipeFile, path: Path) -> None:
        reason = f"no {file.place} in {mirrors}"
        for read in _readers(mirrors, file):
            try:
                content = read()
                file.require_content(content, f"{file.place} in {mirrors}")
            except InputError as error:
                reason = str(error)
            else:
                write_whole(path, content)
                return
        raise InputError(reason)

    return bring


def _readers(mirrors: Path, file: RecipeFile) -> Iterator[Callable[[], bytes]]:
    """Yield the places where a mirror of the file's repository may have it."""
    owner, name = file.source.repository.split("/")
    for root in (mirrors / file.source.folder, mirrors / owner / name, mirrors / name, mirrors / f"{name}.git"):
        if (root / file.path).is_file():
            yield (root / file.path).read_bytes
        for repository in (root, root / ".git", root / "repo"):
            if (repository / "HEAD").is_file() and (repository / "objects").is_dir():
                yield partial(_blob, repository, file)


def _blob(repository: Path, file: RecipeFile) -> bytes:
    """Read a file of a commit from a git directory without fetching."""
    git = shutil.which("git")
    if git is None:
        raise InputError(f"{repository}: reading it needs git, which is not installed")
    command = [git, f"--git-dir={repository}", "cat-file", "blob", f"{file.source.commit}:{file.path}"]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    ran = subprocess.run(command, capture_output=True, env=environment, check=False)  # noqa: S603 (a list, no shell)
    if ran.returncode:
        reason = (ran.stderr.decode(errors="replace").strip().splitlines() or ["git gave no reason"])[-1]
        raise InputError(f"{repository} has no {file.path} at {file.source.commit[:12]} ({reason})")
    return ran.stdout
