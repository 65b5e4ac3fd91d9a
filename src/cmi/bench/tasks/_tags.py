"""Multi-label classification: a free text is scored against every tag of a fixed list.

Metrics
    ROC, PR     ROC-AUC and average precision of each tag over all items, their plain mean over tags, times 100. A tag
                that no item has (or every item) is left out, and a note says how many.

Protocols
    strict  An item has exactly the tags of its comma-separated truth. A tag's score is the cosine between the
            embeddings of the answer and of the tag, plus 1 if the answer names the tag: named tags rank first, so that
            a perfect answer scores perfectly. An empty answer ranks below every other.
    paper   An item has every tag whose letters occur in its truth ('male' in 'female'). A tag's score is the cosine.

The published numbers come from bge-large-en-v1.5; a note names the embedder in use.
"""

import warnings
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.evaluation import Array, Evaluation, Item, Measured, Metric, Setting, Tally
from cmi.bench.metrics.text import mentions
from cmi.bench.tasks import Null, Reader, most_frequent
from cmi.stats.predictions import detection

PUBLISHED_EMBEDDER = "bge-large-en-v1.5"
NAMED = 1.0  # added to the cosine of a named tag; more than any cosine
RESAMPLES = 200  # one draw over 11,479 items and 87 tags costs about 20 ms
BY_EMBEDDING = "(compared with every tag by its embedding)"
SILENT = -2.0  # the score of every tag under an empty answer: less than any cosine


def evaluate(items: Iterable[Item], setting: Setting, tags: tuple[str, ...]) -> Evaluation:
    embedder = setting.tools.embedder
    if isinstance(embedder, InputError):
        return _without_embedder(items, str(embedder))
    paper = setting.protocol == "paper"
    truth_of = _truth_by_letters if paper else _truth_by_name

    tally = Tally()
    truths: list[NDArray[np.bool_]] = []
    rows: list[int] = []
    distinct: dict[str, int] = {}  # each distinct answer is embedded once
    for item in items:
        answer = item.answer.lower().strip()
        tally.add(item, Measured(bool(answer), ()))
        rows.append(distinct.setdefault(answer, len(distinct)))
        truths.append(truth_of(item.truth, tags))

    vectors = embedder.encode(list(distinct), setting.tools.on_embedded)
    scores = (vectors @ embedder.encode(tags).T)[rows]  # (n, tags)
    if not paper:
        scores = _favour_named(scores.clip(-1, 1), list(distinct), rows, tags)
    truth = np.asarray(truths, dtype=bool).reshape(-1, len(tags))
    collected = tally.evaluation([Metric("ROC"), Metric("PR")], _notes(embedder.name, truth))
    return replace(
        collected,
        statistics=np.concatenate([scores, truth], axis=1, dtype=np.float32),
        joint=_means_over_tags,
        most_resamples=RESAMPLES,
        is_biased=True,  # a draw repeats some positives and drops whole tags, which lifts average precision
    )


def _notes(embedder: str, truth: NDArray[np.bool_]) -> list[str]:
    notes = [f"text embedder {embedder}"]
    if embedder.partition("@")[0].rpartition("/")[2] != PUBLISHED_EMBEDDER:
        notes.append(f"not comparable with the published numbers, which used {PUBLISHED_EMBEDDER}")
    one_sided = int(np.sum(truth.all(axis=0) | ~truth.any(axis=0)))
    if one_sided:
        notes.append(f"{one_sided} of {truth.shape[1]} tags left out: no item has them, or every item")
    return notes


def _truth_by_letters(truth: str, tags: tuple[str, ...]) -> NDArray[np.bool_]:
    text = truth.lower()
    return np.array([tag in text for tag in tags])


def _truth_by_name(truth: str, tags: tuple[str, ...]) -> NDArray[np.bool_]:
    named = {name.strip().lower() for name in truth.split(",")}
    return np.array([tag in named for tag in tags])


def _favour_named(cosines: Array, answers: list[str], rows: list[int], tags: tuple[str, ...]) -> Array:
    bonus = np.zeros((len(answers), len(tags)), dtype=np.float32)
    column = {tag: i for i, tag in enumerate(tags)}
    for row, answer in enumerate(answers):
        if not answer:
            bonus[row] = SILENT
        for tag in mentions(answer, tags):
            bonus[row, column[tag]] = NAMED
    return np.where(bonus[rows] == SILENT, SILENT, cosines + bonus[rows])


def _means_over_tags(statistics: Array, weights: Array) -> Array:
    """ROC and PR under each weighting: (b, 2)."""
    scores, truth = np.split(statistics, 2, axis=1)
    by_tag = [detection(scores[:, i], truth[:, i] > 0, weights) for i in range(scores.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no tag is defined: the mean is NaN
        return 100 * np.nanmean(np.asarray(by_tag), axis=0).T


def _without_embedder(items: Iterable[Item], why: str) -> Evaluation:
    tally = Tally()
    for item in items:
        tally.add(item, Measured(bool(item.answer.strip()), ()))
    return tally.evaluation([Metric(name, not_computed=why) for name in ("ROC", "PR")])


def reader(setting: Setting, tags: tuple[str, ...]) -> Reader:
    def read(answer: str) -> str | None:
        if not answer.strip():
            return None
        named = [] if setting.protocol == "paper" else sorted(mentions(answer.lower(), tags))
        return f"names {', '.join(named)} {BY_EMBEDDING}" if named else BY_EMBEDDING

    return read


def nulls(items: Iterable[Item]) -> list[Null]:
    return [most_frequent(items, "most frequent tags")]
