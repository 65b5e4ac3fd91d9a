"""Read and write weights in safetensors files, and refuse those that are NaN or infinite.

A tensor mapped from a file starts wherever the file's header ends, and kernels round differently on unaligned memory:
the same weights gave scores that differed in their last bits from file to file. Loaded tensors are therefore copied to
allocated memory.
"""

import os
import re
from collections.abc import Container, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from cmi._util.errors import InputError
from cmi._util.files import whole_file
from cmi._util.printable import shorten

Shapes = Mapping[str, tuple[int, ...]]
_SHOWN = 120  # characters of a tensor's name in an error


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return each tensor's shape, from the file's header alone; empty tensors are refused."""
    try:
        with safe_open(path, "pt") as file:
            shapes = {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, OverflowError) as error:
        raise _unreadable(path, error) from error
    for key, shape in shapes.items():
        if not all(shape):
            raise InputError(f"{path}: {shorten(key, _SHOWN)} is empty: its shape is {list(shape)}")
    return shapes


def load_weights(path: Path, wanted: Container[str] | None = None) -> dict[str, Tensor]:
    """Load the wanted tensors of a file (by default all) to the CPU. InputError if one of them is not finite."""
    try:
        with safe_open(path, "pt") as file:
            keys = [key for key in file.keys() if wanted is None or key in wanted]  # noqa: SIM118
            state = {key: file.get_tensor(key).clone() for key in keys}
    except (SafetensorError, OSError, OverflowError) as error:
        raise _unreadable(path, error) from error
    require_finite(path, state)
    return state


def save_weights(state: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file atomically, with the permissions of the user's other files. Aliases are written twice."""
    owned: dict[str, Tensor] = {}
    seen = set()
    for key, tensor in state.items():
        tensor = tensor.detach().cpu().contiguous()
        owned[key] = tensor.clone() if tensor.data_ptr() in seen else tensor  # safetensors refuses shared memory
        seen.add(tensor.data_ptr())
    with whole_file(path) as unfinished:
        unfinished.touch()
        mode = unfinished.stat().st_mode
        try:
            save_file(owned, unfinished, metadata)  # replaces it by a file that only the owner can read
        except SafetensorError as error:
            code = re.search(r"os error (\d+)", str(error))
            raise OSError(int(code[1]), os.strerror(int(code[1]))) if code else error from error
        unfinished.chmod(mode)


def require_finite(path: Path, state: Mapping[str, Tensor]) -> None:
    """InputError that names the first tensor with a NaN or an infinity."""
    for key, tensor in state.items():
        if not _is_finite(tensor):
            raise InputError(
                f"{path}: {shorten(key, _SHOWN)} holds NaN or infinite numbers: the file is damaged, download it again"
            )


def in_own_memory(module: nn.Module) -> None:
    """Copy tensors that another library mapped from a file to allocated memory; shared parameters stay shared."""
    for part in module.modules():
        for parameter in part.parameters(recurse=False):
            parameter.data = parameter.data.clone()
        for name, buffer in part.named_buffers(recurse=False):
            setattr(part, name, buffer.clone())


def _is_finite(tensor: Tensor) -> bool:
    if not tensor.is_floating_point():
        return True
    if tensor.element_size() == 1:  # torch cannot sum 8-bit floats
        tensor = tensor.float()
    # A finite sum means finite numbers: one fast pass. A sum may also overflow, so look closer if it is not finite.
    return bool(tensor.sum(dtype=torch.float32).isfinite()) or bool(tensor.isfinite().all())


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: not a safetensors file, or a damaged one ({shorten(str(error), _SHOWN)})")
