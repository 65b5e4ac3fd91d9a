"""What mel spectrograms are made with: filters on Slaney's scale, as librosa has them, and mirrored ends."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
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


def slaney_filters(rate: int, window: int, bands: int, highest: float) -> Tensor:
    """Triangles of unit area on Slaney's scale from 0 to `highest` hertz: (window / 2 + 1, bands)."""
    bins = np.linspace(0, rate / 2, window // 2 + 1)
    corners = _hertz(np.linspace(0, _slaney(highest), bands + 2))
    width = np.diff(corners)
    distance = corners[None] - bins[:, None]  # (bins, bands + 2)
    triangles = np.minimum(-distance[:, :-2] / width[:-1], distance[:, 2:] / width[1:]).clip(min=0)
    areas = (corners[2:] - corners[:-2]) / 2
    return torch.tensor((triangles / areas).astype(np.float32))  # a copy, aligned as torch's own memory is


# Slaney's scale: 3 mels to 200 Hz up to 1 kHz, then 27 mels for each factor of 6.4.


def _slaney(hertz: float) -> float:
    return hertz * 3 / 200 if hertz < 1000 else 15 + 27 * math.log(hertz / 1000, 6.4)


def _hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mels < 15, mels * 200 / 3, 1000 * 6.4 ** ((mels - 15) / 27))
