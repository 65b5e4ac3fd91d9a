"""What nano 2's musicality is told from: numbers about a clip for a linear layer, and a network on log-mels.

summary     clip -> numbers: how musicnn's frames and the log-mels are spread and change over time, and what comes again
Critic      log-mels -> one number, and what was done to the clip: the ear's convolutions, and a memory of 5 s
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.encoders import musicnn
from cmi.reward.model.encoders.ear import WORD, WORD_FRAMES, Ear, log_mel
from cmi.reward.model.encoders.musicnn import Musicnn
from cmi.reward.model.encoders.nano import halve_rate

MEMORY_FRAMES = 8  # log-mels, 0.08 s, that are averaged before they are compared
LAGS = 64  # of these: 5.12 s
NOVELTY = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # quantiles
PARTS = ("musicnn", "mel", "ear", "memory")  # of a summary, in order


class Widths(NamedTuple):
    """How many numbers of a summary belong to each part."""

    musicnn: int
    mel: int
    ear: int
    memory: int


def spread(x: Tensor) -> Tensor:
    """Mean, deviation, maximum and mean change over time: (B, T, C) -> (B, 4 C)."""
    change = (x[:, 1:] - x[:, :-1]).abs().mean(dim=1)
    return torch.cat([x.mean(dim=1), x.std(dim=1), x.amax(dim=1), change], dim=1)


@torch.no_grad()
def summary(samples: Tensor, nets: tuple[Musicnn, Musicnn]) -> tuple[Tensor, Widths]:
    """Levelled clips (B, n) at 32 kHz -> (B, 7,000 or so)."""
    mel = musicnn.mel(halve_rate(samples))  # (B, T, 96)
    taggers = torch.cat([spread(net.frames(mel)) for net in nets], dim=1)
    bands = (mel[:, :, 1:] - mel[:, :, :-1]).abs().mean(dim=1)
    mels = torch.cat([spread(mel), bands], dim=1)
    ear = log_mel(samples)
    ears = torch.cat([spread(ear), (ear[:, :, 1:] - ear[:, :, :-1]).abs().mean(dim=1)], dim=1)
    memory = torch.cat([recurrence(ear), novelty(ear), pulse(ear)], dim=1)
    parts = (taggers, mels, ears, memory)
    return torch.cat(parts, dim=1), Widths(*(part.shape[1] for part in parts))


def similarity(mel: Tensor) -> Tensor:
    """How like each moment is to the one `lag` before it: (B, T, 96) -> (B, T / 8, 64), -1 to 1; 0 before the start."""
    frames = functional.avg_pool1d(mel.transpose(1, 2), MEMORY_FRAMES).transpose(1, 2)  # (B, t, 96)
    frames = functional.normalize(frames - frames.mean(dim=1, keepdim=True), dim=2)
    rows = [
        (frames[:, lag:] * frames[:, : -lag or None]).sum(dim=2) for lag in range(1, LAGS + 1) if lag < frames.shape[1]
    ]
    padded = [functional.pad(row, (frames.shape[1] - row.shape[1], 0)) for row in rows]
    while len(padded) < LAGS:
        padded.append(torch.zeros_like(padded[0]))
    return torch.stack(padded, dim=2)


def recurrence(mel: Tensor) -> Tensor:
    """For each lag how alike moments are: mean, deviation and the upper quartile; and how exact the best repeat is."""
    alike = similarity(mel)
    late = alike[:, LAGS // 2 :] if alike.shape[1] > LAGS else alike
    mean, deviation, upper = late.mean(dim=1), late.std(dim=1), late.quantile(0.75, dim=1)
    exact = (late > 0.97).float().mean(dim=1)
    best = torch.stack([x[:, 4:].amax(dim=1) for x in (mean, upper, exact)], dim=1)
    return torch.cat([mean, deviation, upper, best, best.square()], dim=1)


def novelty(mel: Tensor) -> Tensor:
    """Quantiles of how much changes from one moment to the next, up and down, at two speeds."""
    found = []
    marks = torch.tensor(NOVELTY, device=mel.device)
    for step in (1, 4):
        change = mel[:, step:] - mel[:, :-step]
        for side in (change.clamp(min=0), -change.clamp(max=0)):
            size = side.mean(dim=2)
            found.append(size.quantile(marks, dim=1).T / (size.mean(dim=1, keepdim=True) + 1e-3))
    return torch.cat(found, dim=1)


def pulse(mel: Tensor) -> Tensor:
    """How clear the pulse is in all of a clip, in parts of 3 s, and how far the parts agree."""
    onset = (mel[:, 1:] - mel[:, :-1]).clamp(min=0).mean(dim=2)
    whole = _periodicity(onset[:, None])[:, 0]
    size = min(300, onset.shape[1])
    parts = _periodicity(onset.unfold(1, size, size // 2))  # (B, p, lags)
    agreed = parts.mean(dim=1)
    clear = torch.stack([whole.amax(dim=1), agreed.amax(dim=1), parts.amax(dim=2).mean(dim=1)], dim=1)
    strayed = parts.std(dim=1).mean(dim=1, keepdim=True) if parts.shape[1] > 1 else torch.zeros_like(clear[:, :1])
    return torch.cat([clear, strayed, clear[:, 1:2] - clear[:, 2:3], whole[:, ::6], agreed[:, ::6]], dim=1)


def _periodicity(onset: Tensor) -> Tensor:
    """Autocorrelation at lags from 0.2 to 1.4 s: (B, p, n) -> (B, p, 120)."""
    centred = onset - onset.mean(dim=2, keepdim=True)
    size = 2 * centred.shape[2]
    power = torch.fft.rfft(centred, size).abs().square()
    found = torch.fft.irfft(power, size)
    usable = functional.pad(found, (0, max(0, 140 - size)))[:, :, 20:140]
    return usable / found[:, :, :1].clamp(min=1e-6)


class Critic(nn.Module):
    """The ear's convolutions and words, and beside them what comes again; `kinds` of flaws are told too."""

    def __init__(self, kinds: int) -> None:
        super().__init__()
        self.ear = Ear()
        self.memory = nn.Sequential(
            nn.Conv2d(1, 16, 5, 2, 2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
        )  # fmt: skip
        self.forget = nn.Dropout(0.2)
        self.judge = nn.Linear(2 * WORD + 128, 1 + kinds)

    def forward(self, mel: Tensor) -> Tensor:
        """(B, T, 96) -> (B, 1 + kinds): musicality first."""
        frames = self.ear(mel)
        words = self.ear.words(frames, -(-frames.shape[1] // WORD_FRAMES))  # (B, t, 128)
        again = self.memory(similarity(mel.float())[:, None])  # (B, 64, T', L')
        kept = torch.cat([again.mean(dim=(2, 3)), again.amax(dim=(2, 3))], dim=1)
        heard = torch.cat([words.mean(dim=1), words.amax(dim=1), kept.to(words.dtype)], dim=1)
        return self.judge(self.forget(heard)).float()


class Linear(nn.Module):
    """One weight for each number, standardised as clean clips are and cut off at 8 deviations."""

    def __init__(self, mean: Tensor, deviation: Tensor, used: Tensor) -> None:
        super().__init__()
        self.mean = nn.Parameter(mean, requires_grad=False)
        self.scale = nn.Parameter(used / deviation.clamp(min=1e-4), requires_grad=False)
        self.weight = nn.Parameter(torch.zeros_like(mean))

    def inputs(self, x: Tensor) -> Tensor:
        return ((x - self.mean) * self.scale).clamp(-8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.inputs(x) @ self.weight


def load_nets(variables: Mapping[str, Mapping[str, Tensor]]) -> tuple[Musicnn, Musicnn]:
    """From the variables of both checkpoints."""
    first, second = (Musicnn({k: v.numpy() for k, v in variables[name].items()}) for name in musicnn_names())
    return first, second


def musicnn_names() -> tuple[str, str]:
    return "MTT_musicnn", "MSD_musicnn"
