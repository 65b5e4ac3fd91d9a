"""What mel spectrograms are made with: filters on Slaney's scale, as librosa has them, and mirrored ends."""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers.audio_utils import mel_filter_bank


def made_once(make: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """A constant tensor, for gradients too: one that was made in inference mode could have no part in them."""

    @cache
    def made() -> Tensor:
        with torch.inference_mode(False):
            return make()

    return made


def mirror_ends(samples: Tensor, lengths: Tensor | None, half: int) -> Tensor:
    """`half` a window of each clip mirrored at its two ends, padded ones at their own: (B, n) -> (B, n + 2 half)."""
    if lengths is None:
        return functional.pad(samples, (half, half), mode="reflect")
    positions = torch.arange(-half, samples.shape[1] + half, device=samples.device).abs()[None]
    last = lengths[:, None] - 1
    mirrored = torch.where(positions > last, 2 * last - positions, positions)
    return samples.gather(1, mirrored.clamp(min=0))  # what is mirrored twice lies beyond the last frame


def slaney_filters(rate: int, window: int, bands: int, highest: float) -> Tensor:
    """Triangles of unit area on Slaney's scale from 0 to `highest` hertz: (window / 2 + 1, bands)."""
    filters = mel_filter_bank(window // 2 + 1, bands, 0.0, highest, rate, norm="slaney", mel_scale="slaney")
    return torch.tensor(filters.astype(np.float32))  # a copy, aligned as torch's own memory is
