"""Find a model by name: a local folder, or a hub id at a revision that is recorded."""

import hashlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra

# Weights, configuration, vocabularies; no pickles.
MODEL_FILES = ("*.safetensors", "*.json", "*.yaml", "*.txt", "*.model", "*.jinja")


def require_packages(what: str, extra: str, *packages: str) -> None:
    """MissingExtra unless all `packages` are installed."""
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise MissingExtra(what, extra)


def find_model(name: str, revision: str | None, what: str, otherwise: str = "") -> tuple[Path, str]:
    """Return the folder of the model `name` (a folder or a hub id) and its full name, which includes its revision.

    A folder's revision is the hash of its files. InputError if it is neither here nor on the hub.
    """
    if Path(name).is_dir():
        folder = Path(name).resolve()
        return folder, f"{folder.name}@{_fingerprint(folder)}"
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        with quiet_hub():
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=list(MODEL_FILES)))
    except HFValidationError as error:
        raise InputError(f"{what} {name!r} is neither a folder here nor a hub id: pass one{otherwise}") from error
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        at = f" at revision {revision}" if revision else ""
        raise InputError(f"the hub has no {name!r}{at}, or it is private (then log in with 'hf auth login')") from error
    except Exception as error:  # the client raises its own errors, the HTTP library's and the system's
        pinned = f" --revision {revision}" if revision else ""
        raise InputError(
            f"{what} {name!r} could not be downloaded ({type(error).__name__}): on a connected machine run "
            f"'hf download {name}{pinned} --local-dir FOLDER', then pass that folder{otherwise}"
        ) from error
    return folder, f"{name}@{folder.name[:12]}"


def _fingerprint(folder: Path) -> str:
    """Return twelve hex digits of the hash of a folder's files; the folder's name does not matter.

    The weights of a pipeline (diffusers) are in subfolders.
    """
    digest = hashlib.sha256()
    find = folder.rglob if (folder / "model_index.json").exists() else folder.glob
    patterns = (*MODEL_FILES, "1_Pooling/config.json")
    for path in sorted({path for pattern in patterns for path in find(pattern)}):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:12]


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Silence the hub client's messages about each of its retries; we raise one error at the end."""
    from logging import ERROR

    from huggingface_hub.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity(ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the messages and progress bars of transformers inside the block."""
    from transformers.utils import logging

    with quiet_library(logging):
        yield


@contextmanager
def quiet_library(logging: Any) -> Iterator[None]:
    """Silence a library inside the block, given its module `utils.logging`: that of transformers or of diffusers."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
