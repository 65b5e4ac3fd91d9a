"""Download data sets and check them against a manifest.

    ROOT/NAME.partial/         during the download; the same command resumes there
    ROOT/NAME/                 when it is complete
    ROOT/NAME.manifest.json    the size and SHA-256 of every file, recorded when it was first fetched or checked

A data set that is downloaded again must match its manifest. For recipes (`cmi.rewardbench.data.recipes`) the recipe has
the hashes; their folder appears even if some files are missing, and the same command tries to get those.
"""

import hashlib
import json
import shutil
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from cmi._util.errors import InputError
from cmi._util.fetch import OnBytes, fetch, length_of
from cmi._util.files import DISK_FULL, cannot_write, move_into_place, write_whole
from cmi._util.hub import quiet_hub, require_packages
from cmi._util.repositories import (
    OURS,
    Missing,
    from_mirrors,
    from_web,
    get_files,
    is_complete,
    require_space,
    writing_alone,
)
from cmi.rewardbench.data import DataSet
from cmi.rewardbench.data.parquet import PREPARED
from cmi.rewardbench.data.recipes import read_recipe

NOT_ITS_OWN = (OURS, ".cache", PREPARED, f"{PREPARED}.partial", f"{PREPARED}.lock")  # .cache is the hub's client's


@dataclass(frozen=True)
class Summed:
    """A file's size and hash."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The source of a data set, and its files by path."""

    name: str
    origin: str
    revision: str
    files: dict[str, Summed] = field(hash=False)


class Checked(NamedTuple):
    """The result of a check, as paths. `is_first` if there was no manifest before."""

    manifest: Manifest
    is_first: bool
    missing: list[str]
    changed: list[str]
    unlisted: list[str]


class Plan(NamedTuple):
    """A planned download: its size in bytes (None if unknown) and its revision on the hub."""

    size: int | None
    revision: str = ""


def is_there(dataset: DataSet, root: Path) -> bool:
    """Tell whether a data set is complete."""
    folder = root / dataset.name
    return folder.exists() and (not dataset.recipe or is_complete(read_recipe(dataset.name).files, folder))


def plan(dataset: DataSet, root: Path) -> Plan:
    """Ask for the size of a data set. A download that has begun keeps its revision."""
    if not dataset.is_downloadable:
        raise InputError(f"{dataset.name} cannot be downloaded; {dataset.origin}")
    if dataset.recipe:
        return Plan(read_recipe(dataset.name).size)
    if dataset.url:
        return Plan(length_of(dataset.url, _by_hand(dataset, root)))
    begun = _partial(root, dataset) / OURS / "revision"
    manifest = read_manifest(root / dataset.name)
    revision = begun.read_text() if begun.exists() else manifest.revision if manifest else ""
    with _hub(dataset, root) as hub:
        info = hub.HfApi().dataset_info(dataset.hub, revision=revision or None, files_metadata=True)
    wanted = [file for file in info.siblings or () if any(fnmatch(file.rfilename, each) for each in dataset.files)]
    if not wanted:
        raise InputError(f"{dataset.origin} has no {' or '.join(dataset.files)} any more: {_by_hand(dataset, root)}")
    return Plan(sum(file.size or 0 for file in wanted), info.sha or "")


def get(dataset: DataSet, root: Path, planned: Plan, on_bytes: OnBytes = lambda done, total: None) -> Path:
    """Download a data set unless it exists; return its folder. After an InputError the same call resumes."""
    done, partial = root / dataset.name, _partial(root, dataset)
    if done.exists():
        return done
    with writing_alone(partial, planned.size):
        if dataset.hub:
            _fetch_snapshot(dataset, root, partial, planned.revision)
        else:
            _fetch_file(dataset, root, partial, on_bytes)
        _settle(dataset, root, partial, planned.revision)
        move_into_place(partial, done)
    return done


def get_by_recipe(
    dataset: DataSet, root: Path, mirrors: Path | None = None, on_bytes: OnBytes = lambda done, total: None
) -> list[Missing]:
    """Get a data set's files from the web, or from a folder of mirrors, and return those that are missing.

    InputError if all are missing.
    """
    recipe, done = read_recipe(dataset.name), root / dataset.name
    place = done if done.exists() else _partial(root, dataset)
    size = sum(file.size for name, file in recipe.files.items() if not (place / name).exists())
    with writing_alone(place, size):
        missing = get_files(recipe.files, place, from_web() if mirrors is None else from_mirrors(mirrors), on_bytes)
        if len(missing) == len(recipe.files):
            raise InputError(
                f"{dataset.name}: none of its {len(missing)} files could be downloaded: {missing[0].reason}"
            )
        shutil.rmtree(place / OURS, ignore_errors=True)
        if place != done:
            move_into_place(place, done)
    return missing


def check(dataset: DataSet, folder: Path) -> Checked:
    """Compare a data set's files with its manifest; write one if there is none."""
    try:
        known = _manifest_by_recipe(dataset) if dataset.recipe else read_manifest(folder)
        found = _sums(folder)
        if known is None:
            manifest = Manifest(dataset.name, dataset.origin, "", found)
            write_manifest(folder, manifest)
            return Checked(manifest, True, [], [], [])
    except OSError as error:
        raise cannot_write(error.filename or folder, error) from error
    missing = sorted(known.files.keys() - found.keys())
    changed = sorted(path for path in known.files.keys() & found.keys() if known.files[path] != found[path])
    return Checked(known, False, missing, changed, sorted(found.keys() - known.files.keys()))


def manifest_of(folder: Path) -> Path:
    """Return the path of a data set's manifest, beside its folder."""
    return folder.with_name(f"{folder.name}.manifest.json")


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a data set; None if there is none."""
    from pydantic import TypeAdapter

    path = manifest_of(folder)
    try:
        return TypeAdapter(Manifest).validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a manifest; remove it, and it will be recorded again") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    record = asdict(manifest) | {"files": {path: asdict(summed) for path, summed in sorted(manifest.files.items())}}
    write_whole(manifest_of(folder), json.dumps(record, indent=1) + "\n")


def _manifest_by_recipe(dataset: DataSet) -> Manifest:
    files = read_recipe(dataset.name).files.items()
    sums = {place: Summed(file.size, file.hash) for place, file in files}
    return Manifest(dataset.name, dataset.origin, "", sums)


def _settle(dataset: DataSet, root: Path, partial: Path, revision: str) -> None:
    """Write the manifest, or compare the files with it, and remove temporary files."""
    folder = root / dataset.name
    known, found = read_manifest(folder), _sums(partial)
    if known is None:
        write_manifest(folder, Manifest(dataset.name, dataset.origin, revision, found))
    elif known.files != found:
        differs = sorted(path for path in known.files.keys() | found.keys() if known.files.get(path) != found.get(path))
        for path in differs:
            (partial / path).unlink(missing_ok=True)
        shutil.rmtree(partial / OURS)
        raise InputError(
            f"{dataset.name}: {differs[0]} is not what was first downloaded ({len(differs)} files "
            f"differ): if its publisher changed it, remove {manifest_of(folder)} and download it again"
        )
    for folder in (partial / OURS, partial / ".cache"):
        shutil.rmtree(folder, ignore_errors=True)


def _sums(folder: Path) -> dict[str, Summed]:
    """Return the size and hash of each file of a data set."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = ((path.relative_to(folder), path) for path in paths)
    return {name.as_posix(): _sum(path) for name, path in named if name.parts[0] not in NOT_ITS_OWN}


def _sum(path: Path) -> Summed:
    with path.open("rb") as file:
        return Summed(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _fetch_snapshot(dataset: DataSet, root: Path, partial: Path, revision: str) -> None:
    (partial / OURS / "revision").write_text(revision)
    with _hub(dataset, root) as hub:
        hub.snapshot_download(
            dataset.hub,
            repo_type="dataset",
            revision=revision,
            local_dir=partial,
            allow_patterns=list(dataset.files),
        )


@contextmanager
def _hub(dataset: DataSet, root: Path) -> Iterator[Any]:
    """Yield the hub's client; its errors become InputErrors."""
    require_packages(f"fetching {dataset.name}", "rewardbench", "huggingface_hub")
    import huggingface_hub
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    by_hand = _by_hand(dataset, root)
    try:
        with quiet_hub():
            yield huggingface_hub
    except GatedRepoError as error:
        raise InputError(
            f"{dataset.name} is given to registered users only: accept its terms at {dataset.origin}, log in with "
            f"'hf auth login', and run this again"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(f"the hub has no {dataset.hub!r}, or it is private: {by_hand}") from error
    except Exception as error:  # the client raises its own errors, the HTTP library's and the system's
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        raise InputError(f"{dataset.name} could not be downloaded ({type(error).__name__}): {by_hand}") from error


def _by_hand(dataset: DataSet, root: Path) -> str:
    """Say how to download a data set by hand."""
    folder = root / dataset.name
    if dataset.hub:
        return f"on a connected machine run 'hf download {dataset.hub} --repo-type dataset --local-dir {folder}'"
    return f"download it from {dataset.origin} to {folder} yourself"


def _fetch_file(dataset: DataSet, root: Path, partial: Path, on_bytes: OnBytes) -> None:
    name = PurePosixPath(urlsplit(dataset.url).path).name
    fetched = partial / OURS / name
    fetch(dataset.url, fetched, _by_hand(dataset, root), on_bytes)
    if fetched.suffix != ".zip":
        fetched.replace(partial / name)
        return
    try:
        unzip(fetched, partial, dataset.files, dataset.url)
    except InputError:
        fetched.unlink()
        raise


def unzip(archive: Path, folder: Path, wanted: tuple[str, ...], name: str) -> None:
    """Unpack the files that match `wanted`; InputError for an archive that is damaged or leads out of `folder`."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
            for member in members:
                _require_inside(member, name)
            members = [member for member in members if any(fnmatch(member.filename, each) for each in wanted)]
            if not members:
                raise InputError(f"{name}: no {' or '.join(wanted)} in it")
            require_space(folder, sum(member.file_size for member in members))
            file.extractall(folder, members)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{name}: a damaged archive ({error}); run this again to download it again") from error


def _require_inside(member: zipfile.ZipInfo, name: str) -> None:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    is_link = stat.S_ISLNK(member.external_attr >> 16)
    if path.is_absolute() or ".." in path.parts or ":" in member.filename or is_link:
        raise InputError(f"{name}: the member {member.filename!r} leads out of the archive; nothing was unpacked")


def _partial(root: Path, dataset: DataSet) -> Path:
    return root / f"{dataset.name}.partial"
