"""Every answer of a response file with its parsed form, its scores and its clip.

Scores of items
    A metric that is the mean over items has a score for each: the metric's own value on that item alone. Corpus BLEU,
    correlations, F1 over all frames and areas under curves are of the whole set; no scores of items add up to them, so
    that none are shown, and the page says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cmi.bench.evaluation import Evaluation, Item, Metric, Protocol, Setting, Tally
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import Items
from cmi.bench.scoring.responses import ResponseFile, ResponseSet, clean, errors_at
from cmi.bench.tasks import load_task
from cmi.report.tables import Table
from cmi.stats.comparison import finite


class PlayedSpan(NamedTuple):
    """The sound that a question is about, as the file names it."""

    path: str
    start: float = 0.0
    end: float | None = None  # seconds; None: to the end


@dataclass(frozen=True)
class ScoredAnswer:
    """One answer. `reading` is None if it could not be read; `scores` has one for each of the set's item metrics."""

    place: int  # in its file, from 1
    question: str
    answer: str
    truth: str
    clip: PlayedSpan
    answered: bool
    reading: str | None
    scores: tuple[float | None, ...]


@dataclass(frozen=True)
class AnswerSet:
    """The answers of one model to one data set."""

    model: str
    dataset: str
    metrics: tuple[Metric, ...]  # those that are means over items, the first of them the one to sort by
    whole_set: tuple[str, ...]  # those that are not
    not_computed: tuple[str, ...]  # each with the reason
    items: tuple[ScoredAnswer, ...]

    @property
    def unparsed(self) -> int:
        return sum(item.reading is None for item in self.items)


def read_answers(file: ResponseFile, protocol: Protocol, tools: Tools, annotations: Path | None = None) -> AnswerSet:
    """Score the answers of one file. Under `paper` unanswered questions have no score."""
    entries = list(ResponseSet(file, annotations))
    scored = list(Items(entries, answered_only=protocol == "paper"))
    setting = Setting(file.dataset.name, protocol, file.model, tools)
    evaluation = _evaluation(file, scored, setting)
    own = [metric for metric in evaluation.metrics if metric.mean_of is not None and evaluation.n]
    rows = zip(*(metric.scale * evaluation.statistics[:, metric.mean_of] for metric in own), strict=True)
    read = load_task(file.dataset).reader(setting, (item.truth for item in scored))
    shown = []
    for place, (item, answered, audio) in enumerate(entries, 1):
        counts = answered or protocol == "strict"
        scores = tuple(map(finite, next(rows))) if own and counts else (None,) * len(own)
        texts = (clean(item.question), item.answer, clean(item.truth))
        clip = PlayedSpan(audio, max(0.0, item.start or 0.0), item.end)
        shown.append(ScoredAnswer(place, *texts, clip, answered, read(item.answer), scores))
    return AnswerSet(
        file.model,
        file.dataset.name,
        tuple(own),
        tuple(metric.name for metric in evaluation.metrics if metric not in own and not metric.not_computed),
        tuple(f"{metric.name}: {metric.not_computed}" for metric in evaluation.metrics if metric.not_computed),
        tuple(shown),
    )


def _evaluation(file: ResponseFile, items: list[Item], setting: Setting) -> Evaluation:
    if file.dataset.is_multi_label:  # a text embedder's work would be for nothing: no item has an area under a curve
        return Tally().evaluation([Metric("ROC"), Metric("PR")])
    with errors_at(file.path):
        return load_task(file.dataset).evaluate(items, setting)


def browse_records(sets: Sequence[AnswerSet]) -> list[dict[str, Any]]:
    return [
        {
            **{"model": one.model, "dataset": one.dataset, "answers": len(one.items), "unparsed": one.unparsed},
            "unanswered": sum(not item.answered for item in one.items),
            "item_metrics": [metric.name for metric in one.metrics],
            "whole_set_metrics": list(one.whole_set),
            "not_computed": list(one.not_computed),
        }
        for one in sets
    ]


def browse_table(sets: Sequence[AnswerSet], page: Path, with_sound: int) -> Table:
    headers = ["model", "data set", "scored by item", "of the whole set only", "answers", "unparsed", "unanswered"]
    rows = [
        [
            *(record["model"], record["dataset"], ", ".join(record["item_metrics"]) or "-"),
            *(", ".join(record["whole_set_metrics"]) or "-", str(record["answers"])),
            *(str(record["unparsed"]), str(record["unanswered"])),
        ]
        for record in browse_records(sets)
    ]
    total = sum(len(one.items) for one in sets)
    notes = [f"{note}." for note in dict.fromkeys(f"not computed, {why}" for one in sets for why in one.not_computed)]
    return Table(f"{page}: {total} answers, {with_sound} with sound", headers, rows, 4, notes)
