"""Frozen encoders: sound and words in, tokens of one width out. The reward head runs on any of them."""

from typing import Protocol

from torch import Tensor


class Encoder(Protocol):
    """Two towers in one space. Everything is batched; what is shorter than its neighbours comes with its length.

    A shorter item gives the tokens that it gives alone: padding does not leak, and its tokens mean nothing.
    """

    rate: int  # hertz
    chunk: int  # samples heard together at most: longer recordings are heard in chunks
    shortest: int  # samples of a chunk
    longest_text: int  # token ids of a text at most

    @property
    def dim(self) -> int: ...

    def count(self, samples: int) -> int:
        """How many tokens a chunk of that many samples gives."""

    def encode_sound(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Mono chunks (B, n), of which the first `lengths` (B,) samples are sound: (B, count(n), D)."""

    def encode_text(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Token ids (B, n), true in the mask where there is one: (B, n, D)."""
