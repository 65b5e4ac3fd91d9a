"""Bias by tag: how well a model's answers find each tag, and whether some groups of tags fare worse (figure 2).

Metrics, times 100
    ROC         ROC-AUC of one tag over all clips. Without ears: 50, whatever the tag.
    PR          Average precision of one tag. Without ears: the tag's prevalence, so that a frequent tag has it easier.
    PR - null   PR above that prevalence.

Truths and scores are those of `cmi.bench.tasks._tags`: under `paper` a clip has every tag whose letters occur in its
truth, so that each 'female' is a 'male' too; use `strict` to compare voices.

Intervals
    95 %, by a bootstrap over recordings: all tags, groups and contrasts on the same draws. A draw repeats positives,
    which lifts average precision, so that draws are moved onto the value, as `cmi bench score` does.
    They are not adjusted for the number of tags or contrasts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.analysis.tag_families import NO_GROUP, TAGGING, Contrast, Family
from cmi.bench.evaluation import Array, Evaluation, Protocol, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.prompts import labels_of
from cmi.bench.scoring.one_file import BLOCK, FEWEST_RECORDINGS, SEED, Items, Remembered
from cmi.bench.scoring.responses import ResponseFile, ResponseSet
from cmi.bench.tasks import load_task
from cmi.stats.detection import detection
from cmi.stats.intervals import Interval, cluster_weights, percentile_interval

METRICS = ("ROC", "PR", "PR - null")
CHANCE = 50.0  # ROC-AUC of scores that know nothing


@dataclass(frozen=True)
class TagScore:
    """One tag of one model's answers. Numbers that do not exist are None."""

    model: str
    dataset: str
    tag: str
    family: str
    group: str
    positives: int
    n: int
    roc: float | None
    roc_low: float | None
    roc_high: float | None
    pr: float | None
    pr_low: float | None
    pr_high: float | None
    pr_null: float  # prevalence; that of ROC is CHANCE
    few: bool  # positives on fewer recordings than a bootstrap can be trusted with


@dataclass(frozen=True)
class GroupContrast:
    """The mean over the tags of some groups minus the mean over those of others."""

    model: str
    dataset: str
    family: str
    contrast: str
    metric: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    tags_a: int
    tags_b: int
    verdict: str  # 'a higher', 'b higher' or 'not told apart'


@dataclass(frozen=True)
class Bias:
    """All tags of one response file, the mean over them, and the contrasts between their groups."""

    model: str
    dataset: str
    n: int
    unparsed: int
    mean_roc: float | None
    mean_pr: float | None
    tags: tuple[TagScore, ...]
    contrasts: tuple[GroupContrast, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure_bias(
    file: ResponseFile,
    families: Sequence[Family],
    protocol: Protocol,
    tools: Tools,
    annotations: Path | None = None,
    resamples: int = 1000,
    on_drawn: Callable[[int], None] = lambda count: None,
) -> Bias:
    """The tags of one response file of a tagging data set. `on_drawn` is told how many more draws are done."""
    dataset = file.dataset.name
    if dataset not in TAGGING:
        raise InputError(f"{file.path}: {dataset} has no tags; name files of {', '.join(TAGGING)}")
    items = Items(Remembered(ResponseSet(file, annotations)), answered_only=protocol == "paper")
    evaluation = load_task(file.dataset).evaluate(items, Setting(dataset, protocol, file.model, tools))
    if evaluation.metrics[0].not_computed:
        raise InputError(f"{file.path}: {evaluation.metrics[0].not_computed}")
    if not evaluation.n:
        raise InputError(f"{file.path}: none of its questions has an answer; use --protocol strict, which counts them")
    own = [family for family in families if family.dataset == dataset]
    measured = _Measured(
        file.model,
        dataset,
        labels_of(dataset),
        evaluation,
        by_tag(evaluation, np.ones((1, evaluation.n)))[0],
        _draws(evaluation, resamples, on_drawn),
    )
    mean_roc, mean_pr, _ = _mean_of_defined(measured.values.T)
    named = [(family, contrast) for family in own for contrast in family.contrasts]
    return Bias(
        file.model,
        dataset,
        evaluation.n,
        evaluation.unparsed,
        _finite(mean_roc),
        _finite(mean_pr),
        tuple(_tag_scores(measured, own)),
        tuple(one for family, contrast in named for one in _contrasts(measured, family, contrast)),
        evaluation.notes,
    )


class _Measured(NamedTuple):
    """One file's tags in numbers."""

    model: str
    dataset: str
    tags: tuple[str, ...]
    evaluation: Evaluation
    values: Array  # (tags, metrics)
    draws: Array  # (draws, tags, metrics)


def by_tag(evaluation: Evaluation, weights: Array) -> Array:
    """Every metric of every tag under weights (b, n): (b, tags, metrics). NaN where a tag has no positives."""
    scores, truth = np.split(evaluation.statistics, 2, axis=1)  # (n, tags) each
    found = [detection(scores[:, i], truth[:, i] > 0, weights) for i in range(scores.shape[1])]
    roc, pr = (100 * np.stack([one[k] for one in found], axis=1) for k in (0, 1))
    null = 100 * (weights @ (truth > 0)) / weights.sum(axis=1, keepdims=True)
    return np.stack([roc, pr, pr - null], axis=2)


def _draws(evaluation: Evaluation, resamples: int, on_drawn: Callable[[int], None]) -> Array:
    blocks = []
    for weights in cluster_weights(evaluation.clusters, resamples, SEED, max(1, BLOCK // evaluation.n)):
        blocks.append(by_tag(evaluation, weights))
        on_drawn(len(weights))
    return np.concatenate(blocks)


def _tag_scores(measured: _Measured, families: Sequence[Family]) -> list[TagScore]:
    place = {tag: (one.name, group) for one in families for group, tags in one.groups.items() for tag in tags}
    evaluation, values = measured.evaluation, measured.values
    truth = np.split(evaluation.statistics, 2, axis=1)[1] > 0
    scores = []
    for i, tag in enumerate(measured.tags):
        positives = int(truth[:, i].sum())
        family, group = place.get(tag, (NO_GROUP, NO_GROUP))
        roc, pr = (_within_scale(_moved_interval(values[i, k], measured.draws[:, i, k])) for k in (0, 1))
        scores.append(
            TagScore(
                model=measured.model,
                dataset=measured.dataset,
                tag=tag,
                family=family,
                group=group,
                positives=positives,
                n=evaluation.n,
                roc=_finite(values[i, 0]),
                roc_low=_finite(roc.low),
                roc_high=_finite(roc.high),
                pr=_finite(values[i, 1]),
                pr_low=_finite(pr.low),
                pr_high=_finite(pr.high),
                pr_null=100 * positives / evaluation.n,
                few=len(np.unique(evaluation.clusters[truth[:, i]])) < FEWEST_RECORDINGS,
            )
        )
    return scores


def _contrasts(measured: _Measured, family: Family, contrast: Contrast) -> list[GroupContrast]:
    """One contrast in every metric, over the tags that some clip has."""
    defined = {tag: i for i, tag in enumerate(measured.tags) if np.isfinite(measured.values[i]).all()}
    a, b = ([defined[tag] for tag in family.tags(side) if tag in defined] for side in (contrast.a, contrast.b))
    found = []
    for k, metric in enumerate(METRICS):
        mean_a, mean_b = (float(_mean_of_defined(measured.values[np.newaxis, side, k])[0]) for side in (a, b))
        draws = _mean_of_defined(measured.draws[:, a, k]) - _mean_of_defined(measured.draws[:, b, k])
        interval = _moved_interval(mean_a - mean_b, draws)
        found.append(
            GroupContrast(
                model=measured.model,
                dataset=measured.dataset,
                family=family.name,
                contrast=contrast.name,
                metric=metric,
                a=_finite(mean_a),
                b=_finite(mean_b),
                difference=_finite(mean_a - mean_b),
                low=_finite(interval.low),
                high=_finite(interval.high),
                tags_a=len(a),
                tags_b=len(b),
                verdict=_verdict(interval),
            )
        )
    return found


def _mean_of_defined(draws: Array) -> Array:
    """The mean over the tags (b, tags) that a draw has positives of; NaN if of none."""
    defined = np.isfinite(draws)
    with np.errstate(invalid="ignore"):
        return np.where(defined, draws, 0.0).sum(axis=1) / defined.sum(axis=1)


def _moved_interval(value: float, draws: Array) -> Interval:
    """The percentile interval of draws whose mean is moved onto the value."""
    finite = draws[np.isfinite(draws)]
    if not math.isfinite(value) or not len(finite):
        return Interval(math.nan, math.nan)
    return percentile_interval(finite + value - finite.mean())


def _within_scale(interval: Interval) -> Interval:
    return Interval(*(min(max(end, 0.0), 100.0) if math.isfinite(end) else end for end in interval))


def _verdict(interval: Interval) -> str:
    if interval.low > 0:
        return "a higher"
    return "b higher" if interval.high < 0 else "not told apart"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
