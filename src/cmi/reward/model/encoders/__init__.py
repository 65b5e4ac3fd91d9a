"""Frozen encoders: sound and words in, tokens of one width out. The reward head runs on any of them.

To add an encoder, add its module to this folder, with a `FrozenEncoder` called `ENCODER` in it: a checkpoint whose
config.yaml states `encoder: NAME` is for the encoder of the module NAME.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Self

from torch import Tensor, nn

from cmi._util.errors import InputError
from cmi._util.weights import Shapes
from cmi.reward.model.tokenizer import Tokenize

DEFAULT_ENCODER = "muq_mulan"


class FrozenEncoder(nn.Module):
    """Two towers in one space. Everything is batched; what is shorter than its neighbours comes with its length.

    A shorter item gives the tokens that it gives alone: padding does not leak, and its tokens mean nothing.
    """

    name: str  # of its module
    rate: int  # hertz
    chunk: int  # samples heard together at most: longer recordings are heard in chunks
    shortest: int  # samples of a chunk
    longest_text: int  # token ids of a text at most
    exact = False  # True: it computes in fp32 on every device
    one_core_each = False  # True: on a CPU several recordings are encoded at once, each on one core
    tagged = False  # True: numbers for a `BlendedHead` stand beside the tokens of sounds
    least_seconds = 0.0  # of a take: a note says so of a shorter one

    @classmethod
    def from_shapes(cls, shapes: Shapes) -> Self:
        """The encoder of a checkpoint with these shapes, without the checkpoint's weights."""
        raise NotImplementedError

    @property
    def dim(self) -> int:
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """Changes with any weight; '' if the checkpoint's name tells that."""
        return ""

    def plain(self) -> Self:
        """Without what stands beside tokens."""
        return self

    def count(self, samples: int) -> int:
        """How many tokens a chunk of that many samples gives."""
        raise NotImplementedError

    def encode_sound(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Mono chunks (B, n), of which the first `lengths` (B,) samples are sound: (B, count(n), D)."""
        raise NotImplementedError

    def encode_text(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Token ids (B, n), true in the mask where there is one: (B, n, D)."""
        raise NotImplementedError

    def load_tokenizer(self, folder: Path | None) -> Tokenize:
        """`folder` is the checkpoint's."""
        raise NotImplementedError

    def restore_buffers(self) -> None:
        """Compute what the checkpoint does not hold."""


def make_encoder(name: Any, shapes: Shapes) -> FrozenEncoder:
    """The encoder that a checkpoint states by its name."""
    modules = [found.name for found in iter_modules(__path__)]
    found = _find_encoder(name) if name in modules else None
    if found is None:
        known = ", ".join(module for module in modules if _find_encoder(module))
        raise InputError(f"config.yaml states encoder {name!r}, which is not known; known are {known}")
    return found.from_shapes(shapes)


def _find_encoder(module: str) -> type[FrozenEncoder] | None:
    return getattr(import_module(f"{__name__}.{module}"), "ENCODER", None)
