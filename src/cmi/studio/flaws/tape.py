"""Performance and composition flaws for finished recordings, which have no notes.

Each takes samples (n, channels) in float32, their rate, a strength above 0 up to 1, and a random generator.
The random numbers do not depend on the strength, so with one seed the flaw only grows.

    flaw           family        what is done, and what strength 1 means                      measured by
    wavering       performance   time runs ahead and behind by up to 60 ms , pitch with it    delays
    detuned-copy   performance   a copy 30 to 60 cents off, as loud as the music              distortion
    fragments      composition   all stretches of 150 to 350 ms in pairs that change places   moved
    stuck          composition   a stretch of 0.5 to 2.5 s comes again until the end          moved

Below 1: time shifts less, the copy has amplitude strength, fewer pairs are swapped, the stretch repeats fewer times.
Joints are faded for a few milliseconds to avoid clicks.
"""

from math import ceil, pi

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import fft

from cmi.studio.flaws.production import Sound, blended

FARTHEST = 0.06  # seconds that time strays
WAVES = ((0.2, 0.7), (0.55, 0.3))  # hertz and weight of its ups and downs
GRAIN = 0.2  # seconds after which a detuned copy is realigned
FADE = 0.004  # seconds
FRAME = 640  # samples in which `moved` compares
HOP, BANDS = 128, 48  # samples between spectra that `delays` compares, and numbers in each
LISTEN, LATEST = 200, 20  # spectra that it compares together, and how far apart it looks for them
SIMILAR = 0.9  # correlation of a frame that is where it was


def wavering(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    phases, seconds = rng.uniform(0, 2 * pi, len(WAVES)), np.arange(len(samples)) / rate
    strayed = sum(
        weight * np.sin(2 * pi * hertz * seconds + phase) for (hertz, weight), phase in zip(WAVES, phases, strict=True)
    )
    return _read(samples, np.arange(len(samples)) + strength * FARTHEST * rate * strayed)


def detuned_copy(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    ratio = 2 ** (rng.choice((-1, 1)) * rng.uniform(30, 60) / 1200)
    grain = max(2, round(GRAIN * rate))
    copy = np.zeros_like(samples)
    times = np.arange(len(samples))
    for shift in (0, grain // 2):  # two rows of grains, each fading while the other is at its height
        since = (times + shift) % grain
        window = np.sin(pi * (since + 0.5) / grain).astype(np.float32) ** 2
        copy += window[:, None] * _read(samples, times + (ratio - 1) * (since - grain / 2))
    return blended(samples, copy, strength)


def fragments(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    length = max(1, round(rng.uniform(0.15, 0.35) * rate))
    order = rng.permutation(len(samples) // length)
    pairs = list(zip(order[::2].tolist(), order[1::2].tolist(), strict=False))
    after = samples.copy()
    for one, other in pairs[: ceil(strength * len(pairs))]:
        here, there = (slice(i * length, (i + 1) * length) for i in (one, other))
        after[here], after[there] = _faded(samples[there], rate), _faded(samples[here], rate)
    return after


def stuck(samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
    longest = len(samples) // 2
    length = min(max(1, round(rng.uniform(0.5, 2.5) * rate)), longest)
    start = int(rng.integers(0, max(1, len(samples) // 4 - length // 2)))
    again = start + length
    end = again + ceil(strength * (len(samples) - again))
    loop = _faded(samples[start:again], rate)
    after = samples.copy()
    for place in range(again, end, max(1, length)):
        into = after[place : min(place + length, end)]
        into[:] = loop[: len(into)]
    return after


def delays(before: Sound, after: Sound) -> float:
    """Mean absolute delay, in samples, at which the spectra of both are most alike."""
    one, other = _spectra(before), _spectra(after)
    count = len(one) - 2 * LATEST
    if count < LISTEN:
        return 0.0
    shifts = range(2 * LATEST + 1)
    unlike = [np.square(one[LATEST:][:count] - other[shift:][:count]).sum(axis=1) for shift in shifts]
    together = np.array([np.convolve(row, np.ones(LISTEN), "valid")[:: LISTEN // 2] for row in unlike])
    return float(np.abs(together.argmin(axis=0) - LATEST).mean()) * HOP


def _spectra(samples: Sound) -> NDArray[np.float32]:
    """Short-time spectra in bands, of (frames, BANDS)."""
    padded = np.pad(samples.sum(axis=1), 4 * HOP)
    frames = np.lib.stride_tricks.sliding_window_view(padded, 8 * HOP)[::HOP]
    power = np.abs(fft.rfft(frames * np.hanning(8 * HOP).astype(np.float32)))
    edges = np.unique(np.geomspace(1, power.shape[1] - 1, BANDS + 1).astype(int))
    return np.sqrt(np.add.reduceat(power, edges[:-1], axis=1))


def moved(before: Sound, after: Sound) -> float:
    """Share of frames that do not match the original's, 0 to 1, at any level."""
    one, other = (sound[: len(sound) // FRAME * FRAME].sum(axis=1).reshape(-1, FRAME) for sound in (before, after))
    products, own, others = (
        np.einsum("ij,ij->i", a, b, dtype=np.float64) for a, b in ((one, other), (one, one), (other, other))
    )
    heard = own * others > 0
    return float(np.mean(products[heard] < SIMILAR * np.sqrt((own * others)[heard]))) if heard.any() else 0.0


def _read(samples: Sound, places: NDArray[np.float64]) -> Sound:
    """Interpolate the samples linearly at fractional places."""
    places = np.clip(places, 0, max(0, len(samples) - 1))
    whole = np.minimum(places.astype(np.int64), max(0, len(samples) - 2))
    part = (places - whole).astype(np.float32)[:, None]
    after = np.minimum(whole + 1, len(samples) - 1)
    return samples[whole] * (1 - part) + samples[after] * part


def _faded(samples: Sound, rate: int) -> Sound:
    """Fade in and out."""
    length = min(round(FADE * rate), len(samples) // 2)
    if not length:
        return samples.copy()
    gain = np.ones((len(samples), 1), np.float32)
    gain[:length, 0] = np.linspace(0, 1, length, endpoint=False)
    gain[-length:, 0] = gain[:length, 0][::-1]
    return samples * gain
