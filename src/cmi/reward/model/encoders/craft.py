"""How well a recording is made, and how far it is from broken: one number, from 8,612 others.

    musicnn's frames (both nets), its log-mels, the ear's log-mels    mean, deviation, maximum and mean change over time
    the ear's log-mels                                                what comes again within 5 s, and how exactly;
                                                                      what is new; how clear and steady the pulse is
    the ear's words                                                   mean, deviation, maximum and mean change over time
    the ear's answers                                                 as they are
    the sound itself                                                  `counted`: noise floor, steady lines, flat peaks,
                                                                      regular phases, tuning, combs, steep edges of
                                                                      the spectrum, decays, ringing

Taught to put real recordings above the same and others made worse in 46 ways, and to name which of the 46 it was
(`recipes/nano/train.py`). A chunk is heard in parts of about ten seconds, as those it was taught on, and the mean of
their numbers is its own.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.encoders.ear import RATE

MEMORY_FRAMES = 8  # log-mels, 0.08 s, that are averaged before they are compared
LAGS = 64  # of these: 5.12 s
NOVELTY = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)  # quantiles
LINE_FRAME = 16_384  # samples, half a second
COMBS = (22, 44, 88, 176)  # of 1/22,000 s: echoes of 1 to 16 ms
HALF_OCTAVES = [40 * 2 ** (i / 2) for i in range(17)]  # hertz, the edges of bands
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles
FALLS = (3, 6, 12)  # frames of 32 ms
TEETH = (4, 10, 20)  # multiples of an echo's delay
HIGHEST = 11_000.0  # hertz; above 12 kHz nothing is heard, so that rates and codecs change nothing
WIDTH, HIDDEN = 8612, 256
KINDS = 47  # of flaws that are named; the last is no music at all
FARTHEST = 8.0  # deviations
USUAL = 0.8  # about the mean size of what deviates by 1
PART = 10.0  # seconds
FEWEST = 50  # frames of a part


class Heard(NamedTuple):
    """What is heard in clips of one length."""

    frames: tuple[Tensor, Tensor]  # (B, T, 753), musicnn's
    mel: Tensor  # (B, T, 96), musicnn's log-mels
    ear: Tensor  # (B, t, 96), the ear's log-mels
    words: Tensor  # (B, w, 128), the ear's
    answers: Tensor  # (B, 113), the ear's
    sound: Tensor  # (B, n) at 32 kHz, levelled


class Craft(nn.Module):
    """A ranking, less a share of the log-odds that a recording has any flaw.

    The ranking is a linear layer on inputs and on how far each is from usual, and a layer of 256 beside it. The
    log-odds of each flaw against none are another linear layer, and how surely it is speech is a third, which takes
    nothing off music. Inputs are in deviations from clean recordings.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(WIDTH))
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.weight = nn.Parameter(torch.zeros(WIDTH))
        self.bend = nn.Parameter(torch.zeros(WIDTH))
        self.hidden = nn.Linear(WIDTH, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)
        self.tell = nn.Linear(WIDTH, KINDS)
        self.share = nn.Parameter(torch.zeros(1))
        self.speech = nn.Linear(WIDTH, 1)
        for layer in (self.out, self.speech):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, heard: Heard) -> Tensor:
        """(B,)."""
        unusual = ((summary(heard) - self.mean) * self.scale).clamp(-FARTHEST, FARTHEST)
        curved: Tensor = self.out(functional.gelu(self.hidden(unusual)))
        ranked = unusual @ self.weight + (unusual.abs() - USUAL) @ self.bend + curved[:, 0]
        flawed = self.share * self.tell(unusual).logsumexp(dim=1)
        return ranked - flawed - functional.relu(self.speech(unusual)[:, 0])


def summary(heard: Heard) -> Tensor:
    """(B, 8612)."""
    ear = functional.pad(heard.ear, (0, 0, 0, max(0, FEWEST - heard.ear.shape[1])))
    words = heard.words if heard.words.shape[1] > 1 else heard.words.expand(-1, 2, -1)
    parts = [
        *(spread(net) for net in heard.frames),
        *(spread(heard.mel), bands(heard.mel)),
        *(spread(ear), bands(ear), recurrence(ear), novelty(ear), pulse(ear)),
        *(spread(words), heard.answers, counted(heard.sound, ear)),
    ]
    return torch.cat(parts, dim=1)


def spread(x: Tensor) -> Tensor:
    """Mean, deviation, maximum and mean change over time: (B, T, C) -> (B, 4 C)."""
    change = (x[:, 1:] - x[:, :-1]).abs().mean(dim=1)
    return torch.cat([x.mean(dim=1), deviation(x), x.amax(dim=1), change], dim=1)


def deviation(x: Tensor) -> Tensor:
    """As `Tensor.std` over time, which takes four times as long on a CPU: (B, T, C) -> (B, C)."""
    wide = x.double()  # as there; of what is constant the deviation must be 0
    return ((wide - wide.mean(dim=1, keepdim=True)).square().sum(dim=1) / (x.shape[1] - 1)).sqrt().to(x.dtype)


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
    mean, deviation, upper = late.mean(dim=1), late.std(dim=1), quantile(late, 0.75, 1)
    exact = (late > 0.97).float().mean(dim=1)
    best = torch.stack([x[:, 4:].amax(dim=1) for x in (mean, upper, exact)], dim=1)
    return torch.cat([mean, deviation, upper, best, best.square()], dim=1)


def novelty(mel: Tensor) -> Tensor:
    """Quantiles of how much changes from one moment to the next, up and down, at two speeds."""
    found = []
    for step in (1, 4):
        change = mel[:, step:] - mel[:, :-step]
        for side in (change.clamp(min=0), -change.clamp(max=0)):
            size = side.mean(dim=2)
            found.append(quantile(size, NOVELTY, 1).T / (size.mean(dim=1, keepdim=True) + 1e-3))
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


# What can be counted need not be learned: numbers that say the same of every piece.


def counted(sound: Tensor, mel: Tensor) -> Tensor:
    """Of clips (B, n) at 32 kHz and their log-mels."""
    sound = functional.pad(sound, (0, max(0, 2 * LINE_FRAME - sound.shape[1])))
    slow, middle, fast = long_spectrum(sound), spectra(sound, 4096), spectra(sound, 1024)
    curves = outlines(slow)
    known = floor(mel), lines(curves), tuning(slow), peaks(sound), phases(fast, 1024), phases(middle, 4096)
    return torch.cat([*known, edges(middle), ringing(curves)], dim=1)


def floor(mel: Tensor) -> Tensor:
    """How far each band falls, and how far it rises, from its mean: (B, T, 96) -> (B, 288)."""
    found = quantile(mel, (0.03, 0.2, 0.97), 1) - mel.mean(dim=1)
    return found.transpose(0, 1).flatten(1)


def long_spectrum(sound: Tensor) -> Tensor:
    """The logarithm of spectra of half a second: (B, bins, frames)."""
    return _power(spectra(sound, LINE_FRAME)).clamp(min=1e-8).log() / 2


class SpectralOutline(NamedTuple):
    """A curve over frequency: (B, bins) each."""

    around: Tensor  # the median of 31 bins
    above: Tensor  # how far it is above that


def outlines(spectrum: Tensor) -> list[SpectralOutline]:
    """Of what sounds nearly always, and of the mean over time."""
    found = []
    for curve in (quantile(spectrum, 0.15, 2), spectrum.mean(dim=2)):
        near = functional.pad(curve[:, None], (15, 15), mode="replicate")[:, 0].unfold(1, 31, 1)
        around = ordered(near, 2)[:, :, 15]
        found.append(SpectralOutline(around, curve - around))
    return found


def lines(curves: Sequence[SpectralOutline]) -> Tensor:
    """What sounds all the time at one frequency, as hum and ringing do; combs."""
    found = []
    for around, above in curves:
        for first, last in _octaves(LINE_FRAME, 20.0, 9):
            highest = above[:, first:last].topk(3, dim=1).values
            found += [highest[:, 0], highest.mean(dim=1), above[:, first:last].std(dim=1)]
        found.append(_hum(above))
        cepstrum = torch.fft.irfft(around - around.mean(dim=1, keepdim=True), dim=1)
        found += [cepstrum[:, first : 2 * first].abs().amax(dim=1) for first in COMBS]
    return torch.stack(found, dim=1)


def _hum(above: Tensor) -> Tensor:
    """The best comb of eight harmonics of 45 to 65 Hz."""
    step = RATE / LINE_FRAME
    bases = torch.arange(45.0, 65.0, step / 4, device=above.device)
    places = (bases[:, None] * torch.arange(1, 9, device=above.device) / step).round().long()
    return above[:, places].clamp(min=0).mean(dim=2).amax(dim=1)


def tuning(spectrum: Tensor) -> Tensor:
    """How well the peaks of four octaves agree on semitones, of all the clip and moment by moment: (B, 14)."""
    octaves = _octaves(LINE_FRAME, 200.0, 4)
    begin, end = octaves[0][0], octaves[-1][1]
    left, middle, right = (spectrum[:, begin + shift : end + shift] for shift in (-1, 0, 1))
    bend = (left - 2 * middle + right).clamp(max=-1e-3)
    place = torch.arange(begin, end, device=spectrum.device)[:, None] + 0.5 * (left - right) / bend
    around = functional.avg_pool1d(spectrum[:, begin - 12 : end + 12].transpose(1, 2), 25, 1).transpose(1, 2)
    weight = ((middle > left) & (middle > right)) * (middle - around - 1.0).clamp(min=0)
    angle = 24 * math.pi * (place.clamp(min=1) * (RATE / LINE_FRAME) / 440).log2()
    turned = torch.polar(weight, angle)
    sums, sizes = [], []
    for first, last in octaves:
        sums.append(turned[:, first - begin : last - begin].sum(dim=1))
        sizes.append(weight[:, first - begin : last - begin].sum(dim=1) + 1e-3)
    each, size = torch.stack(sums, dim=1), torch.stack(sizes, dim=1)  # (B, 4, frames)
    whole = each.sum(dim=2) / size.sum(dim=2)
    everything = each.sum(dim=(1, 2)) / size.sum(dim=(1, 2))
    agreed = (whole * everything[:, None].conj()).real / everything.abs().clamp(min=1e-3)[:, None]
    momentary = (each.abs() / size).mean(dim=2)
    together = (each.sum(dim=1).abs() / size.sum(dim=1)).mean(dim=1)
    return torch.cat([whole.abs(), agreed, momentary, everything.abs()[:, None], together[:, None]], dim=1)


def peaks(sound: Tensor) -> Tensor:
    """The shape of the waveform: flat peaks, steps, and how far it reaches, of all and of short windows: (B, 20)."""
    size = sound.abs()
    level = sound.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-5)
    marks = torch.tensor((0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0), device=sound.device)
    reached = smallest(size, (marks * (sound.shape[1] - 1)).long())
    reach = (reached / level).clamp(min=1e-3).log()
    top = reached[:, -1:].clamp(min=1e-5)
    near = [((size > share * top).float().mean(dim=1) + 1e-6).log() for share in (0.9, 0.97, 0.99)]
    change = (sound[:, 1:] - sound[:, :-1]).abs()
    high = size[:, 1:] > 0.5 * top
    flat = ((change < 2e-3 * top) & high).float().mean(dim=1) / (high.float().mean(dim=1) + 1e-6)
    still = (change < 1e-3 * level).float().mean(dim=1)
    uneven = ((sound.amax(dim=1) + 1e-5) / (-sound.amin(dim=1) + 1e-5)).log().abs()
    peaked = (sound / level).square().square().mean(dim=1).clamp(min=1).log()
    windows = sound.unfold(1, 1600, 1600)
    crest = (windows.abs().amax(dim=2) / windows.square().mean(dim=2).sqrt().clamp(min=1e-5)).clamp(min=1).log()
    loud = (windows.square().mean(dim=2).sqrt() + 1e-3).log()
    spans = [quantile(x, (0.1, 0.5, 0.9), 1).T for x in (crest, loud)]
    rest = [*near, flat, still, uneven, peaked]
    return torch.cat([reach, torch.stack(rest, dim=1), *spans], dim=1)


def phases(spectrum: Tensor, size: int) -> Tensor:
    """How regularly phases go on from moment to moment, and from bin to bin, in twelve bands: (B, 24)."""
    weight = _power(spectrum).sqrt().clamp(min=1e-7)
    real, imaginary = spectrum.real / weight, spectrum.imag / weight  # half the time of complex numbers
    found = []
    for dim in (2, 1):
        count = weight.shape[dim] - 2
        own = weight.narrow(dim, 1, count)
        (x, y), (before_x, before_y) = (
            [part.narrow(dim, begin, count + 1) for part in (real, imaginary)] for begin in (1, 0)
        )
        turned = x * before_x + y * before_y, y * before_x - x * before_y  # by the phase's own step
        regular = own * sum(part.narrow(dim, 1, count) * part.narrow(dim, 0, count) for part in turned)
        for first, last in _bands(size):
            found.append(regular[:, first:last].sum(dim=(1, 2)) / own[:, first:last].sum(dim=(1, 2)))
    return torch.stack(found, dim=1)


def edges(spectrum: Tensor) -> Tensor:
    """How steep and how bent a spectrum of 4096 samples is; how fast each half octave falls and rises: (B, 284)."""
    power = _power(spectrum)
    places = [max(i + 3, round(hertz * 4096 / RATE)) for i, hertz in enumerate(HALF_OCTAVES)]
    bands = torch.stack([power[:, first:last].mean(dim=1) for first, last in pairwise(places)], dim=1)
    bands = bands.clamp(min=1e-9).log()  # (B, 16, frames)
    slope = bands[:, 2:] - bands[:, :-2]
    steep = quantile(slope, LEVELS, 2).transpose(0, 1)  # (B, 5, 14)
    bent = quantile(slope[:, 2:] - slope[:, :-2], LEVELS, 2).transpose(0, 1)
    found = [steep.flatten(1), bent.flatten(1), steep[:, :, 9:].amin(dim=2), steep[:, :, :5].amax(dim=2)]
    for lag in FALLS:
        change = bands[:, :, lag:] - bands[:, :, :-lag]
        fastest, fast, risen = quantile(change, (0.01, 0.1, 0.97), 2)
        fallen = quantile(-change, 0.97, 2)
        found += [fastest, fast, (risen.clamp(min=0.05) / fallen.clamp(min=0.05)).log()]
    return torch.cat(found, dim=1)


def ringing(curves: Sequence[SpectralOutline]) -> Tensor:
    """How much of what stands still repeats along frequency, as a tube's echoes make it: (B, 20)."""
    step, device = RATE / LINE_FRAME, curves[0].above.device
    delays = torch.arange(26.0, 120.0, 0.1, device=device)  # of 1/22,000 s: 1.2 to 5.5 ms
    found = []
    for _, above in curves:
        level = above.clamp(-1, 2)
        cepstrum = torch.fft.irfft(level - level.mean(dim=1, keepdim=True), dim=1)
        usual = cepstrum[:, 26:2400].std(dim=1).clamp(min=1e-6)
        for count in TEETH:
            places = (delays[:, None] * torch.arange(1, count + 1, device=device)).round().long()
            most = cepstrum[:, places].mean(dim=2).amax(dim=1)
            found += [1000 * most, most / usual]
        wide = functional.max_pool1d(above[:, None], 3, 1, 1)[:, 0].clamp(0, 1.5)
        for lowest, highest in ((83.0, 200.0), (200.0, 700.0)):
            bases = torch.arange(lowest, highest, 0.15, device=device)[:, None] / step
            for count in (8, 15):
                teeth = torch.arange(1, count + 1, device=device)
                at, between = (wide[:, (bases * own).round().long()].mean(dim=2) for own in (teeth, teeth - 0.5))
                found.append((at - between).amax(dim=1))
    return torch.stack(found, dim=1)


def spectra(sound: Tensor, size: int) -> Tensor:
    """Up to HIGHEST: (B, bins, frames), a quarter of a frame apart, or a half of long ones."""
    hop = size // 2 if size == LINE_FRAME else size // 4
    window = torch.hann_window(size, device=sound.device)
    found = torch.stft(sound, size, hop, window=window, center=False, return_complex=True)
    return found[:, : round(HIGHEST * size / RATE) + 1]


def _power(spectrum: Tensor) -> Tensor:
    return spectrum.real.square() + spectrum.imag.square()


def ordered(x: Tensor, dim: int) -> Tensor:
    """Sorted along a dimension; on a CPU by numpy, which takes between a third and a fifteenth of torch's time."""
    if x.is_cuda or x.requires_grad:
        return x.sort(dim=dim).values
    return torch.from_numpy(np.sort(x.movedim(dim, -1).numpy())).movedim(-1, dim)


def smallest(x: Tensor, places: Tensor) -> Tensor:
    """What sorting would bring to these places: (B, n), (k,) -> (B, k)."""
    if x.is_cuda or x.requires_grad:
        return x.sort(dim=1).values[:, places]
    return torch.from_numpy(np.partition(x.numpy(), places.unique().numpy()))[:, places]


def quantile(x: Tensor, shares: float | Sequence[float], dim: int) -> Tensor:
    """As `Tensor.quantile`, to the last bit."""
    if x.is_cuda or x.requires_grad:
        return x.quantile(torch.tensor(shares, device=x.device), dim=dim)
    ascending = ordered(x, dim)
    places = torch.tensor(shares, dtype=x.dtype) * (x.shape[dim] - 1)
    below, above = (
        ascending.index_select(dim, at.long().reshape(-1)).movedim(dim, 0) for at in (places.floor(), places.ceil())
    )
    weight = (places - places.floor()).reshape(-1, *[1] * (x.ndim - 1))
    found = below.lerp(above, weight)
    return found if places.ndim else found[0]


def _octaves(size: int, lowest: float, count: int) -> list[tuple[int, int]]:
    edges = [round(lowest * 2**i * size / RATE) for i in range(count + 1)]
    return list(pairwise(edges))


def _bands(size: int) -> list[tuple[int, int]]:
    """Twelve bands of bins up to 11 kHz, none of them empty."""
    edges = [max(i + 1, round(size / RATE * 90 * (HIGHEST / 90) ** (i / 12))) for i in range(13)]
    return list(pairwise(edges))
