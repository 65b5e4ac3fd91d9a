"""How well a piece is composed: one number, from which notes sound when. A small network, trained without ratings.

    16 kHz audio -> 84 semitones from 55 Hz, 20 frames a second, what stands out from its neighbourhood
                 -> three convolutions over time and pitch -> mean and maximum over all pitches
                 -> how like each moment is to the 64 before it, 5 times a second
                 -> 24 wider bands, what rises, 40 times a second
    all of these -> 5 tokens a second -> two layers of attention -> mean and maximum over time -> one number

Trained to put compositions, rendered with random instruments, above the same and others with notes changed, moved and
put in another order, or written by a chain or a network, and real songs above the same and others in pieces or in two
keys (`recipes/nano/train_composition.py`). Whatever is transposed gives nearly the same number, and level and tone
colour change little.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.encoders.spectrograms import made_once

RATE, FRAME, HOP = 16_000, 4096, 800
LOWEST, SEMITONES = 33, 84  # MIDI numbers: A1, 55 Hz, and up to 6.6 kHz
AROUND = 12  # semitones on both sides that are the neighbourhood
QUIET = 1e-5  # of the loudest power: 50 dB
SHORT_FRAME, SHORT_HOP, BANDS = 1024, 400, 24
POOLED = 4  # frames of a token
LAGS = 64  # tokens, 12.8 s
WIDTH, HEADS, LAYERS = 96, 4, 2
CHANNELS = (24, 40, 64)
MOST = 8.0  # of what it tells of one chunk
USUAL, FARTHEST = 6.1, 1.0  # in good pieces, and the most that counts below that (`docs/explanation/nano-2-log.md`)


class Composition(nn.Module):
    """Sound at 16 kHz in; out comes how much worse than usual it is composed."""

    def __init__(self, dropout: float = 0.0) -> None:
        """`dropout` is for training alone."""
        super().__init__()
        first, second, third = CHANNELS
        self.intervals = nn.Conv2d(1, first, (3, 2 * AROUND + 1), padding=(1, AROUND))
        self.chords = nn.Conv2d(first, second, (3, 5), padding=(1, 2))
        self.lines = nn.Conv2d(second, third, (3, 5), padding=(1, 2))
        self.norms = nn.ModuleList([nn.GroupNorm(4, width) for width in CHANNELS])
        self.join = nn.Linear(2 * third + 2 * POOLED * BANDS + LAGS, WIDTH)
        self.near = nn.Conv1d(WIDTH, WIDTH, 9, padding=4, groups=WIDTH)
        self.layers = nn.ModuleList([AttentionLayer() for _ in range(LAYERS)])
        self.say = nn.Sequential(nn.LayerNorm(2 * WIDTH), nn.Linear(2 * WIDTH, 64), nn.GELU(), nn.Linear(64, 1))
        self.dropped = nn.Dropout(dropout)

    def forward(self, sound: Tensor) -> Tensor:
        """(B, n) -> (B,), 0 to FARTHEST."""
        return (USUAL - self.judge(*hear(sound))).clamp(0, FARTHEST)

    def judge(self, pitches: Tensor, rises: Tensor) -> Tensor:
        """Pitches (B, T, 84) and rises (B, T, 48), T a multiple of POOLED -> (B,), log-odds."""
        x = pitches[:, None]  # (B, 1, T, 84)
        x = functional.gelu(functional.max_pool2d(self.norms[0](self.intervals(x)), (2, 1)))  # (B, 24, T / 2, 84)
        x = functional.gelu(functional.max_pool2d(self.norms[1](self.chords(x)), (2, 3)))  # (B, 40, T / 4, 28)
        x = functional.gelu(self.norms[2](self.lines(x)))  # (B, 64, T / 4, 28)
        x = torch.cat([x.mean(dim=3), x.amax(dim=3)], dim=1).transpose(1, 2)  # (B, T / 4, 128)
        begins = rises.reshape(len(x), x.shape[1], -1)  # (B, T / 4, 192)
        x = self.dropped(self.join(torch.cat([x, begins, recurrence(pitches)], dim=2)))  # (B, T / 4, 96)
        x = x + self.near(x.transpose(1, 2)).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        told = self.say(self.dropped(torch.cat([x.mean(dim=1), x.amax(dim=1)], dim=1)))[:, 0]
        return MOST * torch.tanh(told / MOST)


class AttentionLayer(nn.Module):
    """Attention of all moments to all, and a layer for each."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.ask = nn.Linear(WIDTH, 3 * WIDTH)
        self.answer = nn.Linear(WIDTH, WIDTH)
        self.think = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """(B, t, 96) -> the same."""
        query, key, value = (
            part.view(*part.shape[:2], HEADS, -1).transpose(1, 2) for part in self.ask(self.before(x)).chunk(3, dim=2)
        )  # (B, 4, t, 24)
        heard = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.answer(heard.transpose(1, 2).flatten(2))
        return x + self.think(self.between(x))


def recurrence(pitches: Tensor) -> Tensor:
    """How like each token is to those before it: (B, T, 84) -> (B, T / 4, 64), -1 to 1; 0 before the start."""
    tokens = functional.avg_pool1d(pitches.transpose(1, 2), POOLED).transpose(1, 2)
    tokens = functional.normalize(tokens - tokens.mean(dim=1, keepdim=True), dim=2)
    alike = tokens @ tokens.transpose(1, 2)  # (B, t, t)
    places = torch.arange(tokens.shape[1], device=pitches.device)[:, None]
    before = places - torch.arange(1, LAGS + 1, device=pitches.device)  # (t, 64)
    return alike.gather(2, before.clamp(min=0).expand(len(alike), -1, -1)) * (before >= 0)


def hear(sound: Tensor) -> tuple[Tensor, Tensor]:
    """Sound (B, n) at 16 kHz -> pitches (B, T, 84) and rises (B, T, 48), T a multiple of POOLED."""
    count = max(1, round(sound.shape[1] / HOP / POOLED)) * POOLED
    return pitches(sound, count), rises(sound, count)


def pitches(sound: Tensor, count: int) -> Tensor:
    """(B, n) -> (B, count, 84): how far each semitone stands out, about 0 to 3."""
    power = _power(sound, FRAME, HOP, count) @ _semitones().to(sound)  # (B, T, 84)
    loudest = power.flatten(1).amax(dim=1).clamp(min=1e-9)[:, None, None]
    loud = (power / loudest).clamp(min=QUIET).log10() + 5  # 0 to 5
    around = functional.avg_pool1d(loud, 2 * AROUND + 1, 1, AROUND, count_include_pad=False)
    return (loud - around).clamp(min=0)


def rises(sound: Tensor, count: int) -> Tensor:
    """(B, n) -> (B, count, 48): how much each of 24 bands rises, in both halves of a frame."""
    power = _power(sound, SHORT_FRAME, SHORT_HOP, 2 * count) @ _bands().to(sound)  # (B, 2 T, 24)
    loudest = power.flatten(1).amax(dim=1).clamp(min=1e-9)[:, None, None]
    loud = (power / loudest).clamp(min=QUIET).log10()
    rise = functional.pad((loud[:, 1:] - loud[:, :-1]).clamp(min=0), (0, 0, 1, 0))
    return rise.reshape(len(rise), count, 2 * BANDS)


def _power(sound: Tensor, frame: int, hop: int, count: int) -> Tensor:
    """(B, n) -> (B, count, frame / 2 + 1)."""
    window = torch.hann_window(frame, dtype=sound.dtype, device=sound.device)
    needed = (count - 1) * hop + frame
    padded = functional.pad(sound, (frame // 2, max(0, needed - frame // 2 - sound.shape[1])))[:, :needed]
    spectrum = torch.stft(padded, frame, hop, window=window, center=False, return_complex=True)
    return (spectrum.real.square() + spectrum.imag.square()).transpose(1, 2)


@made_once
def _semitones() -> Tensor:
    """(2049, 84): triangles a semitone wide on both sides, or two bins where that is wider."""
    return _triangles(FRAME, [440 * 2 ** ((LOWEST + i - 69) / 12) for i in range(SEMITONES)], 2 ** (1 / 12))


@made_once
def _bands() -> Tensor:
    """(513, 24): from 60 Hz to 7 kHz."""
    ratio = (7000 / 60) ** (1 / (BANDS - 1))
    return _triangles(SHORT_FRAME, [60 * ratio**i for i in range(BANDS)], ratio)


def _triangles(frame: int, centres: list[float], ratio: float) -> Tensor:
    bins, width = torch.arange(frame // 2 + 1, dtype=torch.float64) * RATE / frame, 2 * RATE / frame
    columns = []
    for centre in centres:
        half = max(centre * (ratio - 1), width)
        column = (1 - (bins - centre).abs() / half).clamp(min=0)
        columns.append(column / column.sum().clamp(min=1e-9))
    return torch.stack(columns, dim=1).float()
