"""Get the files of a recipe from the repositories on the web or from local mirrors.

Files must have the recipe's hash. Missing files are listed with the reason, and the same command tries them again.

A mirror is a folder owner+name, owner/name or name: a tree of files, a clone, or a bare repository (also in a
subfolder `repo`).
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote

from cmi._util.errors import InputError
from cmi._util.files import move_into_place, write_whole
from cmi.rewardbench.data.fetch import OnBytes, fetch
from cmi.rewardbench.data.recipes import Recipe, RecipeFile

RAW = "https://raw.githubusercontent.com"
GIVE_UP = 3  # files in a row without a response


class Unreachable(InputError):
    """The server did not respond."""


class Missing(NamedTuple):
    """A file of the recipe that could not be downloaded."""

    place: str
    reason: str


Bring = Callable[[RecipeFile, Path], None]  # writes a file's content to the path, or raises an InputError


def is_complete(recipe: Recipe, folder: Path) -> bool:
    return all((folder / place).exists() for place in recipe.files)


def get_files(
    recipe: Recipe, folder: Path, bring: Bring, on_bytes: OnBytes = lambda done, total: None
) -> list[Missing]:
    """Get the files that the folder lacks and return the missing ones; Unreachable if the network is down."""
    missing: list[Missing] = []
    done = unanswered = 0
    for file in recipe.files.values():
        path = folder / file.place
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                bring(file, path)
                unanswered = 0
            except InputError as error:
                missing.append(Missing(file.place, str(error)))
                unanswered = unanswered + 1 if isinstance(error, Unreachable) else 0
                if unanswered == GIVE_UP:
                    raise
        done += file.size
        on_bytes(done, recipe.size)
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
            _require_hash(file, fetched.read_bytes(), url)
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
                _require_hash(file, content, f"{file.place} in {mirrors}")
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
        raise InputError(f"{repository}: git is needed to read it, and is not installed")
    command = [git, f"--git-dir={repository}", "cat-file", "blob", f"{file.source.commit}:{file.path}"]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    ran = subprocess.run(command, capture_output=True, env=environment, check=False)  # noqa: S603 (a list, no shell)
    if ran.returncode:
        reason = (ran.stderr.decode(errors="replace").strip().splitlines() or ["git says nothing"])[-1]
        raise InputError(f"{repository} has no {file.path} at {file.source.commit[:12]} ({reason})")
    return ran.stdout


def _require_hash(file: RecipeFile, content: bytes, where: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise InputError(f"{where}: another file than the recipe's (SHA-256 {found[:12]}, expected {file.sha256[:12]})")
