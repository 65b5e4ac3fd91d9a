"""More ways to make a recording worse, by batches and on a GPU: those that generated music has, and those of memory.

They are used as `degrade.DEGRADATIONS` are: (B, n) at 32 kHz and a strength (B,) from 0 to 1.

    FLAWS       name -> deed: these and the 22 that nano was taught before
    FAMILIES    family -> names: what is held out of a training is a whole family
    unhurt      what should not move a score
    not_music   tones, chords, hum, noise, beeps, clicks: what should score below all music
"""

import math
from collections.abc import Callable, Sequence

import torch
from degrade import (
    DEGRADATIONS,
    Degradation,
    _angle,
    _between,
    _filtered,
    _mixed,
    _normal,
    _random,
    _read,
    _rms,
    _steps,
    _uniform,
    harmless,
)
from torch import Generator, Tensor
from torch.nn import functional

from cmi.reward.model.encoders.ear import RATE
from cmi.reward.model.encoders.nano import levelled

FADE = 0.005  # seconds


# What generators do: spectra are right in the large and wrong in the small.


def inverted(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Spectrogram inversion: phases are forgotten and guessed again, in few steps at great strength."""
    size = int(2 ** _choose(range(9, 12), rng))
    spectrum = _stft(x, size)
    loudness = spectrum.abs()
    # the lowest frequencies keep the phase they had at small strength: a good vocoder
    guess = torch.polar(loudness, _random(spectrum.shape, x, rng) * (2 * math.pi))
    keep = _keep_share(spectrum, 1 - strength)
    guess = torch.where(keep, spectrum, guess)
    for step in range(12):
        heard = _stft(_istft(guess, size, x.shape[1]), size)
        again = torch.polar(loudness, heard.angle())
        more = (step < 12 * (1 - strength))[:, None, None]
        guess = torch.where(keep, spectrum, torch.where(more, again, guess))
    return _istft(guess, size, x.shape[1])


def phase_smear(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    size = int(2 ** _choose(range(9, 13), rng))
    spectrum = _stft(x, size)
    angle = (2 * _random(spectrum.shape, x, rng) - 1) * math.pi * strength[:, None, None]
    return _istft(spectrum * torch.polar(torch.ones_like(angle), angle), size, x.shape[1])


def few_bands(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Loudness known in bands only: what is between harmonics is filled, as by a coarse mel spectrogram."""
    spectrum = _stft(x, 2048)
    width = 2 + int(_between(2, 30, rng))
    size = spectrum.abs()
    smooth = functional.avg_pool1d(size.transpose(1, 2), 2 * width + 1, 1, width, count_include_pad=False)
    mixed = size * (1 - strength[:, None, None]) + smooth.transpose(1, 2) * strength[:, None, None]
    angle = spectrum.angle() + (2 * _random(size.shape, x, rng) - 1) * math.pi * strength[:, None, None]
    return _istft(torch.polar(mixed, angle), 2048, x.shape[1])


def blurred_attacks(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Loudness averaged over time: soft where it should be sudden."""
    spectrum = _stft(x, 1024)
    reach = 2 + int(_between(1, 12, rng))
    size = spectrum.abs()
    smooth = functional.avg_pool1d(size, 2 * reach + 1, 1, reach, count_include_pad=False)
    mixed = size * (1 - strength[:, None, None]) + smooth * strength[:, None, None]
    return _istft(torch.polar(mixed, spectrum.angle()), 1024, x.shape[1])


def coarse_codec(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Spectra in a few steps of loudness and phase: tokens of too low a rate."""
    spectrum = _stft(x, 512)
    step = 0.3 + 3.0 * strength[:, None, None]  # nepers
    floor = spectrum.abs().mean(dim=(1, 2), keepdim=True) * 0.02
    loudness = (spectrum.abs() / floor + 1).log()
    coarse = ((loudness / step).round() * step).exp() - 1
    turns = 24 * 0.12 ** strength[:, None, None]
    angle = (spectrum.angle() / (2 * math.pi) * turns).round() / turns * 2 * math.pi
    return _istft(torch.polar(coarse * floor, angle), 512, x.shape[1])


def noisy_highs(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Above a frequency only noise of the right loudness."""
    spectrum = _stft(x, 1024)
    hertz = torch.linspace(0, RATE / 2, spectrum.shape[1], device=x.device)[None, :, None]
    above = hertz > 9000 * 0.06 ** strength[:, None, None]
    size = functional.avg_pool1d(spectrum.abs().transpose(1, 2), 9, 1, 4).transpose(1, 2)
    noise = torch.complex(_normal(size.shape, x, rng), _normal(size.shape, x, rng)) * size / math.sqrt(2)
    return _istft(torch.where(above, noise, spectrum), 1024, x.shape[1])


def holes(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Bands that are not there, from beginning to end."""
    count = 40
    gone = _random((len(x), count), x, rng) < 0.06 + 0.5 * strength[:, None]

    def gain(hertz: Tensor) -> Tensor:
        band = ((hertz.clamp(min=60) / 60).log2() * count / 8).long().clamp(max=count - 1)
        return 1 - gone.gather(1, band.expand(len(x), -1)).float() * 0.99

    return _filtered(x, gain)


def warble(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Loudness of each band wanders: watery, as after separation."""
    spectrum = _stft(x, 1024)
    bins, frames = spectrum.shape[1:]
    coarse = _normal((len(x), 1, -(-bins // 8), -(-frames // int(_between(4, 12, rng)))), x, rng)
    decibels = functional.interpolate(coarse, (bins, frames), mode="bilinear")[:, 0] * (
        2 + 14 * strength[:, None, None]
    )
    return _istft(spectrum * 10 ** (decibels / 20), 1024, x.shape[1])


# Rooms and tubes.


def metallic(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    delay, feedback = _uniform(x, 0.001, 0.012, rng), _uniform(x, 0.25, 0.72, rng) + 0.26 * strength[:, None] ** 0.5

    def gain(hertz: Tensor) -> Tensor:
        angle = -2 * math.pi * hertz * delay
        return 1 / (1 - torch.polar(feedback.expand_as(angle), angle))

    return _filtered(x, gain)


def drowned(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Much reverberation."""
    length = int(_between(0.6, 3.5, rng) * RATE)
    seconds = torch.arange(length, device=x.device)[None] / RATE
    room = _normal((len(x), length), x, rng) * (-6.9 * seconds * RATE / length).exp()
    room = _filtered(room, lambda f: 1 / (1 + (f / 5000) ** 2))
    size = x.shape[1] + length
    wet = torch.fft.irfft(torch.fft.rfft(x, size) * torch.fft.rfft(room, size), size)[:, : x.shape[1]]
    return _mixed(x, wet, 10 - 22 * strength)


# Levels and tone.


def hums(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    base = torch.where(_random((len(x), 1), x, rng) < 0.5, 50.0, 60.0) * _uniform(x, 0.98, 1.02, rng)
    added = torch.zeros_like(x)
    for harmonic in range(1, 9):
        added = added + _uniform(x, 0.1, 1, rng) / harmonic * torch.sin(_angle(x, base * harmonic))
    return _mixed(x, added, 24 - 24 * strength)


def pumps(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Ducks and swells out of time."""
    size = int(_between(0.2, 0.9, rng) * RATE)
    count = -(-x.shape[1] // size) + 1
    deep = (_random((len(x), count), x, rng) > 0.25).float()
    ramp = torch.linspace(1, 0, size, device=x.device) ** _between(0.7, 2, rng)
    curve = (deep[:, :, None] * ramp).flatten(1)
    moved = int(_between(0, size, rng))
    return x * 10 ** (-(4 + 22 * strength[:, None]) * curve[:, moved : moved + x.shape[1]] / 20)


def clipped(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    ceiling = _rms(x) * 2.2 * 0.1 ** strength[:, None]
    return x.clamp(-ceiling, ceiling)


def saturated(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Harsh: bright, then overdriven."""
    bright = _filtered(x, lambda f: (1 + (f / 2500) ** 2) ** (0.5 * strength[:, None]))
    drive = 10 ** (0.1 + 1.3 * strength[:, None])
    return torch.tanh(bright / _rms(bright) * drive * 0.3)


def boomy(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    corner = _uniform(x, 120, 260, rng)
    return _filtered(x, lambda f: 1 + (10 ** ((6 + 22 * strength[:, None]) / 20) - 1) / (1 + (f / corner) ** 4))


def dull(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Without highs: a slope of 6 to 24 dB an octave, or a wall."""
    corner = 9000 * 0.045 ** strength[:, None]
    order = 2.0 ** _choose(range(1, 6), rng)
    return _filtered(x, lambda f: 1 / torch.sqrt(1 + (f / corner) ** order))


# Pitch and time.


def detuned_double(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Doubled by a copy that is off by a third of a semitone or more."""
    cents = _uniform(x, 18, 75, rng) * _uniform(x, -1, 1, rng).sign()
    copy = _transposed(x, 2 ** (cents / 1200))
    return x + copy * (0.25 + 0.85 * strength[:, None])


def wow(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Pitch and tempo wander slowly."""
    path = _wander(x, 0.4, 2.5, rng) * (0.15 + 1.5 * strength[:, None]) / 12
    return _read(x, (2**path).double().cumsum(dim=1) - 1)


def drifting_tempo(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Tempo wanders, pitch does not."""
    octaves = _wander(x, 1.0, 4.0, rng) * (0.06 + 0.55 * strength[:, None])
    return _stretched(x, 2**octaves)


def drifting_pitch(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Pitch slides away and back, tempo does not: stretched, then read faster by as much."""
    octaves = _wander(x, 0.8, 4.0, rng) * (0.2 + 2.0 * strength[:, None]) / 12
    moved = _stretched(x, 2 ** (-octaves))
    places = (2**octaves).double().cumsum(dim=1) - 1
    return _read(moved, places)


# Memory: every second is as good as it was.


def looped(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """A stretch comes again and again."""
    size = int(_between(0.25, 2.6, rng) * RATE)
    start = int(_between(0.3, 3.0, rng) * RATE)
    again = ((0.25 + 0.75 * strength) * (x.shape[1] - start) / size).floor().clamp(min=2)[:, None] * size + start
    places = torch.arange(x.shape[1], device=x.device)[None].expand(len(x), -1)
    inside = (places >= start) & (places < again)
    source = torch.where(inside, start + (places - start) % size, places)
    return _softened(x.gather(1, source), inside, (places - start) % size, size)


def moved_bars(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Long stretches change places."""
    size = int(_between(0.35, 2.6, rng) * RATE)
    count = x.shape[1] // size
    order = torch.arange(count, device=x.device).expand(len(x), -1)
    chosen = _random((len(x), count), x, rng) < 0.35 + 0.65 * strength[:, None]
    mixed = torch.where(chosen, _random((len(x), count), x, rng), 2.0).argsort(dim=1)  # those chosen first, at random
    slots = torch.where(chosen, order, count + order).argsort(dim=1)
    moved = torch.empty_like(order).scatter(1, slots, mixed)
    places = torch.arange(x.shape[1], device=x.device)[None].expand(len(x), -1)
    inside = places < count * size
    source = moved.gather(1, (places // size).clamp(max=count - 1)) * size + places % size
    return _softened(x.gather(1, torch.where(inside, source, places)), inside, places % size, size)


def other_continuation(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """At a joint, or at several, it goes on as another piece, or as another part of a lone one."""
    size = int(_between(0.6, 5, rng) * RATE)
    count = -(-x.shape[1] // size)
    other = x.roll((1, x.shape[1] // 3), dims=(0, 1))
    other = other * (_rms(x) / _rms(other))
    changed = _random((len(x), count), x, rng) < 0.15 + 0.4 * strength[:, None]
    changed[:, count // 2] = True
    places = torch.arange(x.shape[1], device=x.device)[None].expand(len(x), -1)
    y = torch.where(changed.repeat_interleave(size, 1)[:, : x.shape[1]], other, x)
    return _softened(y, torch.ones_like(places, dtype=torch.bool), places % size, size)


def broken_off(x: Tensor, strength: Tensor, rng: Generator) -> Tensor:
    """Silence where music should be: at the end, or in the middle."""
    length = (0.08 + 0.5 * strength[:, None]) * x.shape[1]
    start = torch.where(_random((len(x), 1), x, rng) < 0.6, 1.0, _uniform(x, 0.3, 0.9, rng)) * (x.shape[1] - length)
    places = torch.arange(x.shape[1], device=x.device)[None]
    return x * ~((places >= start) & (places < start + length))


OWN = (
    *(inverted, phase_smear, few_bands, blurred_attacks, coarse_codec, noisy_highs, holes, warble, metallic, drowned),
    *(hums, pumps, clipped, saturated, boomy, dull, detuned_double, wow, drifting_tempo, drifting_pitch),
    *(looped, moved_bars, other_continuation, broken_off),
)
FLAWS: dict[str, Degradation] = {**DEGRADATIONS, **{deed.__name__: deed for deed in OWN}}
FAMILIES: dict[str, tuple[str, ...]] = {
    "vocoder": ("inverted", "phase_smear", "few_bands", "blurred_attacks", "noisy_highs"),
    "codec": ("coarse_codec", "birdies", "gated", "warble", "few_bits", "coarse_sampling"),
    "dull": ("dull", "muffled", "telephone", "boomy"),
    "tone": ("holes", "resonances", "tinny"),
    "tube": ("metallic", "drowned", "echoes"),
    "noise": ("coloured_noise", "crackle", "hums", "other_music"),
    "overdriven": ("clipped", "saturated", "folded", "one_sided_clipping", "ring_modulated"),
    "level": ("pumps", "level_jumps", "gaps", "broken_off"),
    "pitch": ("detuned_double", "wow", "flutter", "drifting_pitch", "frequency_shift", "speed_jumps"),
    "tempo": ("drifting_tempo",),
    "memory": ("looped", "moved_bars", "other_continuation", "shuffled", "reversed_stretches"),
}
FOLDS = (("vocoder", "noise", "tempo", "tube", "level"), ("dull", "memory", "pitch", "codec"))
MOVED = {*FAMILIES["pitch"], *FAMILIES["tempo"], *FAMILIES["memory"]}  # in time or pitch: would be doubled, not eased


def chained(x: Tensor, strength: Tensor, kinds: Sequence[str], rng: Generator, share: Tensor | None = None) -> Tensor:
    """Each row made worse in its own way, at one level before and after; with a `share` (B,), mixed with what was."""
    y = torch.empty_like(x)
    for kind in dict.fromkeys(kinds):
        rows = torch.tensor([i for i, own in enumerate(kinds) if own == kind], device=x.device)
        y[rows] = FLAWS[kind](x[rows], strength[rows], rng)
    y = levelled(y)
    return y if share is None else levelled(torch.lerp(x, y, share[:, None]))


def unhurt(x: Tensor, rng: Generator) -> Tensor:
    """Some rows a little faster or slower without a change of pitch, some with silence in front or as coded."""
    rate = 2 ** (_uniform(x, -0.12, 0.12, rng) * (_random((len(x), 1), x, rng) < 0.7))
    chosen = _random((len(x),), x, rng) < 0.2
    if chosen.any():
        x = x.clone()
        x[chosen] = _stretched(x[chosen], rate[chosen].expand(-1, x.shape[1]))
    return levelled(harmless(x, rng))


def not_music(shape: tuple[int, int], like: Tensor, rng: Generator) -> Tensor:
    """(B, n) of tones, chords, hum, noise, beeps, sweeps and clicks, the kinds by turns."""
    x = like.new_zeros(shape)
    kinds: tuple[Callable[[Tensor, Generator], Tensor], ...] = (_tone, _chord, _hum, _noise, _beeps, _clicks, _sweep)
    for place, kind in enumerate(kinds):
        rows = x[place :: len(kinds)]
        if len(rows):
            x[place :: len(kinds)] = kind(rows, rng)
    return levelled(x + 1e-4 * _normal(shape, x, rng) * (_random((shape[0], 1), x, rng) < 0.5))


def _tone(x: Tensor, rng: Generator) -> Tensor:
    hertz = 2 ** _uniform(x, math.log2(60), math.log2(5000), rng)
    return _wave(x, hertz, rng)


def _chord(x: Tensor, rng: Generator) -> Tensor:
    base = 2 ** _uniform(x, math.log2(80), math.log2(700), rng)
    steps = [(0.0, 4.0, 7.0), (0.0, 3.0, 7.0), (0.0, 5.0, 9.0), (0.0, 4.0, 7.0, 11.0), (0.0, 7.0)]
    chosen = steps[_choose(range(len(steps)), rng)]
    return torch.stack([_wave(x, base * 2 ** (step / 12), rng) for step in chosen]).sum(dim=0)


def _hum(x: Tensor, rng: Generator) -> Tensor:
    return hums(1e-3 * _normal(x.shape, x, rng), torch.ones(len(x), device=x.device) * 2, rng)


def _noise(x: Tensor, rng: Generator) -> Tensor:
    slope = _uniform(x, 0, 2.5, rng)
    y = _filtered(_normal(x.shape, x, rng), lambda f: (f + 20) ** (-slope / 2))
    swell = 1 + 0.9 * torch.sin(_angle(x, _uniform(x, 0.1, 6, rng))) * (_random((len(x), 1), x, rng) < 0.5)
    return y * swell


def _beeps(x: Tensor, rng: Generator) -> Tensor:
    speed, share = _uniform(x, 0.5, 6, rng), _uniform(x, 0.1, 0.7, rng)
    return _tone(x, rng) * (((_angle(x, speed) / (2 * math.pi)) % 1) < share)


def _clicks(x: Tensor, rng: Generator) -> Tensor:
    density = 10 ** _uniform(x, -4.6, -3.2, rng)
    return _normal(x.shape, x, rng) * (_random(x.shape, x, rng) < density)


def _sweep(x: Tensor, rng: Generator) -> Tensor:
    low, octaves = 2 ** _uniform(x, 6, 8, rng), _uniform(x, 2, 5, rng)
    speed = _uniform(x, 0.05, 1, rng)
    position = (1 + torch.sin(_angle(x, speed))) / 2
    turns = (low * 2 ** (octaves * position) / RATE).double().cumsum(dim=1) % 1
    return torch.sin(2 * math.pi * turns).to(x.dtype)


def _wave(x: Tensor, hertz: Tensor, rng: Generator) -> Tensor:
    """A sine, or one with overtones."""
    y = torch.sin(_angle(x, hertz))
    rich = (_random((len(x), 1), x, rng) < 0.5).to(x.dtype)
    for harmonic in range(2, 9):
        y = y + rich / harmonic * torch.sin(_angle(x, hertz * harmonic)) * (hertz * harmonic < RATE / 2)
    return y


def _choose(among: range, rng: Generator) -> int:
    return among[int(torch.randint(len(among), (), generator=rng, device=rng.device))]


def _window(size: int, x: Tensor) -> Tensor:
    return torch.hann_window(size, device=x.device)


def _stft(x: Tensor, size: int) -> Tensor:
    return torch.stft(x, size, size // 4, window=_window(size, x), return_complex=True)


def _istft(spectrum: Tensor, size: int, length: int) -> Tensor:
    return torch.istft(spectrum, size, size // 4, window=_window(size, spectrum.real), length=length)


def _keep_share(spectrum: Tensor, share: Tensor) -> Tensor:
    """True for the lowest bins, as many of them as `share` (B,) says, on a scale of octaves: (B, F, 1)."""
    place = torch.linspace(0, 1, spectrum.shape[1], device=spectrum.device)[None, :, None]
    return place < 0.5 * (share[:, None, None] - 0.2).clamp(min=0) ** 2


def _wander(x: Tensor, shortest: float, longest: float, rng: Generator) -> Tensor:
    """A smooth curve of about unit size, (B, n)."""
    steps = _steps(x, shortest, longest, rng)
    size = int(RATE * 0.5)
    thin = functional.avg_pool1d(steps[:, None], size // 10, size // 10)
    smooth = functional.avg_pool1d(thin, 11, 1, 5, count_include_pad=False)
    return functional.interpolate(smooth, x.shape[1], mode="linear")[:, 0]


def _transposed(x: Tensor, ratio: Tensor) -> Tensor:
    """At another pitch (B, 1), in grains that are fetched back before they run away."""
    grain = int(0.2 * RATE)
    times = torch.arange(x.shape[1], device=x.device)[None]
    y = torch.zeros_like(x)
    for shift in (0, grain // 2):
        since = (times + shift) % grain
        fade = torch.sin(math.pi * (since + 0.5) / grain) ** 2
        y = y + fade * _read(x, times.double() + (ratio - 1).double() * (since - grain / 2))
    return y


def _stretched(x: Tensor, speed: Tensor) -> Tensor:
    """At another speed (B, n) and the same pitch, by a phase vocoder; what lies beyond the end goes on at the start."""
    size, hop = 2048, 512
    spectrum = _stft(x, size)  # (B, F, T)
    frames = spectrum.shape[2]
    places = (speed[:, ::hop].cumsum(dim=1)[:, :frames] - speed[:, :1]) % (frames - 1)
    places = functional.pad(places, (0, frames - places.shape[1]))
    before = places.long()
    share = (places - before)[:, None, :]
    index = before[:, None].expand(-1, spectrum.shape[1], -1)
    first, second = spectrum.gather(2, index), spectrum.gather(2, index + 1)
    loudness = first.abs() * (1 - share) + second.abs() * share
    advance = second.angle() - first.angle()
    start = first.angle()[:, :, :1]
    angle = start + functional.pad(advance.cumsum(dim=2), (1, 0))[:, :, :-1]
    return _istft(torch.polar(loudness, angle), size, x.shape[1])


def _softened(y: Tensor, inside: Tensor, since: Tensor, size: int) -> Tensor:
    """Joints of stretches of `size` faded for some milliseconds, so that no click gives them away."""
    fade = int(FADE * RATE)
    edge = torch.minimum(since, size - 1 - since).clamp(max=fade).to(y.dtype) / fade
    return torch.where(inside, y * edge, y)


__all__ = ["FAMILIES", "FLAWS", "FOLDS", "MOVED", "chained", "not_music", "unhurt"]
