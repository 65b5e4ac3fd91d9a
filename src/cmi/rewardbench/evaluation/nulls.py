"""Null scorers, which do not use the music itself.

    louder             the level of the first two minutes, in decibels
    longer             the length, in seconds
    brighter           the centroid of the power spectrum of the first two minutes, in hertz
    denser             onsets per second of the first two minutes (peaks of spectral flux)
    first              the take that was shown first; pairs only
    generator prior    a generator's share of won pairs, or its mean rating, on the data set's other prompts
    random             its expectation, in `cmi.rewardbench.evaluation.cells`

The first four can also be run as models, such as `--model cmi.rewardbench.evaluation.nulls:Louder`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform, duration, load, resample
from cmi.rewardbench.items import RatedItem
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
FLOOR = 1e-9  # of amplitude
ONSET_HOP, ONSET_FRAME = 512, 1024  # samples
ONSET_NEAR, ONSET_AROUND = 3, 20  # frames to each side, for the maximum and for the mean
ONSET_RISE = 1.5  # times the mean around
ONSET_SHARE = 0.02  # the least share of the spectrum that is new at an onset

TakeScores = tuple[Score | None, ...]


class TakeFeatures(NamedTuple):
    """Simple features of a recording."""

    loudness: float  # dBFS RMS
    seconds: float
    brightness: float  # hertz
    density: float  # onsets per second


def measure_features(audio: Audio) -> TakeFeatures:
    """Measure a recording; InputError if it cannot be decoded."""
    sound = resample(audio, RATE) if isinstance(audio, Waveform) else load(audio, RATE, SECONDS)
    samples = sound.samples[: round(SECONDS * RATE)]
    loudness = 20 * float(np.log10(max(float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))), FLOOR)))
    return TakeFeatures(loudness, _seconds(audio), _centroid(samples), _onsets(samples) / (len(samples) / RATE))


def _centroid(samples: NDArray[np.float32]) -> float:
    """Return the centroid of the mean power spectrum in hertz; 0 for silence."""
    frames = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
    power = np.square(np.abs(np.fft.rfft(frames * np.hanning(FRAME)))).sum(axis=0)
    total = float(power.sum())
    return float(power @ np.fft.rfftfreq(FRAME, 1 / RATE)) / total if total else 0.0


def _onsets(samples: NDArray[np.float32]) -> int:
    """Count the frames whose spectral flux is a local maximum and clearly above the mean around it."""
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
    except InputError:  # a stream without a stated length
        return load(audio, RATE).seconds


class _FeatureScorer:
    """A scorer that gives one feature as both scores."""

    of: Literal["loudness", "seconds", "brightness", "density"]

    def score(self, takes: Sequence[Take]) -> list[Score]:
        values = [float(getattr(measure_features(take.audio), self.of)) for take in takes]
        return [Score(value, value) for value in values]


class Louder(_FeatureScorer):
    of = "loudness"


class Longer(_FeatureScorer):
    of = "seconds"


class Brighter(_FeatureScorer):
    of = "brightness"


class Denser(_FeatureScorer):
    of = "density"


_BY_FEATURE = {"louder": Louder, "longer": Longer, "brighter": Brighter, "denser": Denser}


def null_scores(items: Sequence[RatedItem], heard: Mapping[Key, Sequence[TakeFeatures | None]]) -> dict[str, Scores]:
    """Return every null's scores of the items; those by features only if `heard` has them."""
    nulls: dict[str, Scores] = {}
    if heard:
        nulls |= {name: _score_feature(items, heard, scorer.of) for name, scorer in _BY_FEATURE.items()}
    nulls["first"] = {key(item): (Score(1.0, 1.0), Score(0.0, 0.0)) for item in items if item.is_pair}
    if any(_generators(item) for item in items):
        nulls["generator prior"] = dict(_priors(items))
    return nulls


def _score_feature(items: Iterable[RatedItem], heard: Mapping[Key, Sequence[TakeFeatures | None]], of: str) -> Scores:
    def scored(one: TakeFeatures | None) -> Score | None:
        return None if one is None else Score(getattr(one, of), getattr(one, of))

    return {key(item): tuple(map(scored, heard.get(key(item), ()))) for item in items}


def _generators(item: RatedItem) -> tuple[str, ...]:
    """Return the generator of each take; empty unless all are known."""
    fields = ("generator_a", "generator_b") if item.is_pair else ("generator",)
    names = tuple(item.about.get(field, "") for field in fields)
    return names if all(names) else ()


def _priors(items: Sequence[RatedItem]) -> Iterator[tuple[Key, TakeScores]]:
    musicality = _GeneratorRecord(items, MUSICALITY_PREFERENCE, MUSICALITY_REGRESSION)
    alignment = _GeneratorRecord(items, ALIGNMENT_PREFERENCE, ALIGNMENT_REGRESSION)
    for item in items:
        names = _generators(item)
        if names:
            yield key(item), tuple(Score(musicality.without(item, g), alignment.without(item, g)) for g in names)


class _GeneratorRecord:
    """The results of each generator on each prompt of a data set, on one axis."""

    def __init__(self, items: Iterable[RatedItem], preference: Task, regression: Task) -> None:
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

    def without(self, item: RatedItem, generator: str) -> float:
        """Return its mean over the other prompts, or that of all generators if there are none; NaN without votes."""
        whole, own = self._all[item.dataset, generator], self._all[item.dataset, generator, item.cluster]
        total, count = whole[0] - own[0], whole[1] - own[1]
        everyone = self._all[(item.dataset,)]
        if not everyone[1]:
            return float("nan")
        return total / count if count else everyone[0] / everyone[1]
