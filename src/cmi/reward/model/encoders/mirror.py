"""Clips with mirrored ends, as centred spectrograms want them."""

import torch
from torch import Tensor
from torch.nn import functional


def mirror_ends(samples: Tensor, lengths: Tensor | None, half: int) -> Tensor:
    """`half` a window of each clip mirrored at its two ends, padded ones at their own: (B, n) -> (B, n + 2 half)."""
    if lengths is None:
        return functional.pad(samples, (half, half), mode="reflect")
    positions = torch.arange(-half, samples.shape[1] + half, device=samples.device).abs()[None]
    last = lengths[:, None] - 1
    mirrored = torch.where(positions > last, 2 * last - positions, positions)
    return samples.gather(1, mirrored.clamp(min=0))  # what is mirrored twice lies beyond the last frame
