"""The base of systems that run a model in this process: a checkpoint from the hub or a folder, a device, a seed.

A system is a subclass of `CheckpointGenerator` with a dataclass `Settings`, whose fields are what can be set on the
command line. Random numbers come from the take's seed alone and leave torch's global state as it was.
"""

import gc
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field

from cmi._util.device import choose_device
from cmi._util.hub import find_model, quiet_library, quiet_transformers, require_packages
from cmi.audio import Waveform, load, resample
from cmi.generate import GeneratedSound, GeneratorStopped, Part
from cmi.take import Audio, Prompt

if TYPE_CHECKING:
    import torch

Steps = Annotated[int, Field(ge=1)]
Guidance = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """Settings that every such system has; those of a system itself are in its subclass.

    licence    of the takes, if the checkpoint is not the published one
    dtype      'auto': float32, and on a GPU what the model's authors use
    """

    checkpoint: str  # a hub id or a folder
    licence: str
    revision: str | None = None
    device: str = "auto"
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"


_COMMON = {one.name for one in fields(CheckpointSettings)}
S = TypeVar("S", bound=CheckpointSettings)


class CheckpointGenerator(ABC, Generic[S]):
    """A generator whose model is loaded from a checkpoint; it is named after the checkpoint and changed settings."""

    Settings: ClassVar[type[CheckpointSettings]]
    model_name: ClassVar[str]  # in errors
    gpu_dtype: ClassVar[str] = "float16"

    accepts: tuple[Part, ...] = ("text",)
    longest: float | None = None  # seconds
    rate: int

    def __init__(self, chosen: S) -> None:
        require_packages(f"{self.model_name} in this process", "generate", "torch", "transformers", "diffusers")
        self._chosen = chosen
        folder, full_name = find_model(chosen.checkpoint, chosen.revision, f"{self.model_name} model")
        checkpoint, _, self.version = full_name.rpartition("@")
        self._device = choose_device(chosen.device)
        automatic = self.gpu_dtype if self._device.type == "cuda" else "float32"
        dtype = automatic if chosen.dtype == "auto" else chosen.dtype
        self._model = self._load(folder, dtype)
        own = [one for one in fields(chosen) if one.name not in _COMMON]
        values = [(one.name, getattr(chosen, one.name)) for one in own if getattr(chosen, one.name) != one.default]
        changed = [f"{name}-{value:g}" for name, value in values if isinstance(value, int | float)]
        self.name = "-".join([Path(checkpoint).name, *changed])
        self.licence = chosen.licence
        used = {one.name: getattr(self._chosen, one.name) for one in own}
        self.settings: Mapping[str, Any] = {"checkpoint": checkpoint, "dtype": dtype, **used}

    @abstractmethod
    def _load(self, folder: Path, dtype: str) -> Any:
        """Load the model onto the device, set `rate`, and what else the checkpoint decides."""

    @abstractmethod
    def _sample(self, prompt: Prompt, seed: int, seconds: float | None) -> "torch.Tensor":
        """Return samples of shape (n,) or (channels, n)."""

    def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> GeneratedSound:
        if seconds is not None and self.longest is not None and seconds > self.longest:
            raise GeneratorStopped(
                f"{self.name} makes takes of up to {math.floor(self.longest * 10) / 10:g} s, "
                f"but {seconds:g} s were requested"
            )
        with _seeded(seed, self._device), quiet_transformers(), quiet_diffusers():
            samples = self._sample(prompt, seed, seconds)
        sound = np.atleast_2d(samples.detach().float().cpu().numpy()).T
        kept = len(sound) if seconds is None else round(seconds * self.rate)
        return GeneratedSound(np.ascontiguousarray(sound[:kept]), self.rate)

    def close(self) -> None:
        """Free the memory for the next system."""
        import torch

        self._model = None
        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()


def load_reference(reference: Audio, rate: int, seconds: float) -> "torch.Tensor":
    """Load the first `seconds` of a reference at `rate` hertz, mono, as a tensor of shape (n,)."""
    import torch

    if isinstance(reference, Waveform):
        sound = resample(reference, rate).samples[: round(seconds * rate)]
    else:
        sound = load(reference, rate, seconds).samples
    return torch.from_numpy(sound)


@contextmanager
def _seeded(seed: int, device: "torch.device") -> Iterator[None]:
    """Seed torch's global generators inside the block; some steps of the models take no generator of their own."""
    import torch

    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextmanager
def quiet_diffusers() -> Iterator[None]:
    """Silence diffusers inside the block, and the warnings of what it uses."""
    from diffusers.utils import logging

    with quiet_library(logging), warnings.catch_warnings(action="ignore"):
        yield
