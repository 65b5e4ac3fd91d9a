"""Contamination: do models rank better on data sets that they met in training?

Ranks
    1 is the best of the models that have a value; equal values share their mean rank; the metrics of a data set are
    averaged. Where some model has no value, ranks are stretched to the whole field, so that the last stays the last.

Comparison
    A strong model ranks well everywhere, so that models are compared with themselves: the mean rank on their data sets
    with overlap, minus that on their others; below 0 is better with overlap. Over all models: the mean of these, each
    model counting as often as it has overlaps.

Test
    Exact, on the sum of the ranks with overlap: each model's overlaps are dealt to its data sets in every possible way,
    models independently. p is the share of ways whose sum strays from the expected one by at least as much as what was
    seen, on either side. All ways are counted, none are drawn.

Unknown is a value of its own. 'Others' are those not known to overlap; where a source says 'none' of some, the same is
shown against these alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cmi.bench.analysis.model_scores import Scores
from cmi.bench.analysis.sources import dataset_of
from cmi.bench.analysis.training_data import IMPLIED, NONE, STATED, UNKNOWN, Facts
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Array

ALL_MODELS = "all models"
KINDS = {"stated": (STATED,), "stated or implied": (STATED, IMPLIED)}  # what counts as overlap


@dataclass(frozen=True)
class Place:
    """Where one model ranks on one data set, and what is known of its training on it."""

    model: str
    dataset: str
    rank: Fraction
    overlap: str
    why: str = ""


@dataclass(frozen=True)
class OverlapEffect:
    """Ranks with overlap against ranks without, of one model or of all that have both."""

    model: str
    counted: str  # a key of KINDS
    against: str  # 'not known to overlap' or 'said not to overlap'
    n_with: int
    n_without: int
    rank_with: float
    rank_without: float
    difference: float  # below 0: better with overlap
    p: float


@dataclass(frozen=True)
class Contamination:
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    places: tuple[Place, ...]
    effects: tuple[OverlapEffect, ...]
    notes: tuple[str, ...]


def contamination(scores: Scores, facts: Facts) -> Contamination:
    places = tuple(_places(scores, facts))
    effects = [
        effect
        for against, others in (("not known to overlap", (NONE, UNKNOWN)), ("said not to overlap", (NONE,)))
        for counted, kinds in KINDS.items()
        for effect in overlap_effects(places, counted, kinds, against, others)
    ]
    named = {place.model for place in places}
    return Contamination(
        tuple(dict.fromkeys(model.name for model in scores.models if model.name in named)),
        tuple(name for name in DATASETS if any(place.dataset == name for place in places)),
        places,
        tuple(effects),
        scores.notes,
    )


def _places(scores: Scores, facts: Facts) -> list[Place]:
    """A model of the user's and a published one may share a key, and so what is known of them."""
    by_dataset: dict[str, list[int]] = {}
    for i, column in enumerate(scores.columns):
        by_dataset.setdefault(dataset_of(column.row, column.metric), []).append(i)
    places = []
    for dataset, columns in by_dataset.items():
        ranked = [ranks(scores.values[:, i], scores.columns[i].better) for i in columns]
        for row, model in enumerate(scores.models):
            own = [one[row] for one in ranked if row in one]
            if own:
                fact = facts.get((model.key, dataset))
                known = (fact.overlap, fact.why) if fact else (UNKNOWN, "")
                places.append(Place(model.name, dataset, sum(own, Fraction(0)) / len(own), *known))
    return places


def ranks(values: Array, better: str) -> dict[int, Fraction]:
    """The rank of each model that has a value, stretched to the whole field; none where fewer than two have one."""
    there = np.flatnonzero(np.isfinite(values)).tolist()
    if len(there) < 2:
        return {}
    stretch = Fraction(len(values) - 1, len(there) - 1)
    sign = 1 if better == "higher" else -1
    found = {}
    for i in there:
        ahead = sum(sign * values[j] > sign * values[i] for j in there)
        level = sum(values[j] == values[i] for j in there)
        found[i] = 1 + stretch * (Fraction(int(ahead)) + Fraction(int(level) - 1, 2))
    return found


def overlap_effects(
    places: Sequence[Place], counted: str, kinds: Sequence[str], against: str, others: Sequence[str]
) -> list[OverlapEffect]:
    """The effect for each model that has places on both sides, and for all of these together."""
    sides: dict[str, tuple[list[Fraction], list[Fraction]]] = {}
    for place in places:
        if place.overlap in kinds or place.overlap in others:
            sides.setdefault(place.model, ([], []))[place.overlap in others].append(place.rank)
    both = {model: side for model, side in sides.items() if side[0] and side[1]}
    effects = [_effect(model, {model: side}, counted, against) for model, side in both.items()]
    return effects + ([_effect(ALL_MODELS, both, counted, against)] if len(both) > 1 else [])


def _effect(
    name: str, sides: Mapping[str, tuple[list[Fraction], list[Fraction]]], counted: str, against: str
) -> OverlapEffect:
    with_, without = ([rank for side in sides.values() for rank in side[k]] for k in (0, 1))
    return OverlapEffect(
        name,
        counted,
        against,
        len(with_),
        len(without),
        float(_mean(with_)),
        float(_mean(without)),
        float(sum(((_mean(a) - _mean(b)) * len(a) for a, b in sides.values()), Fraction(0)) / len(with_)),
        exact_p(list(sides.values())),
    )


def exact_p(sides: Sequence[tuple[list[Fraction], list[Fraction]]]) -> float:
    """Two-sided: how often overlaps dealt at random have a sum of ranks as far from the expected one as what was seen.

    `sides` has each model's ranks with overlap and without.
    """
    total: Counter[Fraction] = Counter({Fraction(0): 1})
    seen = expected = Fraction(0)
    for with_, without in sides:
        pool = [*with_, *without]
        seen += sum(with_, Fraction(0))
        expected += len(with_) * _mean(pool)
        total = _convolved(total, _sums_of(pool, len(with_)))
    as_far = sum(ways for value, ways in total.items() if abs(value - expected) >= abs(seen - expected))
    return as_far / total.total()


def _sums_of(pool: Sequence[Fraction], k: int) -> Counter[Fraction]:
    """How many subsets of size k have each sum."""
    by_size: list[Counter[Fraction]] = [Counter({Fraction(0): 1}), *(Counter[Fraction]() for _ in range(k))]
    for rank in pool:
        for size in range(k, 0, -1):
            for value, ways in by_size[size - 1].items():
                by_size[size][value + rank] += ways
    return by_size[k]


def _convolved(a: Counter[Fraction], b: Counter[Fraction]) -> Counter[Fraction]:
    result: Counter[Fraction] = Counter()
    for x, ways_x in a.items():
        for y, ways_y in b.items():
            result[x + y] += ways_x * ways_y
    return result


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
