"""Every answer of a response file with its parsed form, its scores and its clip.

Scores of items
    A metric that is a mean over items has a score for each item. Corpus BLEU, correlations, F1 over all frames and
    areas under curves are defined for the whole set only; the page says so instead of showing item scores.

Outcomes
    right       the best score that the set's first item metric can give: 100, or 0 for an error rate
    wrong       the worst one: 0, or 100 for an error rate (those of items are capped there)
    partly      anything between
    unparsed    the answer could not be parsed, or is missing
    unscored    the answer was parsed, but has no score of its own
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from cmi.bench.evaluation import Evaluation, Item, Metric, Protocol, Setting, Tally
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import Items
from cmi.bench.scoring.responses import QuestionKey, ResponseFile, ResponseSet, by_question, clean, errors_at
from cmi.bench.tasks import load_task
from cmi.report.tables import Table
from cmi.stats.comparison import Better, finite

Outcome = Literal["right", "partly", "wrong", "unparsed", "unscored"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NEARLY = 1e-6  # of 100


class PlayedSpan(NamedTuple):
    """The sound that a question is about, as the file names it."""

    path: str
    start: float = 0.0
    end: float | None = None  # seconds; None: to the end


@dataclass(frozen=True)
class ScoredAnswer:
    """One answer. `reading` is None if it could not be read; `scores` has one for each of the set's item metrics.

    `expected` is what a right answer is read as, if answers are one class each.
    """

    place: int  # in its file, from 1
    question: str
    answer: str
    truth: str
    clip: PlayedSpan
    answered: bool
    reading: str | None
    expected: str | None
    scores: tuple[float | None, ...]
    outcome: Outcome
    asked: QuestionKey  # the same for every model


@dataclass(frozen=True)
class AnswerSet:
    """The answers of one model to one data set."""

    model: str
    dataset: str
    metrics: tuple[Metric, ...]  # those that are means over items, the first of them the one to sort by
    whole_set: tuple[str, ...]  # those that are not
    not_computed: tuple[str, ...]  # each with the reason
    items: tuple[ScoredAnswer, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(item.outcome == outcome for item in self.items)


def read_answers(file: ResponseFile, protocol: Protocol, tools: Tools, annotations: Path | None = None) -> AnswerSet:
    """Score the answers of one file. Under `paper` unanswered questions have no score."""
    keys, entries = zip(*by_question(ResponseSet(file, annotations)), strict=True)
    scored = list(Items(entries, answered_only=protocol == "paper"))
    setting = Setting(file.dataset.name, protocol, file.model, tools)
    evaluation = _evaluation(file, scored, setting)
    own = [metric for metric in evaluation.metrics if metric.mean_of is not None and evaluation.n]
    rows = zip(*(metric.scale * evaluation.statistics[:, metric.mean_of] for metric in own), strict=True)
    task = load_task(file.dataset)
    read = task.reader(setting, (item.truth for item in scored))
    expected = None if file.dataset.is_multi_label else getattr(task, "expected", None)
    shown = []
    for place, (key, (item, answered, audio)) in enumerate(zip(keys, entries, strict=True), 1):
        counts = answered or protocol == "strict"
        scores = tuple(map(finite, next(rows))) if own and counts else (None,) * len(own)
        reading = read(item.answer)
        shown.append(
            ScoredAnswer(
                place,
                *(clean(item.question), item.answer, clean(item.truth)),
                PlayedSpan(audio, max(0.0, item.start or 0.0), item.end),
                answered,
                reading,
                expected(setting, item.truth) if expected else None,
                scores,
                outcome_of(reading, scores[0] if scores else None, own[0].better if own else "higher"),
                key,
            )
        )
    return AnswerSet(
        file.model,
        file.dataset.name,
        tuple(own),
        tuple(metric.name for metric in evaluation.metrics if metric not in own and not metric.not_computed),
        tuple(f"{metric.name}: {metric.not_computed}" for metric in evaluation.metrics if metric.not_computed),
        tuple(shown),
    )


def outcome_of(reading: str | None, score: float | None, better: Better) -> Outcome:
    """Tell right from wrong by an item's score out of 100."""
    if reading is None:
        return "unparsed"
    if score is None:
        return "unscored"
    good = score if better == "higher" else 100 - score
    return "right" if good > 100 - NEARLY else "wrong" if good < NEARLY else "partly"


def _evaluation(file: ResponseFile, items: list[Item], setting: Setting) -> Evaluation:
    if file.dataset.is_multi_label:  # a text embedder's work would be for nothing: no item has an area under a curve
        return Tally().evaluation([Metric("ROC"), Metric("PR")])
    with errors_at(file.path):
        return load_task(file.dataset).evaluate(items, setting)


def browse_records(sets: Sequence[AnswerSet]) -> list[dict[str, Any]]:
    return [
        {
            **{"model": one.model, "dataset": one.dataset, "answers": len(one.items)},
            **{outcome: one.count(outcome) for outcome in OUTCOMES},
            "unanswered": sum(not item.answered for item in one.items),
            "item_metrics": [metric.name for metric in one.metrics],
            "whole_set_metrics": list(one.whole_set),
            "not_computed": list(one.not_computed),
        }
        for one in sets
    ]


def browse_table(sets: Sequence[AnswerSet], page: Path, with_sound: int) -> Table:
    headers = ["model", "data set", "scored by item", "of the whole set only", "answers", *OUTCOMES, "unanswered"]
    rows = [
        [
            *(record["model"], record["dataset"], ", ".join(record["item_metrics"]) or "-"),
            ", ".join(record["whole_set_metrics"]) or "-",
            *(str(record[name]) for name in ("answers", *OUTCOMES, "unanswered")),
        ]
        for record in browse_records(sets)
    ]
    total = sum(len(one.items) for one in sets)
    notes = [f"{note}." for note in dict.fromkeys(f"not computed, {why}" for one in sets for why in one.not_computed)]
    return Table(f"{page}: {total} answers, {with_sound} with sound", headers, rows, 4, notes)
