"""Observations of a recording, each from one measurement.

    gap          silence inside the recording, 0.3 s or longer
    dropouts     short gaps with sharp edges: digital silence of 5 to 300 ms inside sound
    cut          the end is as loud as the rest: the music breaks off
    tail         two seconds of silence or more follow the end
    clipping     waveforms with flat tops
    muffled      nothing above a frequency that music usually reaches
    hum          lines at the harmonics of 50 or 60 Hz that stay equally loud throughout
    stuck        up to 2.6 s are repeated exactly, several times in a row
    one-sided    one channel is much quieter than the other
    phase        the channels cancel each other when they are added
    tempo jump   the tempo is steady, and then steadily another
    no voice     lyrics were given, and no voice is heard: by musicnn's tags, which `observe_voice` is told

Thresholds were chosen on the studio's pieces of seeds that no error rate is measured on (`recipes/critic`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soxr
from numpy.typing import NDArray
from scipy import fft

from cmi.audio import LONGEST, load_channels
from cmi.features import tempo
from cmi.features.tempo import TempoCurve, find_tempo
from cmi.report.numbers import clock

Channels = NDArray[np.float32]  # (n, channels)
Array = NDArray[np.float64]

LOW_RATE = tempo.RATE
FRAME = 0.01  # seconds
QUIET = 45.0  # dB below the loud frames: nothing is heard there
SHORTEST_GAP = 0.3  # seconds
DIGITAL_SILENCE = 1e-5
DROPOUT = (0.005, 0.3)  # seconds
DROPOUT_EDGE = 0.003  # of full scale: the step into silence
FEWEST_DROPOUTS = 2
SILENT = 60.0  # dB below the loud frames: the end of a decay
CUT_FRAMES = 5
LOUD_END = 9.0  # dB by which the end may be below the loud frames
LONGEST_TAIL = 2.0  # seconds of silence at the end
FLAT_RUN = 3  # samples at the peak in a row
FLAT_RUNS = 3.0  # a second
HIGHEST_EDGE = 5000.0  # hertz
EDGE_DROP = 70.0  # dB
HUM_ABOVE = 15.0  # dB above what is between the harmonics
HUM_STEADY = 2.0  # dB of deviation over time
STUCK_LAG = (0.05, 2.6)  # seconds
STUCK_HOP = 2  # seconds
STUCK_BLOCK = 8192  # a Fourier transform of a multiple of this many samples is fast
ALIKE = 0.98  # correlation
FADED = 0.03  # of the sound: what is so much softer later on is not compared with it
ONE_SIDED = 15.0  # dB
CANCELLED = -0.5  # correlation
JUMP_WINDOWS = 4  # windows of 8 s, a second apart, that are steady on either side of a jump
JUMP_SPREAD = 0.03  # relative deviation of steady windows
SMALLEST_JUMP = 0.045  # relative change of the tempo
JUMP_CLARITY = 0.2  # of the pulse on either side
VOICE = 0.7  # share of a bank of music below which no voice is heard


class Observation(NamedTuple):
    kind: str
    start: float  # seconds
    end: float
    sentence: str
    value: float  # the measurement behind it


@dataclass(frozen=True)
class ObservedSound:
    """A recording, and what several observations need of it, computed once."""

    samples: Channels
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    @cached_property
    def mono(self) -> NDArray[np.float32]:
        channels = self.samples.shape[1]
        return self.samples @ np.full(channels, 1 / channels, np.float32)

    @cached_property
    def low(self) -> NDArray[np.float32]:
        """In mono at LOW_RATE."""
        return np.asarray(soxr.resample(self.mono, self.rate, LOW_RATE), np.float32)

    @cached_property
    def peaks(self) -> NDArray[np.float32]:
        """The largest magnitude of all channels, at each sample."""
        found = np.abs(self.samples[:, 0])
        for channel in self.samples.T[1:]:
            np.maximum(found, np.abs(channel), out=found)
        return found

    @cached_property
    def levels(self) -> Array:
        """Levels in dB of full scale of frames of 10 ms, over all channels: (frames,)."""
        size = max(1, round(FRAME * self.rate))
        count = max(1, len(self.samples) // size)
        frames = np.resize(self.samples, (count * size, self.samples.shape[1])).reshape(count, -1)
        power = np.square(frames, dtype=np.float64).mean(axis=1)
        return np.asarray(10 * np.log10(power + 1e-12))

    @cached_property
    def loud(self) -> float:
        """The level of the loud frames: that which a tenth exceeds."""
        return float(np.quantile(self.levels, 0.9))

    @cached_property
    def heard(self) -> int:
        """How many frames of `levels` there are until the last that is heard."""
        places = np.flatnonzero(self.levels > max(self.loud - SILENT, -90))
        return int(places[-1]) + 1 if places.size else 0

    @cached_property
    def tempo(self) -> TempoCurve | None:
        return find_tempo(self.low)


def observe(path: Path, seconds: float = LONGEST) -> list[Observation]:
    """Return what is wrong with a recording, in time."""
    return observe_sound(ObservedSound(*load_channels(path, seconds)))


def observe_sound(sound: ObservedSound) -> list[Observation]:
    found = [one for kind in KINDS.values() for one in kind(sound)]
    return sorted(found, key=lambda one: (one.start, one.kind))


def observe_voice(voice: float, seconds: float) -> list[Observation]:
    """What is wrong with a take whose prompt has lyrics; `voice` is the share of a bank with less of a voice."""
    if voice >= VOICE:
        return []
    sentence = (
        "No voice is heard, though lyrics were given: by musicnn's tags there is less of a voice than in "
        f"{1 - voice:.0%} of a bank of music."
    )
    return [Observation(NO_VOICE, 0.0, seconds, sentence, voice)]


def find_gaps(sound: ObservedSound) -> Iterator[Observation]:
    silent = sound.levels < max(sound.loud - QUIET, -90)
    heard = np.flatnonzero(~silent)
    if not heard.size:
        return
    for first, last in _runs(silent):
        seconds = (last - first) * FRAME
        if heard[0] < first and last <= heard[-1] and seconds >= SHORTEST_GAP:
            start, end = first * FRAME, last * FRAME
            yield Observation("gap", start, end, f"No sound from {_clock(start)} to {_clock(end)}.", seconds)


def find_dropouts(sound: ObservedSound) -> Iterator[Observation]:
    peaks, rate = sound.peaks, sound.rate
    short, long = (round(limit * rate) for limit in DROPOUT)
    places = [
        first
        for first, last in _runs(peaks < DIGITAL_SILENCE)
        if first and last < len(peaks) and short <= last - first <= long and peaks[first - 1] > DROPOUT_EDGE
    ]
    if len(places) >= FEWEST_DROPOUTS:
        start, end = places[0] / rate, places[-1] / rate
        sentence = f"The sound drops out {len(places)} times, first at {_clock(start)}."
        yield Observation("dropouts", start, end, sentence, float(len(places)))


def find_cut(sound: ObservedSound) -> Iterator[Observation]:
    """Whether the sound, wherever it ends, ends while it is loud."""
    last = sound.heard
    below = sound.loud - float(sound.levels[max(0, last - CUT_FRAMES) : last].mean()) if last else 0.0
    if below < LOUD_END and sound.loud > -70:
        seconds = last * FRAME
        sentence = (
            f"It breaks off at {_clock(seconds)}: the last moment is {max(below, 0):.0f} dB below the loud parts."
        )
        yield Observation(CUT, max(0.0, seconds - CUT_FRAMES * FRAME), seconds, sentence, below)


def find_tail(sound: ObservedSound) -> Iterator[Observation]:
    end, seconds = sound.heard * FRAME, sound.seconds
    if end > 0 and seconds - end >= LONGEST_TAIL:
        sentence = f"It ends at {_clock(end)}; {seconds - end:.0f} s of silence follow."
        yield Observation("tail", end, seconds, sentence, seconds - end)


def find_clipping(sound: ObservedSound) -> Iterator[Observation]:
    peak = float(sound.peaks.max())
    if peak < 0.01:
        return
    runs = [
        first
        for channel in sound.samples.T
        for side in (channel >= 0.9995 * peak, channel <= -0.9995 * peak)
        for first, last in _runs(side)
        if last - first >= FLAT_RUN
    ]
    seconds = sound.seconds
    if len(runs) / seconds >= FLAT_RUNS:
        starts = np.array(runs) / sound.rate
        sentence = f"Clipped: {len(runs) / seconds:.0f} flat peaks a second, the first at {_clock(starts.min())}."
        yield Observation("clipping", float(starts.min()), float(starts.max()), sentence, len(runs) / seconds)


def find_muffled(sound: ObservedSound) -> Iterator[Observation]:
    spectrum, frequencies = _long_term(sound.mono, sound.rate)
    level = 10 * np.log10(spectrum + 1e-20)
    smooth = np.convolve(level, np.ones(9) / 9, mode="same")
    audible = np.flatnonzero(smooth > smooth.max() - EDGE_DROP)
    edge = float(frequencies[audible[-1]]) if audible.size else 0.0
    if 0 < edge < HIGHEST_EDGE and sound.rate / 2 > HIGHEST_EDGE:
        yield Observation("muffled", 0.0, sound.seconds, f"Muffled: nothing above {edge:,.0f} Hz.", edge)


def find_hum(sound: ObservedSound) -> Iterator[Observation]:
    mono, size = sound.mono, 2 * sound.rate  # half a hertz apart
    if len(mono) < 2 * size:
        return
    window = np.hanning(size).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(mono, size)[:: size // 2] * window
    power = 10 * np.log10(np.square(np.abs(fft.rfft(frames))) + 1e-12)  # (T, bins)
    for mains in (50, 60):
        lines = [2 * mains * k for k in (1, 2, 3)]
        above = [np.median(power[:, line]) - np.median(power[:, [line - 12, line + 12]]) for line in lines]
        steady = [float(power[:, line].std()) for line in lines]
        if sum(a > HUM_ABOVE and s < HUM_STEADY for a, s in zip(above, steady, strict=True)) >= 2:
            sentence = f"Hum at {mains} Hz and its harmonics throughout."
            yield Observation("hum", 0.0, sound.seconds, sentence, float(max(above)))
            return


def find_stuck(sound: ObservedSound) -> Iterator[Observation]:
    """A lag at which the sound equals itself exactly, for longer than the lag."""
    rate = LOW_RATE
    shortest, longest = (round(limit * rate) for limit in STUCK_LAG)
    window = 2 * longest
    size = -(-(window + longest) // STUCK_BLOCK) * STUCK_BLOCK  # no more is needed: lags end at `longest`
    for start in range(0, len(sound.low) - window - longest, STUCK_HOP * rate):
        own = sound.low[start : start + window + longest]
        energy = np.square(own, dtype=np.float64)
        if energy.mean() < 1e-8:
            continue
        products = fft.irfft(np.conj(fft.rfft(own[:window], size)) * fft.rfft(own, size))
        sums = np.concatenate([[0], np.cumsum(energy)])
        norms = np.sqrt(sums[window] * (sums[window + shortest : window + longest + 1] - sums[shortest : longest + 1]))
        alike = products[shortest : longest + 1] / np.maximum(norms, FADED * sums[window])
        if alike.max() > ALIKE:
            lag, at = (shortest + int(alike.argmax())) / rate, start / rate
            sentence = f"Stuck from {_clock(at)}: {lag:.2g} s are repeated exactly."
            yield Observation("stuck", at, at + len(own) / rate, sentence, float(alike.max()))
            return


def find_one_sided(sound: ObservedSound) -> Iterator[Observation]:
    if sound.samples.shape[1] != 2:
        return
    left, right = (
        10 * np.log10(float(np.square(channel, dtype=np.float64).mean()) + 1e-12) for channel in sound.samples.T
    )
    if max(left, right) > -70 and abs(left - right) > ONE_SIDED:
        side = "left" if left < right else "right"
        sentence = f"The {side} channel is {abs(left - right):.0f} dB quieter than the other."
        yield Observation("one-sided", 0.0, sound.seconds, sentence, abs(left - right))


def find_phase(sound: ObservedSound) -> Iterator[Observation]:
    if sound.samples.shape[1] != 2:
        return
    left, right = sound.samples.T.astype(np.float64)
    norm = float(np.sqrt(np.square(left).sum() * np.square(right).sum()))
    correlation = float(left @ right) / norm if norm > 0 else 0.0
    if correlation < CANCELLED:
        sentence = f"The channels cancel each other (correlation {correlation:.2f}): in mono little is left."
        yield Observation("phase", 0.0, sound.seconds, sentence, correlation)


def find_tempo_jump(sound: ObservedSound) -> Iterator[Observation]:
    """The largest change from one steady tempo to another."""
    curve = sound.tempo
    if curve is None:
        return
    tempos, width = np.log(curve.tempos), JUMP_WINDOWS
    jumps = []
    for place in range(width, len(tempos) - width + 1):
        sides = slice(place - width, place), slice(place, place + width)
        before, after = (float(np.median(tempos[side])) for side in sides)
        spread = max(np.abs(tempos[side] - own).max() for side, own in zip(sides, (before, after), strict=True))
        clarity = min(np.median(curve.clarities[side]) for side in sides)
        if spread <= JUMP_SPREAD and clarity >= JUMP_CLARITY and abs(after - before) >= SMALLEST_JUMP:
            jumps.append((abs(after - before), float(curve.times[place - 1 : place + 1].mean()), before, after))
    if jumps:
        _, at, before, after = max(jumps)
        old, new = np.exp(before), np.exp(after)
        sentence = f"The tempo jumps at {_clock(at)} from {old:.0f} to {new:.0f} beats a minute."
        yield Observation("tempo jump", at, at, sentence, new / old - 1)


CUT, NO_VOICE = "cut", "no voice"
KINDS: dict[str, Callable[[ObservedSound], Iterator[Observation]]] = {
    "gap": find_gaps,
    "dropouts": find_dropouts,
    CUT: find_cut,
    "tail": find_tail,
    "clipping": find_clipping,
    "muffled": find_muffled,
    "hum": find_hum,
    "stuck": find_stuck,
    "one-sided": find_one_sided,
    "phase": find_phase,
    "tempo jump": find_tempo_jump,
}


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where flags are set, as ranges (first, after the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _long_term(mono: NDArray[np.float32], rate: int) -> tuple[Array, Array]:
    """The mean power spectrum, and the frequencies of its bins."""
    size = 4096
    padded = np.pad(mono, (0, max(0, size - len(mono))))
    window = np.hanning(size).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 2] * window
    power = np.zeros(size // 2 + 1)
    for part in np.array_split(frames, max(1, len(frames) // 256)):
        power += np.square(np.abs(fft.rfft(part))).sum(axis=0)
    return power / len(frames), np.arange(size // 2 + 1, dtype=np.float64) * (rate / size)


def _clock(seconds: float) -> str:
    """Minutes, seconds and tenths: 0:12.3."""
    return f"{clock(seconds)}.{int(seconds * 10) % 10}"
