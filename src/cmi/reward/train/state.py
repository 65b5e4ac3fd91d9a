"""Where a run stands: written whole or not at all, and read without pickle.

A state is a folder `state-00000250` with the weights in training, AdamW's moments and the best head so far, as
safetensors, and `state.json`. It is written under another name and renamed. What is random is told by the seed and the
step, so nothing else is needed to go on.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from cmi.errors import InputError
from cmi.reward.train.forward import Trainee

UNFINISHED = "unfinished-"


@dataclass
class Best:
    """The head that validated best, and when."""

    value: float
    step: int
    head: dict[str, Tensor]


def save_state(folder: Path, step: int, trainee: Trainee, optimizer: torch.optim.Optimizer, best: Best) -> None:
    """Keep the state after `step` steps, and no other."""
    path = folder / f"state-{step:08d}"
    unfinished = folder / f"{UNFINISHED}{path.name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    save_file(_owned(trainee.state_dict()), unfinished / "weights.safetensors")
    save_file(_moments(trainee, optimizer), unfinished / "optimizer.safetensors")
    save_file(_owned(best.head), unfinished / "best.safetensors")
    about = {"step": step, "best_step": best.step, "best_value": best.value}
    (unfinished / "state.json").write_text(json.dumps(about), encoding="utf-8")
    shutil.rmtree(path, ignore_errors=True)
    unfinished.replace(path)
    for other in _states(folder):
        if other != path:
            shutil.rmtree(other)


def load_state(folder: Path, trainee: Trainee, optimizer: torch.optim.Optimizer) -> tuple[int, Best] | None:
    """Go on from the latest state: how many steps were done, and the best head; None if there is no state."""
    states = _states(folder)
    if not states:
        return None
    path = states[-1]
    try:
        about = json.loads((path / "state.json").read_text(encoding="utf-8"))
        trainee.load_state_dict(load_file(path / "weights.safetensors"))
        moments = load_file(path / "optimizer.safetensors")
        best = Best(about["best_value"], about["best_step"], load_file(path / "best.safetensors"))
        step = int(about["step"])
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{path}: not a state of this run; delete the folder to begin again") from error
    for name, parameter in trainee.named_parameters():
        own = {key.removeprefix(f"{name}/"): value for key, value in moments.items() if key.startswith(f"{name}/")}
        # AdamW counts its steps on the CPU
        optimizer.state[parameter] = {k: v if k == "step" else v.to(parameter.device) for k, v in own.items()}
    return step, best


def _states(folder: Path) -> list[Path]:
    return sorted(folder.glob("state-*"))


def _moments(trainee: Trainee, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, parameter in trainee.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def _owned(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the host: safetensors refuses tensors that share memory."""
    return {key: value.detach().cpu().clone().contiguous() for key, value in state.items()}


def copied_head(trainee: Trainee) -> dict[str, Tensor]:
    return _owned(trainee.head.state_dict())
