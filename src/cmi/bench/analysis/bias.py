"""Bias by tag: how well a model's answers find each tag, and whether some groups of tags fare worse (figure 2).

Metrics, times 100
    ROC         ROC-AUC of one tag over all clips. Without the audio: 50 for every tag.
    PR          Average precision of one tag. Without the audio: the tag's prevalence, which favours frequent tags.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.analysis.tag_families import NO_GROUP, Contrast, TagFamily
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Array, Evaluation, Protocol, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import Items, Remembered
from cmi.bench.scoring.responses import ResponseFile, ResponseSet
from cmi.bench.tasks import load_task
from cmi.report.numbers import interval, number, signed
from cmi.report.pictures import QUIET, colours, new_figure, save_picture
from cmi.report.tables import Table, sentence
from cmi.stats.comparison import FEWEST_TESTED, draw, finite
from cmi.stats.intervals import Interval, percentile_interval
from cmi.stats.predictions import detection

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
class TagBias:
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


def measure_bias(
    file: ResponseFile,
    families: Sequence[TagFamily],
    protocol: Protocol,
    tools: Tools,
    annotations: Path | None = None,
    resamples: int = 1000,
    on_drawn: Callable[[int], None] = lambda count: None,
) -> TagBias:
    """Analyse one response file of a tagging data set. `on_drawn` gets the number of new draws."""
    dataset = file.dataset.name
    if not file.dataset.is_multi_label:
        raise InputError(f"{file.path}: {dataset} has no tags; name files of {', '.join(DATASETS.multi_label)}")
    items = Items(Remembered(ResponseSet(file, annotations)), answered_only=protocol == "paper")
    evaluation = load_task(file.dataset).evaluate(items, Setting(dataset, protocol, file.model, tools))
    if evaluation.metrics[0].not_computed:
        raise InputError(f"{file.path}: {evaluation.metrics[0].not_computed}")
    if not evaluation.n:
        raise InputError(f"{file.path}: none of its questions has an answer; use --protocol strict, which counts them")
    own = [family for family in families if family.dataset == dataset]

    def drawn(weights: Array) -> Array:
        on_drawn(len(weights))
        return by_tag(evaluation, weights)

    measured = _MeasuredTags(
        file,
        evaluation,
        by_tag(evaluation, np.ones((1, evaluation.n)))[0],
        draw({dataset: drawn}, evaluation.clusters, resamples)[dataset],
    )
    mean_roc, mean_pr, _ = map(finite, _mean_of_defined(measured.values.T))
    named = [(family, contrast) for family in own for contrast in family.contrasts]
    return TagBias(
        *(file.model, dataset, evaluation.n, evaluation.unparsed, mean_roc, mean_pr),
        tuple(_tag_scores(measured, own)),
        tuple(one for family, contrast in named for one in _contrasts(measured, family, contrast)),
        evaluation.notes,
    )


class _MeasuredTags(NamedTuple):
    """One file's tags in numbers."""

    file: ResponseFile
    evaluation: Evaluation
    values: Array  # (tags, metrics)
    draws: Array  # (draws, tags, metrics)


def by_tag(evaluation: Evaluation, weights: Array) -> Array:
    """Compute every metric of every tag under weights (b, n): (b, tags, metrics), NaN without positives."""
    scores, truth = np.split(evaluation.statistics, 2, axis=1)  # (n, tags) each
    found = [detection(scores[:, i], truth[:, i] > 0, weights) for i in range(scores.shape[1])]
    roc, pr = (100 * np.stack([one[k] for one in found], axis=1) for k in (0, 1))
    null = 100 * (weights @ (truth > 0)) / weights.sum(axis=1, keepdims=True)
    return np.stack([roc, pr, pr - null], axis=2)


def _tag_scores(measured: _MeasuredTags, families: Sequence[TagFamily]) -> list[TagScore]:
    place = {tag: (one.name, group) for one in families for group, tags in one.groups.items() for tag in tags}
    evaluation, values = measured.evaluation, measured.values
    truth = np.split(evaluation.statistics, 2, axis=1)[1] > 0
    scores = []
    for i, tag in enumerate(measured.file.dataset.classes):
        positives = int(truth[:, i].sum())
        family, group = place.get(tag, (NO_GROUP, NO_GROUP))
        roc, pr = (_within_scale(_moved_interval(values[i, k], measured.draws[:, i, k])) for k in (0, 1))
        scores.append(
            TagScore(
                model=measured.file.model,
                dataset=measured.file.dataset.name,
                tag=tag,
                family=family,
                group=group,
                positives=positives,
                n=evaluation.n,
                roc=finite(values[i, 0]),
                roc_low=finite(roc.low),
                roc_high=finite(roc.high),
                pr=finite(values[i, 1]),
                pr_low=finite(pr.low),
                pr_high=finite(pr.high),
                pr_null=100 * positives / evaluation.n,
                few=len(np.unique(evaluation.clusters[truth[:, i]])) < FEWEST_TESTED,
            )
        )
    return scores


def _contrasts(measured: _MeasuredTags, family: TagFamily, contrast: Contrast) -> list[GroupContrast]:
    """One contrast in every metric, over the tags that some clip has."""
    defined = {tag: i for i, tag in enumerate(measured.file.dataset.classes) if np.isfinite(measured.values[i]).all()}
    a, b = ([defined[tag] for tag in family.tags(side) if tag in defined] for side in (contrast.a, contrast.b))
    found = []
    for k, metric in enumerate(METRICS):
        mean_a, mean_b = (float(_mean_of_defined(measured.values[np.newaxis, side, k])[0]) for side in (a, b))
        draws = _mean_of_defined(measured.draws[:, a, k]) - _mean_of_defined(measured.draws[:, b, k])
        ends = _moved_interval(mean_a - mean_b, draws)
        found.append(
            GroupContrast(
                model=measured.file.model,
                dataset=measured.file.dataset.name,
                family=family.name,
                contrast=contrast.name,
                metric=metric,
                a=finite(mean_a),
                b=finite(mean_b),
                difference=finite(mean_a - mean_b),
                low=finite(ends.low),
                high=finite(ends.high),
                tags_a=len(a),
                tags_b=len(b),
                verdict=_verdict(ends),
            )
        )
    return found


def _mean_of_defined(draws: Array) -> Array:
    """Average over the tags (b, tags) that have positives in a draw; NaN if none has."""
    defined = np.isfinite(draws)
    with np.errstate(invalid="ignore"):
        return np.where(defined, draws, 0.0).sum(axis=1) / defined.sum(axis=1)


def _moved_interval(value: float, draws: Array) -> Interval:
    """Return the percentile interval of the draws, centred on the value."""
    defined = draws[np.isfinite(draws)]
    if not math.isfinite(value) or not len(defined):
        return Interval(math.nan, math.nan)
    return percentile_interval(defined + value - defined.mean())


def _within_scale(ends: Interval) -> Interval:
    return Interval(*(min(max(end, 0.0), 100.0) if math.isfinite(end) else end for end in ends))


def _verdict(ends: Interval) -> str:
    return "a higher" if ends.low > 0 else "b higher" if ends.high < 0 else "not told apart"


OTHER = "other"
_VERDICT = {"a higher": "▲", "b higher": "▼", "not told apart": "·"}
_TAG_HEADERS = ["family", "group", "tag", "positives", "ROC", "95 %", "v 50", "PR", "95 %", "null", "v null"]
_CONTRAST_HEADERS = ["family", "contrast", "metric", "a", "b", "a - b", "95 %", "tags a", "tags b", ""]


def bias_tables(results: Sequence[TagBias], protocol: str) -> list[Table]:
    pairs = ((_tag_table(bias, protocol), _contrast_table(bias, protocol)) for bias in results)
    return [table for pair in pairs for table in pair if table.rows]


def _tag_table(bias: TagBias, protocol: str) -> Table:
    rows = [
        [
            *(tag.family or OTHER, tag.group or "", tag.tag, f"{tag.positives}{' *' if tag.few else ''}"),
            *(number(tag.roc), interval((tag.roc_low, tag.roc_high)), _mark(tag.roc_low, tag.roc_high, CHANCE)),
            *(number(tag.pr), interval((tag.pr_low, tag.pr_high))),
            *(number(tag.pr_null), _mark(tag.pr_low, tag.pr_high, tag.pr_null)),
        ]
        for tag in sorted(bias.tags, key=_place)
    ]
    rows.append(["", "", "mean over tags", "", number(bias.mean_roc), "", "", number(bias.mean_pr), "", "", ""])
    notes = [
        f"n = {bias.n} clips, {bias.unparsed} answers unparsed. ▲ the interval lies above the null (50 for ROC,"
        " prevalence for PR), ▼ below it, · neither; not adjusted for the number of tags.",
        *map(sentence, bias.notes),
    ]
    if any(tag.few for tag in bias.tags):
        notes.append(f"* positives on fewer than {FEWEST_TESTED} recordings: the interval is a rough one.")
    return Table(f"{bias.model}, {bias.dataset} by tag, protocol {protocol}", _TAG_HEADERS, rows, 3, notes)


def _place(tag: TagScore) -> tuple[bool, str, str, str]:
    return tag.group == NO_GROUP, tag.family, tag.group, tag.tag


def _contrast_table(bias: TagBias, protocol: str) -> Table:
    rows = [
        [
            *(one.family, one.contrast, one.metric, number(one.a), number(one.b), signed(one.difference)),
            *(interval((one.low, one.high), with_sign=True), str(one.tags_a), str(one.tags_b), _VERDICT[one.verdict]),
        ]
        for one in bias.contrasts
    ]
    notes = [
        "Means over the tags of each side. ▲ a higher, ▼ b higher, · the 95 % interval of the difference holds 0."
        " PR grows with prevalence: compare groups by ROC or by PR - null.",
    ]
    title = f"{bias.model}, {bias.dataset}: groups of tags against each other, protocol {protocol}"
    return Table(title, _CONTRAST_HEADERS, rows, 3, notes)


def draw_bias(results: Sequence[TagBias], path: Path) -> None:
    """Draw each tag as a line from its PR to its ROC, one panel per model and data set; only grouped tags, if any."""
    families = [tag.family for bias in results for tag in bias.tags if tag.family]
    colour = colours([*families, OTHER])
    shown = [_drawn_tags(bias) for bias in results]
    widest = max(len(tags) for tags in shown)
    figure = new_figure(max(7.0, 1.5 + 0.2 * widest), 3.2 * len(results))
    panels = figure.subplots(len(results), 1, squeeze=False)[:, 0]
    for panel, bias, tags in zip(panels, results, shown, strict=True):
        _draw_panel(panel, bias, tags, colour)
    save_picture(figure, path)


def _drawn_tags(bias: TagBias) -> list[TagScore]:
    tags = sorted((tag for tag in bias.tags if tag.roc is not None and tag.pr is not None), key=_place)
    return [tag for tag in tags if tag.group != NO_GROUP] or tags


def _draw_panel(panel: Any, bias: TagBias, tags: Sequence[TagScore], colour: dict[str, str]) -> None:
    for i, tag in enumerate(tags):
        own = colour[tag.family or OTHER]
        panel.plot([i, i], [tag.pr, tag.roc], color=own, linewidth=1)
        for value, low, high, marker in (
            (tag.roc, tag.roc_low, tag.roc_high, "o"),
            (tag.pr, tag.pr_low, tag.pr_high, "s"),
        ):
            panel.plot([i, i], [low, high], color=own, linewidth=4, alpha=0.3, solid_capstyle="butt")
            panel.plot(i, value, marker, color=own, markersize=4)
        panel.plot([i - 0.35, i + 0.35], [tag.pr_null] * 2, color=QUIET, linewidth=1)
    panel.axhline(CHANCE, color=QUIET, linewidth=0.8, linestyle="--")
    panel.set_xticks(range(len(tags)), [tag.tag for tag in tags], rotation=90, fontsize=7)
    panel.set_xlim(-0.7, max(len(tags), 1) - 0.3)
    panel.set_ylim(0, 100)
    panel.set_ylabel("ROC (dot), PR (square)\nbands: 95 %", fontsize=8)
    panel.set_title(f"{bias.model}, {bias.dataset} (n = {bias.n}); grey: without the audio", loc="left", fontsize=9)
    before = ""
    for i, tag in enumerate(tags):
        if tag.group != before:
            panel.axvline(i - 0.5, color=QUIET, linewidth=0.4)
            panel.text(i - 0.4, 98, tag.group, fontsize=6, va="top", color=colour[tag.family or OTHER])
            before = tag.group


def _mark(low: float | None, high: float | None, null: float) -> str:
    if low is None or high is None:
        return ""
    return "▲" if low > null else "▼" if high < null else "·"
