"""The ear: a small network of our own for what taggers are taught to ignore: timing, tuning, treble, the recording.

    32 kHz audio -> 96 log-mels up to 12 kHz, 100 a second -> four convolutions, each halving time and bands
                 -> five dilated convolutions over time -> 320 numbers for every 0.16 s
                 -> mean and maximum of 0.96 s -> 128 numbers: a word
                 -> mean and maximum of all words -> what it was taught to tell: flaws, how good it is, what is played

Trained on the studio's music to tell what was done to it (`recipes/nano/train_ear.py`), then frozen. Above 12 kHz it is
deaf, so that codecs and sampling rates which leave that out change nothing.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.encoders.musicnn import windows
from cmi.reward.model.encoders.spectrograms import made_once, slaney_filters
from cmi.reward.model.head import mask_of

RATE, HOP, WINDOW, BANDS, HIGHEST = 32_000, 320, 1024, 96, 12_000.0
CHANNELS = (48, 96, 160, 224)
WIDTH = 320
WORD = 128
WORD_FRAMES = 6
ANSWERS = 113  # `recipes/nano/train_ear.py` names them
DILATIONS = (1, 2, 4, 8, 16)
FRAME = HOP * 2 ** len(CHANNELS)  # samples of a frame
QUIETEST = 1e-6  # of power, 80 dB below the loudest


class Ear(nn.Module):
    """Frames of sound at one level."""

    def __init__(self) -> None:
        super().__init__()
        widths = (1, *CHANNELS)
        self.hear = nn.ModuleList(
            [nn.Conv2d(a, b, 3, 2, 1, bias=False) for a, b in zip(widths, CHANNELS, strict=False)]
        )
        self.norms = nn.ModuleList([nn.BatchNorm2d(width) for width in CHANNELS])
        self.flatten = nn.Conv1d(CHANNELS[-1] * BANDS // 2 ** len(CHANNELS), WIDTH, 1)
        self.follow = nn.ModuleList([nn.Conv1d(WIDTH, WIDTH, 3, 1, d, d, bias=False) for d in DILATIONS])
        self.follow_norms = nn.ModuleList([nn.BatchNorm1d(WIDTH) for _ in DILATIONS])
        self.say = nn.Linear(2 * WIDTH, WORD)
        self.tell = nn.Linear(2 * WORD, ANSWERS)

    def frames(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, n) at 32 kHz -> (B, t, 320), a frame for every 5120 samples begun; 0 beyond the end of a clip."""
        return self(log_mel(samples, lengths), None if lengths is None else -(-lengths // HOP))

    def forward(self, mel: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Log-mels (B, T, 96), of which the first `lengths` (B,) are there -> (B, ceil(T / 16), 320)."""
        x = mel[:, None]  # (B, 1, T, 96)
        for convolve, norm in zip(self.hear, self.norms, strict=True):
            x = functional.relu(norm(convolve(x)))  # (B, C, T / 2, F / 2)
            lengths = None if lengths is None else (lengths + 1) // 2
            x = x * _there(lengths, x.shape[2], (1, -1, 1))
        x = self.flatten(x.transpose(2, 3).flatten(1, 2))  # (B, 320, t)
        for convolve, norm in zip(self.follow, self.follow_norms, strict=True):
            x = x * _there(lengths, x.shape[2], (1, -1))
            x = x + functional.relu(norm(convolve(x)))
        return (x * _there(lengths, x.shape[2], (1, -1))).transpose(1, 2)

    def words(self, frames: Tensor, count: int, lengths: Tensor | None = None) -> Tensor:
        """What is said of every six frames: (B, t, 320) -> (B, count, 128)."""
        mean, most, _ = windows(frames, WORD_FRAMES, count, lengths)
        return self.say(torch.cat([mean, most], dim=-1))

    def answers(self, words: Tensor, lengths: Tensor | None = None) -> Tensor:
        """What is told of the whole clip: (B, t, 128), of which the first `lengths` (B,) are there -> (B, 113)."""
        mean, most, _ = windows(words, words.shape[1], 1, lengths)
        return self.tell(torch.cat([mean, most], dim=-1)[:, 0])


def _there(lengths: Tensor | None, length: int, shape: tuple[int, ...]) -> Tensor | float:
    mask = mask_of(lengths, length)
    return 1.0 if mask is None else mask.view(len(mask), *shape).float()


@made_once
def _filters() -> Tensor:
    return slaney_filters(RATE, WINDOW, BANDS, HIGHEST) * 100  # of unit area in hertz: about 1 at its peak


def log_mel(samples: Tensor, lengths: Tensor | None = None) -> Tensor:
    """(B, n) -> (B, ceil(n / 320), 96): frames begin with every 320th sample; about -1 to 1, 0 beyond a clip's end."""
    window = torch.hann_window(WINDOW, device=samples.device)
    count = -(-samples.shape[1] // HOP)
    padded = functional.pad(samples.float(), (WINDOW // 2, WINDOW // 2 + HOP))
    spectrum = torch.stft(padded, WINDOW, HOP, window=window, center=False, return_complex=True)[:, :, :count]
    power = (spectrum.real.square() + spectrum.imag.square()).transpose(1, 2)  # (B, T, 513)
    mel = power @ _filters().to(samples.device) / WINDOW
    loudness = (mel.clamp(min=QUIETEST).log10() + 2) / 2  # from -2 to about 1
    mask = mask_of(None if lengths is None else -(-lengths // HOP), count)
    return loudness if mask is None else loudness * mask[:, :, None]
