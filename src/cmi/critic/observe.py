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

Thresholds were chosen on the studio's pieces of seeds that no error rate is measured on (`recipes/critic`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.audio import LONGEST, load_channels
from cmi.report.numbers import clock

Channels = NDArray[np.float32]  # (n, channels)
Array = NDArray[np.float64]

FRAME = 0.01  # seconds
QUIET = 45.0  # dB below the loud frames: nothing is heard there
SHORTEST_GAP = 0.3  # seconds
DIGITAL_SILENCE = 1e-5
DROPOUT = (0.005, 0.3)  # seconds
DROPOUT_EDGE = 0.003  # of full scale: the step into silence
FEWEST_DROPOUTS = 2
SILENT = 60.0  # dB below the loud frames: the end of a decay
CUT_FRAMES = 5
CUT = 9.0  # dB by which the end may be below the loud frames
LONGEST_TAIL = 2.0  # seconds of silence at the end
FLAT_RUN = 3  # samples at the peak in a row
FLAT_RUNS = 3.0  # a second
HIGHEST_EDGE = 5000.0  # hertz
EDGE_DROP = 70.0  # dB
HUM_ABOVE = 15.0  # dB above what is between the harmonics
HUM_STEADY = 2.0  # dB of deviation over time
STUCK_LAG = (0.05, 2.6)  # seconds
STUCK_HOP = 2  # seconds
ALIKE = 0.98  # correlation
ONE_SIDED = 15.0  # dB
CANCELLED = -0.5  # correlation


class Observation(NamedTuple):
    kind: str
    start: float  # seconds
    end: float
    sentence: str
    value: float  # the measurement behind it


def observe(path: Path, seconds: float = LONGEST) -> list[Observation]:
    """Return what is wrong with a recording, in time."""
    samples, rate = load_channels(path, seconds)
    return observe_sound(samples, rate)


def observe_sound(samples: Channels, rate: int) -> list[Observation]:
    found = [one for kind in KINDS.values() for one in kind(samples, rate)]
    return sorted(found, key=lambda one: (one.start, one.kind))


def frame_levels(samples: Channels, rate: int) -> Array:
    """Levels in dB of full scale of frames of 10 ms, over all channels: (frames,)."""
    size = max(1, round(FRAME * rate))
    count = max(1, len(samples) // size)
    frames = np.resize(samples, (count * size, samples.shape[1])).reshape(count, -1)
    power = np.square(frames, dtype=np.float64).mean(axis=1)
    return np.asarray(10 * np.log10(power + 1e-12))


def loud_level(levels: Array) -> float:
    """The level of the loud frames: that which a tenth exceeds."""
    return float(np.quantile(levels, 0.9))


def find_gaps(samples: Channels, rate: int) -> Iterator[Observation]:
    levels = frame_levels(samples, rate)
    silent = levels < max(loud_level(levels) - QUIET, -90)
    heard = np.flatnonzero(~silent)
    if not heard.size:
        return
    for first, last in _runs(silent):
        seconds = (last - first) * FRAME
        if heard[0] < first and last <= heard[-1] and seconds >= SHORTEST_GAP:
            start, end = first * FRAME, last * FRAME
            yield Observation("gap", start, end, f"No sound from {_clock(start)} to {_clock(end)}.", seconds)


def find_dropouts(samples: Channels, rate: int) -> Iterator[Observation]:
    peaks = np.abs(samples).max(axis=1)
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


def find_cut(samples: Channels, rate: int) -> Iterator[Observation]:
    """Whether the sound, wherever it ends, ends while it is loud."""
    levels = frame_levels(samples, rate)
    loud, last = loud_level(levels), _last_heard(levels)
    below = loud - float(levels[max(0, last - CUT_FRAMES) : last].mean()) if last else 0.0
    if below < CUT and loud > -70:
        seconds = last * FRAME
        sentence = (
            f"It breaks off at {_clock(seconds)}: the last moment is {max(below, 0):.0f} dB below the loud parts."
        )
        yield Observation("cut", max(0.0, seconds - CUT_FRAMES * FRAME), seconds, sentence, below)


def find_tail(samples: Channels, rate: int) -> Iterator[Observation]:
    levels = frame_levels(samples, rate)
    end, seconds = _last_heard(levels) * FRAME, len(samples) / rate
    if end > 0 and seconds - end >= LONGEST_TAIL:
        sentence = f"It ends at {_clock(end)}; {seconds - end:.0f} s of silence follow."
        yield Observation("tail", end, seconds, sentence, seconds - end)


def _last_heard(levels: Array) -> int:
    """How many frames there are until the last that is heard."""
    heard = np.flatnonzero(levels > max(loud_level(levels) - SILENT, -90))
    return int(heard[-1]) + 1 if heard.size else 0


def find_clipping(samples: Channels, rate: int) -> Iterator[Observation]:
    peak = float(np.abs(samples).max())
    if peak < 0.01:
        return
    runs = [
        first
        for channel in samples.T
        for side in (channel, -channel)
        for first, last in _runs(side >= 0.9995 * peak)
        if last - first >= FLAT_RUN
    ]
    seconds = len(samples) / rate
    if len(runs) / seconds >= FLAT_RUNS:
        starts = np.array(runs) / rate
        sentence = f"Clipped: {len(runs) / seconds:.0f} flat peaks a second, the first at {_clock(starts.min())}."
        yield Observation("clipping", float(starts.min()), float(starts.max()), sentence, len(runs) / seconds)


def find_muffled(samples: Channels, rate: int) -> Iterator[Observation]:
    spectrum, frequencies = _long_term(samples, rate)
    level = 10 * np.log10(spectrum + 1e-20)
    smooth = np.convolve(level, np.ones(9) / 9, mode="same")
    audible = np.flatnonzero(smooth > smooth.max() - EDGE_DROP)
    edge = float(frequencies[audible[-1]]) if audible.size else 0.0
    if 0 < edge < HIGHEST_EDGE and rate / 2 > HIGHEST_EDGE:
        yield Observation("muffled", 0.0, len(samples) / rate, f"Muffled: nothing above {edge:,.0f} Hz.", edge)


def find_hum(samples: Channels, rate: int) -> Iterator[Observation]:
    mono, size = samples.mean(axis=1), 2 * rate  # half a hertz apart
    if len(mono) < 2 * size:
        return
    frames = np.lib.stride_tricks.sliding_window_view(mono, size)[:: size // 2] * np.hanning(size)
    power = 10 * np.log10(np.square(np.abs(np.fft.rfft(frames))) + 1e-12)  # (T, bins)
    for mains in (50, 60):
        lines = [2 * mains * k for k in (1, 2, 3)]
        above = [np.median(power[:, line]) - np.median(power[:, [line - 12, line + 12]]) for line in lines]
        steady = [float(power[:, line].std()) for line in lines]
        if sum(a > HUM_ABOVE and s < HUM_STEADY for a, s in zip(above, steady, strict=True)) >= 2:
            sentence = f"Hum at {mains} Hz and its harmonics throughout."
            yield Observation("hum", 0.0, len(samples) / rate, sentence, float(max(above)))
            return


def find_stuck(samples: Channels, rate: int) -> Iterator[Observation]:
    """A lag at which the sound equals itself exactly, for longer than the lag."""
    mono = samples.mean(axis=1).astype(np.float64)
    shortest, longest = (round(limit * rate) for limit in STUCK_LAG)
    window = 2 * longest
    for start in range(0, len(mono) - window - longest, STUCK_HOP * rate):
        own = mono[start : start + window + longest]
        energy = np.square(own)
        if energy.mean() < 1e-8:
            continue
        size = 2 ** int(np.ceil(np.log2(len(own) + window)))
        products = np.fft.irfft(np.conj(np.fft.rfft(own[:window], size)) * np.fft.rfft(own, size))
        sums = np.concatenate([[0], np.cumsum(energy)])
        norms = np.sqrt(sums[window] * (sums[window + shortest : window + longest + 1] - sums[shortest : longest + 1]))
        alike = products[shortest : longest + 1] / np.maximum(norms, 1e-12)
        if alike.max() > ALIKE:
            lag, at = (shortest + int(alike.argmax())) / rate, start / rate
            sentence = f"Stuck from {_clock(at)}: {lag:.2g} s are repeated exactly."
            yield Observation("stuck", at, at + len(own) / rate, sentence, float(alike.max()))
            return


def find_one_sided(samples: Channels, rate: int) -> Iterator[Observation]:
    if samples.shape[1] != 2:
        return
    left, right = (10 * np.log10(float(np.square(channel, dtype=np.float64).mean()) + 1e-12) for channel in samples.T)
    if max(left, right) > -70 and abs(left - right) > ONE_SIDED:
        side = "left" if left < right else "right"
        sentence = f"The {side} channel is {abs(left - right):.0f} dB quieter than the other."
        yield Observation("one-sided", 0.0, len(samples) / rate, sentence, abs(left - right))


def find_phase(samples: Channels, rate: int) -> Iterator[Observation]:
    if samples.shape[1] != 2:
        return
    left, right = samples.T.astype(np.float64)
    norm = float(np.sqrt(np.square(left).sum() * np.square(right).sum()))
    correlation = float(left @ right) / norm if norm > 0 else 0.0
    if correlation < CANCELLED:
        sentence = f"The channels cancel each other (correlation {correlation:.2f}): in mono little is left."
        yield Observation("phase", 0.0, len(samples) / rate, sentence, correlation)


KINDS: dict[str, Callable[[Channels, int], Iterator[Observation]]] = {
    "gap": find_gaps,
    "dropouts": find_dropouts,
    "cut": find_cut,
    "tail": find_tail,
    "clipping": find_clipping,
    "muffled": find_muffled,
    "hum": find_hum,
    "stuck": find_stuck,
    "one-sided": find_one_sided,
    "phase": find_phase,
}


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where flags are set, as ranges (first, after the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _long_term(samples: Channels, rate: int) -> tuple[Array, Array]:
    """The mean power spectrum, and the frequencies of its bins."""
    size = 4096
    padded = np.pad(samples.mean(axis=1), (0, max(0, size - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 2] * np.hanning(size)
    power = np.zeros(size // 2 + 1)
    for part in np.array_split(frames, max(1, len(frames) // 256)):
        power += np.square(np.abs(np.fft.rfft(part))).sum(axis=0)
    return power / len(frames), np.arange(size // 2 + 1, dtype=np.float64) * (rate / size)


def _clock(seconds: float) -> str:
    """Minutes, seconds and tenths: 0:12.3."""
    return f"{clock(seconds)}.{int(seconds * 10) % 10}"
