"""Find, download and read published checkpoints.

Safetensors are preferred. If the publishers have none, their `.bin`, `.pt` or `.pth` file is read only with the user's
permission (CMI_READ_PICKLES=1), by torch.load with weights_only=True, which loads tensors and plain containers, runs no
code from the file, and refuses anything else.
"""

import os
import pickle
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from cmi._util.config import read_table
from cmi._util.errors import InputError
from cmi._util.hub import find_model, quiet_hub
from cmi._util.weights import Shapes, load_weights, require_finite
from cmi.audio import content_hash
from cmi.reward.model.checkpoint import check_keys

State = dict[str, Tensor]
Built = TypeVar("Built")
PERMISSION = "CMI_READ_PICKLES"
NEVER_READ = r".*\.position_ids$|.*num_batches_tracked$"
WEIGHT_NORM = {".weight_g": ".parametrizations.weight.original0", ".weight_v": ".parametrizations.weight.original1"}
# numpy scalars, which trainers store beside the weights; unpickling them runs no code.
_SCALAR = np.float64(0).__reduce__()[0]
NUMBERS: list[Any] = [_SCALAR, (_SCALAR, "numpy.core.multiarray.scalar"), np.dtype, np.dtypes.Float64DType]


class PublishedCheckpoint(NamedTuple):
    """A published checkpoint: its hub id and revision, and the names of its weights, the preferred one first."""

    repo: str
    revision: str
    files: tuple[str, ...] = ("model.safetensors", "pytorch_model.bin")
    how_to_get: str = ""  # how to get a checkpoint that is not on a hub


class FoundCheckpoint(NamedTuple):
    """A checkpoint on this machine; its name includes its revision or a hash of its content."""

    weights: Path
    folder: Path
    name: str

    @property
    def config(self) -> dict[str, Any]:
        """The contents of config.json; empty if there is none."""
        path = self.folder / "config.json"
        return read_table(path) if path.is_file() else {}


def find(source: PublishedCheckpoint, places: Sequence[str], number: int = 0) -> FoundCheckpoint:
    """Find the checkpoint at `places[number]`, a folder or hub id, or else the published one."""
    place = places[number] if number < len(places) else ""
    if not place and not source.repo:
        raise InputError(source.how_to_get)
    repo = place or source.repo
    folder, name = find_model(repo, None if place else source.revision, "the checkpoint")
    for file in source.files:
        if (folder / file).is_file():
            _require_permission(folder / file)
            return FoundCheckpoint(
                folder / file, folder, name if file.endswith(".safetensors") else _named(folder / file, name)
            )
    if Path(repo).is_dir():
        raise InputError(f"{folder}: no weights, expected {' or '.join(source.files)}")
    _require_permission(Path(source.files[-1]))
    weights = _download(repo, source.files[-1], folder.name)
    return FoundCheckpoint(weights, folder, name)


def build(
    source: PublishedCheckpoint,
    places: Sequence[str],
    make: Callable[[State, Mapping[str, Any]], Built],
    number: int = 0,
) -> tuple[FoundCheckpoint, Built]:
    """Find a checkpoint and build a model with `make(tensors, config)`; InputErrors of `make` name the file."""
    found = find(source, places, number)
    state, config = read_state(found.weights), found.config
    try:
        return found, make(state, config)
    except InputError as error:
        raise InputError(f"{found.weights}: {error}") from error


def _require_permission(weights: Path) -> None:
    """Raise InputError for a pickle if the user has not allowed it."""
    if weights.suffix != ".safetensors" and os.environ.get(PERMISSION) != "1":
        raise InputError(
            f"{weights} is a pickle: set {PERMISSION}=1 to have torch read its tensors (weights_only, no code is run), "
            "or convert it to safetensors beside it"
        )


def _named(weights: Path, name: str) -> str:
    """Name a folder by a hash of its weights, because `find_model` only hashes its other files."""
    if weights.parent.name.startswith(name.partition("@")[2]):
        return name  # a snapshot of the hub's
    return f"{name.partition('@')[0]}@{content_hash(weights)[:12]}"


def _download(repo: str, file: str, revision: str) -> Path:
    """Download a file of a hub id that `find_model` left out because it is not safetensors."""
    from huggingface_hub import hf_hub_download

    try:
        with quiet_hub():
            return Path(hf_hub_download(repo, file, revision=revision))
    except Exception as error:  # the hub's client raises its own, the HTTP library's and the system's errors alike
        raise InputError(
            f"{file} of {repo!r} could not be downloaded ({type(error).__name__}): on a connected machine run "
            f"'hf download {repo} --revision {revision} --local-dir FOLDER', then pass that folder as NAME=FOLDER"
        ) from error


def read_state(path: Path) -> State:
    """Return the tensors of a checkpoint by name, from its entry `model` or `state_dict` if there is one."""
    try:
        if path.suffix == ".safetensors":
            return load_weights(path)
        with torch.serialization.safe_globals(NUMBERS):
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path}: not a checkpoint of tensors alone ({reason})") from error
    for part in ("model", "state_dict"):
        if isinstance(content, dict) and isinstance(content.get(part), dict):
            content = content[part]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise InputError(f"{path}: not a checkpoint of tensors by their names")
    require_finite(path, content)
    return {key: tensor.clone() for key, tensor in content.items()}  # out of the mapped file, as `load_weights` does


def shapes_of(state: Mapping[str, Tensor]) -> Shapes:
    return {key: tuple(tensor.shape) for key, tensor in state.items()}


def renamed(state: Mapping[str, Tensor], names: Mapping[str, str]) -> State:
    """Rename keys by the regular expressions of `names`, in order."""
    found = {}
    for key, tensor in state.items():
        for pattern, new in names.items():
            key = re.sub(pattern, new, key)
        found[key] = tensor
    return found


def with_weight_norm(state: Mapping[str, Tensor]) -> State:
    """Rename the two parts of a weight-normalised parameter to torch's current names."""
    return renamed(state, {re.escape(old) + "$": new for old, new in WEIGHT_NORM.items()})


def fill(module: nn.Module, state: Mapping[str, Tensor], ignored: str = "") -> None:
    """Load weights in float32 and freeze them; InputError unless all keys but `ignored` match in name and shape."""
    skipped = re.compile(f"{NEVER_READ}|{ignored}" if ignored else NEVER_READ)
    used = {key: tensor.float() for key, tensor in state.items() if not skipped.match(key)}
    expected = {key: shape for key, shape in shapes_of(module.state_dict()).items() if not skipped.match(key)}
    check_keys(expected, shapes_of(used))
    module.load_state_dict(used, strict=False)
    module.requires_grad_(False).eval()
