"""What optimisation changed: every measure against the songs before it, prompt by prompt.

A point is a method after some steps, or the best of N songs. Its changes are means over prompts of the difference from
the songs that the learned generator wrote for the same prompt, over all seeds; intervals are by a bootstrap over
prompts (95 %). Best of N is exact over all choices of N of a prompt's songs; its null is a random song, a change of 0.
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from take_rewards import Array, combine_truth

from cmi._util.errors import InputError
from cmi.reward.pick.curve import chances
from cmi.stats.correlation import spearman
from cmi.stats.intervals import Interval, bootstrap, percentile_interval
from cmi.stats.predictions import detection

BEFORE = "before"
CLEAN = "clean"
MEASURES = ("reward", "musicality", "alignment", "second", "truth", "clean", "in_key", "heeded")
PICKED_BY = {
    "reward": "best of N",
    "normalised": "by both, normalised",
    "musicality": "by musicality",
    "alignment": "by alignment",
    "truth": "by truth",
}
SIZES = (2, 4, 8, 16, 32, 64)

Row = dict[str, Any]


class Change(NamedTuple):
    mean: float
    interval: Interval


class Point(NamedTuple):
    """`at` is the step, or N; `by_prompt` are the changes (P,) that the means are of."""

    method: str
    at: int
    seeds: int
    kl: float
    diversity: float | None
    by_prompt: Mapping[str, Array]

    def change(self, measure: str) -> Change:
        return estimate(self.by_prompt[measure])


class HeardFlaw(NamedTuple):
    """How musical nano finds songs with a flaw, how often it prefers one without, and how common the flaw is."""

    flaw: str
    songs: int
    musicality: float
    found: Change
    shares: Mapping[str, float]  # of songs, by method


def estimate(values: Array) -> Change:
    if not len(values):
        return Change(math.nan, Interval(math.nan, math.nan))
    draws = bootstrap(lambda weights: weights @ values / weights.sum(axis=1), np.arange(len(values)))
    return Change(float(values.mean()), percentile_interval(draws))


def read_results(folder: Path) -> dict[str, list[list[Row]]]:
    """The measurements of each seed, by method. A line that is not whole (the run was killed) is left out."""
    found: defaultdict[str, list[list[Row]]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        rows = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                break
        if rows:
            found[path.stem.rpartition("-")[0]].append(rows)
    if BEFORE not in found:
        raise InputError(f"{folder}: no {BEFORE}-1.jsonl; run.py writes it, and every curve starts from it")
    return dict(found)


def points_of(results: Mapping[str, Sequence[Sequence[Row]]]) -> list[Point]:
    """Best of N, then each method after the steps that all of its seeds were measured at."""
    before = results[BEFORE][0][0]
    start = {name: values.mean(axis=1) for name, values in _by_prompt(before).items()}
    found = best_of_n(before)
    for method, seeds in results.items():
        if method == BEFORE:
            continue
        for step in sorted(set.intersection(*({row["step"] for row in rows} for rows in seeds))):
            rows = [next(row for row in own if row["step"] == step) for own in seeds]
            values = [_by_prompt(row) for row in rows]
            changes = {
                name: np.mean([own[name].mean(axis=1) for own in values], axis=0) - start[name] for name in MEASURES
            }
            kl, different = (float(np.mean([np.mean(row[name]) for row in rows])) for name in ("kl", "diversity"))
            found.append(Point(method, step, len(seeds), kl, different, changes))
    return found


def best_of_n(before: Row) -> list[Point]:
    """The best of N by each of PICKED_BY; its KL is at most log N - (N - 1) / N."""
    values = _by_prompt(before)
    songs = values["reward"].shape[1]
    sizes = sorted({min(size, songs) for size in SIZES})
    normalised = sum(_normalise(values[axis]) for axis in ("musicality", "alignment"))
    found = []
    for by, method in PICKED_BY.items():
        order = np.argsort(-(normalised if by == "normalised" else values[by]), axis=1, kind="stable")
        for size in sizes:
            likely = chances(songs, size)
            changes = {
                name: np.take_along_axis(own, order, axis=1) @ likely - own.mean(axis=1) for name, own in values.items()
            }
            found.append(Point(method, size, 1, math.log(size) - (size - 1) / size, None, changes))
    return found


def highest_truth(points: Sequence[Point]) -> tuple[Point, Point, Change, Change]:
    """Of one method: where the truth is highest, the end, and what truth and reward change from there to the end."""
    peak, last = max(points, key=lambda point: float(point.by_prompt["truth"].mean())), points[-1]
    truth, reward = (estimate(last.by_prompt[name] - peak.by_prompt[name]) for name in ("truth", "reward"))
    return peak, last, truth, reward


def agreement(before: Row, scorer: str, part: str) -> Change:
    """The rank correlation of a scorer with a part of the truth among the songs of a prompt, in the mean over prompts.

    Prompts whose songs are all alike in either are left out.
    """
    values = _by_prompt(before)
    found = np.array([spearman(*own) for own in zip(values[scorer], values[part], strict=True)])
    return estimate(found[np.isfinite(found)])


def heard_flaws(results: Mapping[str, Sequence[Sequence[Row]]]) -> list[HeardFlaw]:
    """Each flaw of the songs before, those that nano hears least first; and how common it is after each method."""
    songs = results[BEFORE][0][0]["songs"]
    after = {
        method: [song["flaw"] for rows in seeds for song in rows[-1]["songs"]] for method, seeds in results.items()
    }
    found = []
    for flaw in sorted({song["flaw"] for song in songs} - {CLEAN}):
        compared = [song for song in songs if song["flaw"] in (CLEAN, flaw)]
        scores = np.array([song["musicality"] for song in compared])
        is_clean = np.array([song["flaw"] == CLEAN for song in compared])
        shares = {method: flaws.count(flaw) / len(flaws) for method, flaws in after.items()}
        rightly = _area(scores, is_clean, np.array([song["prompt"] for song in compared]))
        found.append(HeardFlaw(flaw, int((~is_clean).sum()), float(scores[~is_clean].mean()), rightly, shares))
    return sorted(found, key=lambda one: one.found.mean)


def _area(scores: Array, is_clean: NDArray[np.bool_], prompts: NDArray[np.int64]) -> Change:
    """How often a clean song has the higher score, with 95 % over prompts."""
    codes = np.unique(prompts, return_inverse=True)[1]

    def area(weights: Array) -> Array:
        return np.asarray(detection(scores, is_clean, weights).roc_auc, np.float64)

    return Change(float(area(np.ones((1, len(scores))))[0]), percentile_interval(bootstrap(area, codes)))


def _normalise(values: Array) -> Array:
    """Mean 0 and deviation 1 among the songs of each prompt, as GRPO does with a reward of its own."""
    return (values - values.mean(axis=1, keepdims=True)) / (values.std(axis=1, keepdims=True) + 1e-6)


def _by_prompt(row: Row) -> dict[str, Array]:
    """(prompts, songs) of each measure."""
    prompts = 1 + max(song["prompt"] for song in row["songs"])
    kept = [name for name in MEASURES if name != "truth"]
    values = {name: np.array([song[name] for song in row["songs"]]).reshape(prompts, -1) for name in kept}
    return {**values, "truth": combine_truth(values["clean"], values["in_key"], values["heeded"])}
