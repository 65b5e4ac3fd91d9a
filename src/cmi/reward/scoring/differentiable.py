"""Differentiable scores of waveforms, for guidance and for optimising latents or controls of a generator."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from cmi._util.errors import InputError
from cmi.reward.engine.windows import find_window
from cmi.take import Prompt

if TYPE_CHECKING:
    from cmi.reward.model.reward_model import RewardModel

LONGEST = find_window("first120").limit  # seconds, as in `RewardModel.score`


class TensorScore(NamedTuple):
    """Scores of a batch, as tensors with gradients."""

    musicality: Tensor  # (B,)
    alignment: Tensor  # (B,)


def make_differentiable(model: "RewardModel", prompt: Prompt) -> Callable[[Tensor], TensorScore]:
    """Return a function of waveforms (B, n) at `model.encoder.rate` that gives the scores of `RewardModel.score`.

    The prompt is encoded once. Weights get no gradients. Each waveform is encoded on its own, so that its score and
    gradient do not depend on the others.
    """
    with torch.no_grad():
        fused = model.scorer(cache=None, workers=0).fuse_prompt(prompt)  # (P, D)
    model.requires_grad_(False)
    longest = LONGEST * model.encoder.rate

    def score(waveforms: Tensor) -> TensorScore:
        if waveforms.ndim != 2:
            raise InputError(f"a tensor of shape {tuple(waveforms.shape)}, expected (B, n): mono waveforms")
        rows = [
            model.head.judge(fused[None], model.head.thin(model.hear(samples[:longest])), None, None)
            for samples in waveforms
        ]
        scores = torch.cat(rows)  # (B, 2): alignment, musicality
        return TensorScore(musicality=scores[:, 1], alignment=scores[:, 0])

    return score
