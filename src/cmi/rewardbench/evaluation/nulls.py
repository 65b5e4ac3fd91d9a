"""Nulls: what a scorer gets that does not listen to the music. One that is not above them has not been shown to listen.

    louder             the level of the first two minutes, in decibels
    longer             the length, in seconds
    brighter           the centroid of the power spectrum of the first two minutes, in hertz
    denser             onsets per second of the first two minutes: peaks of what is new in the spectrum
    first              the take that was shown first; says nothing of a take on its own
    generator prior    how a generator fares on the data set's other prompts: its share of won pairs, its mean rating
    random             by its expectation, in `cmi.rewardbench.evaluation.cells`

The first four are scorers of their own too, such as `--model cmi.rewardbench.evaluation.nulls:Louder`. The prior leaves
out all items of the prompt that it is asked about, so that it knows nothing of the answer but what other prompts tell.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform, duration, load, resample
from cmi.rewardbench.items import Item
from cmi.rewardbench.tasks import (
    ALIGNMENT_PREFERENCE,
    ALIGNMENT_REGRESSION,
    DECIDED,
    MUSICALITY_PREFERENCE,
    MUSICALITY_REGRESSION,
    Key,
    Scores,
    Task,
    key,
)
from cmi.take import Audio, Score, Take

RATE = 22_050
SECONDS = 120.0
FRAME = 4096  # samples
FLOOR = 1e-9  # of amplitude, below which nothing is heard
ONSET_HOP, ONSET_FRAME = 512, 1024  # samples
ONSET_NEAR, ONSET_AROUND = 3, 20  # frames to each side: what a peak must top, and what it must stand out from
ONSET_RISE = 1.5  # times the mean around
ONSET_SHARE = 0.02  # of all that sounds: less is no onset

TakeScores = tuple[Score | None, ...]


class Heard(NamedTuple):
    """What can be known of a recording without listening to the music."""

    loudness: float  # dBFS RMS
    seconds: float
    brightness: float  # hertz
    density: float  # onsets per second


def hear(audio: Audio) -> Heard:
    """InputError if it can't be decoded."""
    sound = resample(audio, RATE) if isinstance(audio, Waveform) else load(audio, RATE, SECONDS)
    samples = sound.samples[: round(SECONDS * RATE)]
    loudness = 20 * float(np.log10(max(float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))), FLOOR)))
    return Heard(loudness, _seconds(audio), _centroid(samples), _onsets(samples) / (len(samples) / RATE))


def _centroid(samples: NDArray[np.float32]) -> float:
    """Of the mean power spectrum, in hertz; 0 for silence."""
    frames = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
    power = np.square(np.abs(np.fft.rfft(frames * np.hanning(FRAME)))).sum(axis=0)
    total = float(power.sum())
    return float(power @ np.fft.rfftfreq(FRAME, 1 / RATE)) / total if total else 0.0


def _onsets(samples: NDArray[np.float32]) -> int:
    """How many frames have more that is new in their spectrum than those near, and clearly more than those around."""
    if len(samples) < 2 * ONSET_FRAME:
        return 0
    frames = sliding_window_view(samples, ONSET_FRAME)[::ONSET_HOP] * np.hanning(ONSET_FRAME).astype(np.float32)
    spectrum = np.log1p(np.abs(np.fft.rfft(frames)))  # (T, 513)
    new = np.maximum(np.diff(spectrum, axis=0), 0).sum(axis=1)  # (T - 1,)
    near = sliding_window_view(np.pad(new, ONSET_NEAR), 2 * ONSET_NEAR + 1).max(axis=1)
    around = sliding_window_view(np.pad(new, ONSET_AROUND, mode="reflect"), 2 * ONSET_AROUND + 1).mean(axis=1)
    enough = np.maximum(ONSET_RISE * around, ONSET_SHARE * spectrum[1:].sum(axis=1))
    return int(((new == near) & (new > enough)).sum())


def _seconds(audio: Audio) -> float:
    if isinstance(audio, Waveform):
        return audio.seconds
    try:
        return duration(audio)
    except InputError:  # a stream whose header leaves it open
        return load(audio, RATE).seconds


class _ByEar:
    """A scorer that gives one thing it hears as both scores."""

    of: Literal["loudness", "seconds", "brightness", "density"]

    def score(self, takes: Sequence[Take]) -> list[Score]:
        values = [float(getattr(hear(take.audio), self.of)) for take in takes]
        return [Score(value, value) for value in values]


class Louder(_ByEar):
    of = "loudness"


class Longer(_ByEar):
    of = "seconds"


class Brighter(_ByEar):
    of = "brightness"


class Denser(_ByEar):
    of = "density"


BY_EAR: Mapping[str, type[_ByEar]] = {"louder": Louder, "longer": Longer, "brighter": Brighter, "denser": Denser}


def null_scores(items: Sequence[Item], heard: Mapping[Key, Sequence[Heard | None]]) -> dict[str, Scores]:
    """Every null's scores of the items; those by ear where something was heard."""
    nulls: dict[str, Scores] = {}
    if heard:
        nulls |= {name: _by_ear(items, heard, scorer.of) for name, scorer in BY_EAR.items()}
    nulls["first"] = {key(item): (Score(1.0, 1.0), Score(0.0, 0.0)) for item in items if item.is_pair}
    if any(_generators(item) for item in items):
        nulls["generator prior"] = dict(_priors(items))
    return nulls


def _by_ear(items: Iterable[Item], heard: Mapping[Key, Sequence[Heard | None]], of: str) -> Scores:
    def scored(one: Heard | None) -> Score | None:
        return None if one is None else Score(getattr(one, of), getattr(one, of))

    return {key(item): tuple(map(scored, heard.get(key(item), ()))) for item in items}


def _generators(item: Item) -> tuple[str, ...]:
    """The generator of each take; nothing unless all are known."""
    fields = ("generator_a", "generator_b") if item.is_pair else ("generator",)
    names = tuple(item.about.get(field, "") for field in fields)
    return names if all(names) else ()


def _priors(items: Sequence[Item]) -> Iterator[tuple[Key, TakeScores]]:
    musicality = _Fame(items, MUSICALITY_PREFERENCE, MUSICALITY_REGRESSION)
    alignment = _Fame(items, ALIGNMENT_PREFERENCE, ALIGNMENT_REGRESSION)
    for item in items:
        names = _generators(item)
        if names:
            yield key(item), tuple(Score(musicality.without(item, g), alignment.without(item, g)) for g in names)


class _Fame:
    """What each generator got on each prompt of a data set, on one axis."""

    def __init__(self, items: Iterable[Item], preference: Task, regression: Task) -> None:
        self._all: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])  # sum, count
        for item in items:
            names, task = _generators(item), preference if item.is_pair else regression
            axis = task.axis(item)
            if not names or axis is None:
                continue
            won = DECIDED[item.votes[axis].choice] if item.is_pair else item.ratings[axis]
            for name, value in zip(names, (won, 1 - won), strict=False):
                for place in ((item.dataset, name), (item.dataset, name, item.cluster), (item.dataset,)):
                    self._all[place][0] += value
                    self._all[place][1] += 1

    def without(self, item: Item, generator: str) -> float:
        """Its mean over the other prompts; that of all generators where there is no other. NaN where nobody voted."""
        whole, own = self._all[item.dataset, generator], self._all[item.dataset, generator, item.cluster]
        total, count = whole[0] - own[0], whole[1] - own[1]
        everyone = self._all[(item.dataset,)]
        if not everyone[1]:
            return float("nan")
        return total / count if count else everyone[0] / everyone[1]
