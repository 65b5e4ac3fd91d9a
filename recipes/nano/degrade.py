"""Recordings made worse in many ways, by batches and on a GPU: more kinds of harm than the studio's flaws.

    DEGRADATIONS[name](samples, strength, rng)    (B, n) at 32 kHz and (B,) from 0 to 1 -> (B, n)
    harmless(samples, rng)                        what should not move a score: silence in front, a good codec
    varied(samples, rng)                          another recording, as good: a little faster or slower, of another tone

The studio's flaws are few and each has a measure; these are many and have none, so that what learns from them does not
learn a list. None works as the flaws that the studio holds out by default do (`cmi.studio.pairs`): what is measured on
those stays a measure of flaws never heard.
"""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor
from torch.nn import functional

from cmi.reward.model.encoders.ear import RATE

FRAME = 1024  # samples of a spectral frame
Degradation = Callable[[Tensor, Tensor, Generator], Tensor]


def coloured_noise(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    slope = _uniform(x, 0, 2, rng)
    noise = _filtered(_normal(x.shape, x, rng), lambda f: (f + 20) ** (-slope / 2))
    return _mixed(x, noise, 35 - 38 * strength)


def crackle(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    density = 10 ** (-4.7 + 1.5 * strength[:, None])
    clicks = _normal(x.shape, x, rng) * (_random(x.shape, x, rng) < density)
    return x + clicks * _peak(x) * (0.3 + 0.7 * strength[:, None])


def folded(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    return torch.sin(x / _rms(x) * (0.35 + 2.5 * strength[:, None] ** 1.5))


def one_sided_clipping(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    ceiling = _rms(x) * 3 * 0.06 ** strength[:, None]
    y = torch.minimum(x, ceiling)
    return y - y.mean(dim=1, keepdim=True)


def few_bits(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    steps = 2 ** (8 - 6 * strength[:, None]) / _peak(x)
    return (x * steps).round() / steps


def coarse_sampling(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    held = (2 + 10 * strength[:, None]).floor().long()
    places = torch.arange(x.shape[1], device=x.device)[None]
    return x.gather(1, places // held * held)


def muffled(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    cutoff = 7000 * 0.05 ** strength[:, None]
    return _filtered(x, lambda f: 1 / (1 + (f / cutoff) ** 8))


def tinny(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    cutoff = 60 * 40 ** strength[:, None]
    return _filtered(x, lambda f: 1 - 1 / (1 + (f / cutoff) ** 6))


def telephone(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    centre = _uniform(x, 700, 1800, rng)
    octaves = 3.2 - 2.6 * strength[:, None]
    return _filtered(x, lambda f: 1 / (1 + ((f.clamp(min=1) / centre).log2().abs() / octaves) ** 8))


def resonances(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Peaks and notches at random frequencies."""
    gains = [_uniform(x, -1, 1, rng) * (4 + 26 * strength[:, None]) / 8.7 for _ in range(6)]
    centres = [2 ** _uniform(x, math.log2(120), math.log2(9000), rng) for _ in gains]

    def curve(f: Tensor) -> Tensor:
        octaves = f.clamp(min=1).log2()
        bells = [gain * (-(((octaves - c.log2()) / 0.2) ** 2)).exp() for gain, c in zip(gains, centres, strict=True)]
        return torch.stack(bells).sum(dim=0).exp()

    return _filtered(x, curve)


def ring_modulated(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    pitch = 2 ** _uniform(x, math.log2(25), math.log2(1500), rng)
    share = 0.1 + 0.9 * strength[:, None]
    return (1 - share) * x + share * x * torch.sin(_angle(x, pitch))


def flutter(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Pitch that trembles several times a second."""
    speed = _uniform(x, 4, 14, rng)
    deviation = 0.006 + 0.07 * strength[:, None] ** 1.5
    delay = RATE * deviation / (2 * math.pi * speed) * (1 + torch.sin(_angle(x, speed)))
    return _read(x, torch.arange(x.shape[1], device=x.device)[None] - delay.double())


def speed_jumps(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Stretches played too fast or too slow, and so too high or too low."""
    octaves = _steps(x, 0.3, 1.5, rng) * (0.3 + 3.7 * strength[:, None]) / 12
    return _read(x, (2**octaves).double().cumsum(dim=1) - 1)


def reversed_stretches(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    parts, rest = _cut(x, 0.15, 0.8, rng)
    chosen = _random(parts.shape[:2], x, rng) < 0.1 + 0.6 * strength[:, None]
    return _joined(torch.where(chosen[:, :, None], parts.flip(2), parts), rest)


def shuffled(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    parts, rest = _cut(x, 0.12, 1.2, rng)
    places = torch.arange(parts.shape[1], device=x.device).expand(parts.shape[:2])
    chosen = _random(parts.shape[:2], x, rng) < 0.1 + 0.7 * strength[:, None]
    others = (_random(parts.shape[:2], x, rng) * parts.shape[1]).long()
    moved = torch.where(chosen, others, places)
    return _joined(parts.gather(1, moved[:, :, None].expand(parts.shape)), rest)


def gaps(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    parts, rest = _cut(x, 0.02, 0.2, rng)
    chosen = _random(parts.shape[:2], x, rng) < 0.02 + 0.2 * strength[:, None]
    return _joined(parts * ~chosen[:, :, None], rest)


def level_jumps(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    decibels = _steps(x, 0.15, 1.2, rng) * (3 + 12 * strength[:, None])
    return x * 10 ** (decibels / 20)


def echoes(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    delay = (_uniform(x, 0.1, 0.6, rng) * RATE).long()
    places = torch.arange(x.shape[1], device=x.device)[None]
    y = x
    for count in range(1, 7):
        source = places - count * delay
        y = y + (0.25 + 0.6 * strength[:, None]) ** count * x.gather(1, source.clamp(min=0)) * (source >= 0)
    return y


def birdies(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Bands that come and go, as in a codec of too few bits."""

    def spoil(spectrum: Tensor) -> Tensor:
        bins, frames = spectrum.shape[1:]
        coarse = _random((len(x), 1, -(-bins // 12), -(-frames // 3)), x, rng)
        fine = functional.interpolate(coarse, (bins, frames))[:, 0]
        return spectrum * (fine > 0.08 + 0.6 * strength[:, None, None])

    return _respectrum(x, spoil)


def gated(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """What is soft is gone, as after too much noise reduction."""

    def spoil(spectrum: Tensor) -> Tensor:
        size = spectrum.abs()
        usual = size.mean(dim=2, keepdim=True)
        return spectrum * (size > usual * (0.4 + 2.2 * strength[:, None, None]))

    return _respectrum(x, spoil)


def other_music(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Another piece at the same time: the neighbour's in the batch, or another part of a lone one."""
    return _mixed(x, x.roll((1, x.shape[1] // 3), dims=(0, 1)), 16 - 16 * strength)


def frequency_shift(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """All partials moved by as many hertz, so that none is in tune with another."""
    spectrum = torch.fft.fft(x)
    half = x.shape[1] // 2
    spectrum[:, 1:half] *= 2
    spectrum[:, half + 1 :] = 0
    hertz = (4 + 80 * strength[:, None] ** 1.5) * _uniform(x, -1, 1, rng).sign()
    angle = _angle(x, hertz)
    return (torch.fft.ifft(spectrum) * torch.complex(angle.cos(), angle.sin())).real


DEGRADATIONS: dict[str, Degradation] = {
    deed.__name__: deed
    for deed in (
        *(coloured_noise, crackle, folded, one_sided_clipping, few_bits, coarse_sampling, muffled, tinny, telephone),
        *(resonances, ring_modulated, flutter, speed_jumps, reversed_stretches, shuffled, gaps, level_jumps, echoes),
        *(birdies, gated, other_music, frequency_shift),
    )
}


def degraded(x: Tensor, strength: Tensor, kinds: list[str], rng: Generator) -> Tensor:
    """Each row (B, n) made worse in its own way."""
    y = torch.empty_like(x)
    for kind in dict.fromkeys(kinds):
        rows = torch.tensor([i for i, own in enumerate(kinds) if own == kind], device=x.device)
        y[rows] = DEGRADATIONS[kind](x[rows], strength[rows], rng)
    return y


def harmless(x: Tensor, rng: Generator) -> Tensor:
    """Each row with silence in front, as a good codec leaves it, or as it was."""
    coded = _as_coded(x, rng)
    x = torch.where(_random((len(x), 1), x, rng) < 0.4, coded, x)
    late = (_uniform(x, 0, 0.15, rng) * (_random((len(x), 1), x, rng) < 0.35) * RATE).long()
    source = torch.arange(x.shape[1], device=x.device)[None] - late
    return x.gather(1, source.clamp(min=0)) * (source >= 0)


def varied(x: Tensor, rng: Generator) -> tuple[Tensor, Tensor]:
    """Most rows at a speed of their own, beginning again where they end too soon, and all with their tone changed
    smoothly by a few decibels; and how much faster each is, in octaves (B,)."""
    octaves = _uniform(x, -0.15, 0.15, rng) * (_random((len(x), 1), x, rng) < 0.7)
    places = torch.arange(x.shape[1], device=x.device, dtype=torch.float64)[None] * (2**octaves).double()
    tilt, bow = _uniform(x, -1.0, 1.0, rng), _uniform(x, -0.5, 0.5, rng)  # decibels for each octave from 1 kHz

    def gain(hertz: Tensor) -> Tensor:
        from_middle = (hertz.clamp(min=40) / 1000).log2()
        return 10 ** ((tilt * from_middle + bow * (from_middle.abs() - 2)) / 20)

    return _filtered(_read(x, places), gain), octaves[:, 0]


def _as_coded(x: Tensor, rng: Generator) -> Tensor:
    """Each bin a little wrong, and nothing above a cutoff: what mp3 and Vorbis do at ordinary rates."""
    error = _uniform(x, 0.02, 0.12, rng)[:, :, None]
    highest = _uniform(x, 11_000, 16_000, rng)[:, :, None]

    def spoil(spectrum: Tensor) -> Tensor:
        hertz = torch.linspace(0, RATE / 2, spectrum.shape[1], device=x.device)[None, :, None]
        return spectrum * (1 + error * _normal(spectrum.shape, x, rng)) * (hertz < highest)

    return _respectrum(x, spoil)


def _random(shape: tuple[int, ...], like: Tensor, rng: Generator) -> Tensor:
    return torch.rand(shape, generator=rng, device=like.device)


def _normal(shape: tuple[int, ...], like: Tensor, rng: Generator) -> Tensor:
    return torch.randn(shape, generator=rng, device=like.device)


def _uniform(x: Tensor, low: float, high: float, rng: Generator) -> Tensor:
    """One number for each row: (B, 1)."""
    return low + (high - low) * _random((len(x), 1), x, rng)


def _between(low: float, high: float, rng: Generator) -> float:
    return low + (high - low) * float(torch.rand((), generator=rng, device=rng.device))


def _angle(x: Tensor, hertz: Tensor) -> Tensor:
    """Of an oscillation at every sample, (B, n): in single precision it would be heard as noise after some seconds."""
    turns = torch.arange(x.shape[1], device=x.device, dtype=torch.float64)[None] / RATE * hertz.double()
    return (2 * math.pi * (turns % 1)).to(x.dtype)


def _rms(x: Tensor) -> Tensor:
    return x.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-6)


def _peak(x: Tensor) -> Tensor:
    return x.abs().amax(dim=1, keepdim=True).clamp(min=1e-6)


def _mixed(x: Tensor, added: Tensor, decibels: Tensor) -> Tensor:
    """With something added that is `decibels` (B,) softer."""
    return x + added * (_rms(x) / _rms(added) * 10 ** (-decibels[:, None] / 20))


def _filtered(x: Tensor, gain: Callable[[Tensor], Tensor]) -> Tensor:
    hertz = torch.fft.rfftfreq(x.shape[1], 1 / RATE, device=x.device)[None]
    return torch.fft.irfft(torch.fft.rfft(x) * gain(hertz), n=x.shape[1])


def _respectrum(x: Tensor, spoil: Callable[[Tensor], Tensor]) -> Tensor:
    """What is done to the frames of a spectrum, (B, F, T), heard."""
    window = torch.hann_window(FRAME, device=x.device)
    spectrum = torch.stft(x, FRAME, FRAME // 4, window=window, return_complex=True)
    return torch.istft(spoil(spectrum), FRAME, FRAME // 4, window=window, length=x.shape[1])


def _read(x: Tensor, places: Tensor) -> Tensor:
    """At places between samples, (B, n) in double precision; what lies beyond the end goes on at the beginning."""
    places = places % (x.shape[1] - 1)
    before = places.long()
    share = (places - before).to(x.dtype)
    return x.gather(1, before) * (1 - share) + x.gather(1, before + 1) * share


def _cut(x: Tensor, shortest: float, longest: float, rng: Generator) -> tuple[Tensor, Tensor]:
    """Stretches of one length between two, in seconds: (B, k, s), and what is left over at the end."""
    size = min(int(_between(shortest, longest, rng) * RATE), x.shape[1])
    count = x.shape[1] // size
    return x[:, : count * size].reshape(len(x), count, size), x[:, count * size :]


def _joined(parts: Tensor, rest: Tensor) -> Tensor:
    return torch.cat([parts.flatten(1), rest], dim=1)


def _steps(x: Tensor, shortest: float, longest: float, rng: Generator) -> Tensor:
    """Normal numbers that hold for a stretch each: (B, n)."""
    size = min(int(_between(shortest, longest, rng) * RATE), x.shape[1])
    held = _normal((len(x), -(-x.shape[1] // size)), x, rng)
    return held.repeat_interleave(size, dim=1)[:, : x.shape[1]]
