"""The saved state of a run: written atomically, verified when it is read, without pickle.

A state is a folder `state-00000250` with the current weights, AdamW's moments and the best head so far as safetensors,
and `state.json` with their checksums. It is written under a temporary name and then renamed. The previous state is
kept, and used if the latest one is damaged. Random draws depend only on the seed and the step, so that nothing else has
to be saved.
"""

import hashlib
import json
import math
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from cmi._util.errors import InputError
from cmi._util.files import move_into_place, write_whole
from cmi._util.weights import load_weights, save_weights
from cmi.reward.train.forward import Trainee

UNFINISHED = "unfinished-"
KEPT = 2  # the latest state and the previous one
WEIGHTS, MOMENTS, BEST, ABOUT = "weights.safetensors", "optimizer.safetensors", "best.safetensors", "state.json"


@dataclass
class Best:
    """The head with the best validation, and its step."""

    value: float
    step: int
    head: dict[str, Tensor]


class _RunState(NamedTuple):
    step: int
    weights: dict[str, Tensor]
    moments: dict[str, Tensor]
    best: Best


def save_state(folder: Path, step: int, trainee: Trainee, optimizer: torch.optim.Optimizer, best: Best) -> None:
    """Save the state after `step` steps; of earlier states only the latest is kept."""
    path = folder / f"state-{step:08d}"
    unfinished = folder / f"{UNFINISHED}{path.name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    save_weights(trainee.state_dict(), unfinished / WEIGHTS)
    save_weights(_moments(trainee, optimizer), unfinished / MOMENTS)
    save_weights(best.head, unfinished / BEST)
    value = best.value if math.isfinite(best.value) else None
    about: dict[str, Any] = {"step": step, "best_step": best.step, "best_value": value}
    about["checksums"] = {name: _checksum(unfinished / name) for name in (WEIGHTS, MOMENTS, BEST)}
    write_whole(unfinished / ABOUT, json.dumps({"about": about, "checksum": _digest(about)}, allow_nan=False))
    move_into_place(unfinished, path)
    for old in _states(folder)[:-KEPT]:
        shutil.rmtree(old)


def load_state(folder: Path, trainee: Trainee, optimizer: torch.optim.Optimizer) -> tuple[int, Best] | None:
    """Load the latest undamaged state; return its step and the best head, or None if there is no state.

    InputError if all states are damaged.
    """
    states = _states(folder)
    for path in reversed(states):
        try:
            state = _read(path)
            trainee.load_state_dict(state.weights)
        except (InputError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            if path == states[0]:
                raise InputError(
                    f"{path}: damaged, or not a state of this run; delete the folder to begin again"
                ) from error
            warnings.warn(f"{path}: damaged; resuming from the previous state", stacklevel=2)
            continue
        for name, parameter in trainee.named_parameters():
            start = f"{name}/"
            own = {key.removeprefix(start): value for key, value in state.moments.items() if key.startswith(start)}
            # AdamW counts its steps on the CPU
            optimizer.state[parameter] = {k: v if k == "step" else v.to(parameter.device) for k, v in own.items()}
        return state.step, state.best
    return None


def _read(path: Path) -> _RunState:
    """Read a state and verify its checksums; raises one of several errors if it is damaged."""
    record = json.loads((path / ABOUT).read_text(encoding="utf-8"))
    about = record["about"]
    if record["checksum"] != _digest(about):
        raise ValueError(f"{ABOUT} has another checksum")
    for name, checksum in about["checksums"].items():
        if _checksum(path / name) != checksum:
            raise ValueError(f"{name} has another checksum")
    value = -math.inf if about["best_value"] is None else about["best_value"]
    best = Best(value, about["best_step"], load_weights(path / BEST))
    return _RunState(about["step"], load_weights(path / WEIGHTS), load_weights(path / MOMENTS), best)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _states(folder: Path) -> list[Path]:
    return sorted(folder.glob("state-*"))


def _moments(trainee: Trainee, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value
        for name, parameter in trainee.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def copied_head(trainee: Trainee) -> dict[str, Tensor]:
    return {key: value.detach().cpu().clone() for key, value in trainee.head.state_dict().items()}
