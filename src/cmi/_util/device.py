"""The device that a model runs on."""

from typing import TYPE_CHECKING

from cmi._util.errors import InputError

if TYPE_CHECKING:
    import torch


def choose_device(name: str = "auto") -> "torch.device":
    """Return the device called `name`: cpu, cuda, cuda:1 or mps; `auto` prefers a GPU.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    import torch

    usable = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, here in usable.items() if here))
    if not usable.get(name.split(":")[0], False):
        here = ", ".join(kind for kind, is_here in usable.items() if is_here)
        raise InputError(f"device {name!r} is not available: use auto or {here}")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device {name!r}, expected auto, cpu, mps, cuda or cuda:0") from error
