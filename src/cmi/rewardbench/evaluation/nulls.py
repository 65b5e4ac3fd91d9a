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
from typing import Literal

from cmi.features import TakeFeatures, measure_features
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
from cmi.take import Score, Take

TakeScores = tuple[Score | None, ...]


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
    if any(generators_of(item) for item in items):
        nulls["generator prior"] = dict(_priors(items))
    return nulls


def _score_feature(items: Iterable[RatedItem], heard: Mapping[Key, Sequence[TakeFeatures | None]], of: str) -> Scores:
    def scored(one: TakeFeatures | None) -> Score | None:
        return None if one is None else Score(getattr(one, of), getattr(one, of))

    return {key(item): tuple(map(scored, heard.get(key(item), ()))) for item in items}


def generators_of(item: RatedItem) -> tuple[str, ...]:
    """Return the generator of each take; empty unless all are known."""
    fields = ("generator_a", "generator_b") if item.is_pair else ("generator",)
    names = tuple(item.about.get(field, "") for field in fields)
    return names if all(names) else ()


def _priors(items: Sequence[RatedItem]) -> Iterator[tuple[Key, TakeScores]]:
    musicality = _GeneratorRecord(items, MUSICALITY_PREFERENCE, MUSICALITY_REGRESSION)
    alignment = _GeneratorRecord(items, ALIGNMENT_PREFERENCE, ALIGNMENT_REGRESSION)
    for item in items:
        names = generators_of(item)
        if names:
            yield key(item), tuple(Score(musicality.without(item, g), alignment.without(item, g)) for g in names)


class _GeneratorRecord:
    """The results of each generator on each prompt of a data set, on one axis."""

    def __init__(self, items: Iterable[RatedItem], preference: Task, regression: Task) -> None:
        self._all: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])  # sum, count
        for item in items:
            names, task = generators_of(item), preference if item.is_pair else regression
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
