"""The gain of picking from N takes, measured by a second scorer that did not pick.

Expectation
    Of n candidates ranked by the first scorer, the one at rank r (from 0) is the best of N random ones with probability
    C(n - r - 1, N - 1) / C(n, N). The expected second score of the pick is therefore computed exactly, not sampled.

Null and oracle
    N = 1 is a random take. The oracle picks the best of the same N by the second score itself.

Diversity
    The mean of 1 - cosine between the picks of two different prompts, on standardised timbre descriptors; it is exact,
    too, because the picks are independent. A scorer that prefers one kind of sound lowers the diversity.

Intervals
    95 %, by a bootstrap over prompts; those of a gain or a loss are paired. One prompt has no interval, nor has one
    pair of prompts. Every N uses the same prompts: those with at least as many candidates as the largest N.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.reward.pick.pick import Pick, Scores, Weights
from cmi.reward.scoring.timbre import timbre
from cmi.stats import Interval, bootstrap, bootstrap_interval
from cmi.take import Axis, Score

RESAMPLES = 1000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RankedPrompt:
    """A prompt's candidates, best first by the scorer that picks."""

    second: tuple[Score, ...]  # each one's score by the second scorer
    timbre: Array  # (n, d), each one's descriptors


@dataclass(frozen=True)
class CurveEstimate:
    mean: float
    interval: Interval | None


@dataclass(frozen=True)
class Point:
    """The second scorer's mean score of what is picked from `n` takes, on one axis."""

    axis: Axis
    n: int
    score: CurveEstimate
    gain: CurveEstimate  # gain over a random take
    oracle: float


@dataclass(frozen=True)
class Diversity:
    """How different the picks of different prompts sound, picked from `n` takes."""

    n: int
    distance: CurveEstimate
    change: CurveEstimate  # from random takes


@dataclass(frozen=True)
class Curve:
    prompts: int
    left_out: int  # prompts with too few candidates
    points: tuple[Point, ...]
    diversity: tuple[Diversity, ...]  # empty if there are fewer than two prompts


def parse_sizes(text: str) -> list[int]:
    """Parse '3,10' as [1, 3, 10]: each N once, in order, with the null N = 1."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise InputError(f"--curve {text!r}: expected numbers of takes such as 1,3,10")
    return sorted({1, *map(int, parts)})


def require_candidates(counts: Sequence[int], sizes: Sequence[int]) -> None:
    """Raise InputError if no prompt has as many candidates as the largest size."""
    most = max(counts, default=0)
    if most < sizes[-1]:
        raise InputError(f"--curve asks for {sizes[-1]} takes of a prompt, and none has more than {most}")


def ranked_prompts(
    picks: Sequence[Pick], second: Scores, on_done: Callable[[], None] = lambda: None
) -> tuple[list[RankedPrompt], list[str]]:
    """Return the prompts for a curve, and notes on takes that the second scorer or the descriptor cannot read."""
    prompts, notes = [], []
    for pick in picks:
        scores, descriptors = [], []
        for take in (ranked.candidate.take for ranked in pick.ranking):
            scored = second[take]
            try:
                if isinstance(scored, InputError):
                    raise scored
                descriptors.append(timbre(take.audio))
                scores.append(scored.score)
            except InputError as error:
                notes.append(str(error))
            on_done()
        prompts.append(RankedPrompt(tuple(scores), np.array(descriptors)))
    return prompts, notes


def chances(candidates: int, size: int) -> Array:
    """Return the probability of each rank, best first, to be the best of `size` random candidates: (candidates,)."""
    draws = math.comb(candidates, size)
    return np.array([math.comb(candidates - rank - 1, size - 1) / draws for rank in range(candidates)])


def pick_curve(
    prompts: Sequence[RankedPrompt],
    sizes: Sequence[int],
    weights: Weights,
    axes: Sequence[Axis] = ("musicality", "alignment"),
) -> Curve:
    """Compute the curve at `sizes`, in ascending order; prompts with fewer candidates than the last are left out.

    `axes` are those that the second scorer measures; the overall score needs both.
    """
    enough = [prompt for prompt in prompts if len(prompt.second) >= sizes[-1]]
    require_candidates([len(prompt.second) for prompt in prompts], sizes)
    return Curve(
        prompts=len(enough),
        left_out=len(prompts) - len(enough),
        points=tuple(_points(enough, sizes, weights, axes)),
        diversity=tuple(_diversity(enough, sizes)) if len(enough) > 1 else (),
    )


def _points(
    prompts: Sequence[RankedPrompt], sizes: Sequence[int], weights: Weights, axes: Sequence[Axis]
) -> list[Point]:
    every: dict[Axis, Weights] = {"overall": weights, "musicality": Weights(1, 0), "alignment": Weights(0, 1)}
    found = []
    for axis, by in every.items():
        if axis not in (axes if len(axes) == 1 else every):
            continue
        scores = [np.array([by.mean(score) for score in prompt.second]) for prompt in prompts]
        by_size = {size: _expected(scores, size) for size in sizes}  # (P,) each
        for size, picked in by_size.items():
            oracle = _expected([-np.sort(-values) for values in scores], size)
            gain = _mean(picked - by_size[1])
            found.append(Point(axis, size, _mean(picked), gain, float(oracle.mean())))
    return found


def _expected(scores: Sequence[Array], size: int) -> Array:
    return np.array([chances(len(values), size) @ values for values in scores])


def _mean(values: Array) -> CurveEstimate:
    draws = bootstrap(lambda weights: weights @ values / weights.sum(axis=1), np.arange(len(values)), RESAMPLES)
    return _estimate(float(values.mean()), draws, len(values))


def _estimate(mean: float, draws: Array, prompts: int) -> CurveEstimate:
    interval = bootstrap_interval(draws, prompts)
    return CurveEstimate(mean, None if math.isnan(interval.low) else interval)


def _diversity(prompts: Sequence[RankedPrompt], sizes: Sequence[int]) -> list[Diversity]:
    directions = _directions([prompt.timbre for prompt in prompts])
    by_size = {}
    for size in sizes:
        expected = np.array([chances(len(unit), size) @ unit for unit in directions])  # (P, d)
        by_size[size] = 1 - expected @ expected.T  # (P, P)
    return [
        Diversity(size, _mean_between(distances), _mean_between(distances - by_size[1]))
        for size, distances in by_size.items()
    ]


def _directions(timbres: Sequence[Array]) -> list[Array]:
    """Return the descriptors, standardised over all takes, at unit length; zeros for a take equal to the mean."""
    stacked = np.concatenate(timbres)
    centred = stacked - stacked.mean(axis=0)
    spread = centred.std(axis=0)
    standard = centred / np.where(spread > 0, spread, 1)
    length = np.linalg.norm(standard, axis=1, keepdims=True)
    unit = standard / np.where(length > 0, length, 1)
    return np.split(unit, np.cumsum([len(timbre) for timbre in timbres])[:-1])


def _mean_between(values: Array) -> CurveEstimate:
    """Return the mean of values (P, P) over pairs of different prompts; a prompt is never paired with itself."""
    others = 1 - np.eye(len(values))

    def mean(weights: Array) -> Array:
        pairs = np.sum((weights @ others) * weights, axis=1)  # 0 if only one prompt was drawn
        total = np.sum((weights @ (values * others)) * weights, axis=1)
        return np.divide(total, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

    draws = bootstrap(mean, np.arange(len(values)), RESAMPLES)
    return _estimate(float(mean(np.ones((1, len(values))))[0]), draws, len(values))
