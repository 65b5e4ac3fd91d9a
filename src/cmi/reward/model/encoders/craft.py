"""How well a recording is made, and how far it is from broken: one number, from one weight for each of 7,874 others.

    musicnn's frames (both nets), its log-mels, the ear's log-mels    mean, deviation, maximum and mean change over time
    the ear's log-mels                                                what comes again within 5 s, and how exactly;
                                                                      what is new; how clear and steady the pulse is
    the ear's words                                                   mean, deviation, maximum and mean change over time
    the ear's answers                                                 as they are

Taught to put real recordings above the same and others made worse in 46 ways (`recipes/nano/train.py`). A chunk is
heard in parts of about ten seconds, as those it was taught on, and the mean of their numbers is its own.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

MEMORY_FRAMES = 8  # log-mels, 0.08 s, that are averaged before they are compared
LAGS = 64  # of these: 5.12 s
NOVELTY = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # quantiles
WIDTH = 7874
FARTHEST = 8.0  # deviations
PART = 10.0  # seconds
FEWEST = 50  # frames of a part


class Heard(NamedTuple):
    """What is heard in clips of one length."""

    frames: tuple[Tensor, Tensor]  # (B, T, 753), musicnn's
    mel: Tensor  # (B, T, 96), musicnn's log-mels
    ear: Tensor  # (B, t, 96), the ear's log-mels
    words: Tensor  # (B, w, 128), the ear's
    answers: Tensor  # (B, 113), the ear's


class Craft(nn.Module):
    """A linear layer. Its inputs are in deviations from clean recordings."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(WIDTH))
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.weight = nn.Parameter(torch.zeros(WIDTH))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, heard: Heard) -> Tensor:
        """(B,)."""
        unusual = ((summary(heard) - self.mean) * self.scale).clamp(-FARTHEST, FARTHEST)
        return unusual @ self.weight + self.bias


def summary(heard: Heard) -> Tensor:
    """(B, 7874)."""
    ear = functional.pad(heard.ear, (0, 0, 0, max(0, FEWEST - heard.ear.shape[1])))
    words = heard.words if heard.words.shape[1] > 1 else heard.words.expand(-1, 2, -1)
    parts = [
        *(spread(net) for net in heard.frames),
        *(spread(heard.mel), bands(heard.mel)),
        *(spread(ear), bands(ear), recurrence(ear), novelty(ear), pulse(ear)),
        *(spread(words), heard.answers),
    ]
    return torch.cat(parts, dim=1)


def spread(x: Tensor) -> Tensor:
    """Mean, deviation, maximum and mean change over time: (B, T, C) -> (B, 4 C)."""
    change = (x[:, 1:] - x[:, :-1]).abs().mean(dim=1)
    return torch.cat([x.mean(dim=1), x.std(dim=1), x.amax(dim=1), change], dim=1)


def bands(mel: Tensor) -> Tensor:
    """How much each band differs from the next: (B, T, 96) -> (B, 95)."""
    return (mel[:, :, 1:] - mel[:, :, :-1]).abs().mean(dim=1)


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
