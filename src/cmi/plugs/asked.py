"""CMI-Bench for other harnesses: its questions, and the scores of the answers that the harness collected.

A harness keeps one record for each question: `record_of` says what it needs, `item_of_record` turns it and an answer
into what our tasks score. Scores are those of `cmi bench score` on the same answers, to the digit.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi._util.files import make_folder, whole_file
from cmi.bench.ask import Question
from cmi.bench.catalog import DATASETS, BenchDataset
from cmi.bench.evaluation import Evaluation, Item, Protocol, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.many_files import DEFAULT_EMBEDDER
from cmi.bench.scoring.one_file import BenchCell, score_entries, with_verdicts
from cmi.bench.scoring.responses import (
    Entry,
    ResponseFile,
    ResponseSet,
    by_question,
    clean_answer,
    find_annotations,
    item_of,
    read_instructions,
)
from cmi.bench.tasks import load_task
from cmi.stats.comparison import finite

CLIPS = "clips"


class AskedQuestion(NamedTuple):
    """A question with its truth."""

    id: str
    item: Item  # without an answer
    audio: str  # as the annotation file has it


def find_dataset(name: str) -> BenchDataset:
    if name not in DATASETS:
        raise InputError(f"{name!r} is not a data set of CMI-Bench: choose from {', '.join(DATASETS)}")
    return DATASETS[name]


def read_asked(annotations: Path, dataset: BenchDataset) -> list[AskedQuestion]:
    """Read the test questions of a data set from an annotation file, or from a folder of such files."""
    read = read_instructions(_annotation_file(annotations, dataset), dataset)
    asked = [AskedQuestion(id_, item_of(instruction, dataset), instruction.audio_path) for id_, instruction in read]
    if not asked:
        raise InputError(f"{annotations}: no records of the test split of {dataset.name}")
    return asked


def _annotation_file(annotations: Path, dataset: BenchDataset) -> Path:
    found = find_annotations(annotations)
    if dataset.name not in found:
        raise InputError(f"{annotations}: no CMI_{dataset.name}.jsonl; there are {', '.join(sorted(found))}")
    return found[dataset.name]


def read_replies(file: ResponseFile, annotations: Path) -> dict[str, str | None]:
    """Read a response file's answers by the id of the question, in the order in which they are scored.

    None for a question without an answer.
    """
    asked = read_asked(annotations, file.dataset)
    keys = (key for key, _ in by_question(Entry(one.item, False, one.audio) for one in asked))
    ids = {key: one.id for key, one in zip(keys, asked, strict=True)}
    given = by_question(ResponseSet(file, _annotation_file(annotations, file.dataset)))
    return {ids[key]: entry.item.answer if entry.answered else None for key, entry in given}


def record_of(asked: AskedQuestion) -> dict[str, Any]:
    """Return the fields that `item_of_record` needs, as plain values."""
    item = asked.item
    fields = {"id": asked.id, "question": item.question, "truth": item.truth, "recording": item.recording}
    return {**fields, "start": item.start, "end": item.end}


def item_of_record(record: dict[str, Any], answer: str) -> Item:
    return Item(
        record["question"],
        clean_answer(answer),
        record["truth"],
        record["recording"],
        record["start"],
        record["end"],
    )


def evaluate_items(dataset: BenchDataset, items: Sequence[Item], protocol: Protocol = "strict") -> Evaluation:
    """Score answers by the data set's task, with the default models of `cmi bench score`."""
    return load_task(dataset).evaluate(items, Setting(dataset.name, protocol, "", _tools()))


def score_answers(
    dataset: BenchDataset, items: Sequence[tuple[Item, bool]], protocol: Protocol, model: str
) -> list[BenchCell]:
    """Score answers, each with whether there is one: the model's cells, as `cmi bench score` gives them."""
    entries = [Entry(item, answered) for item, answered in items]
    missing = sum(not answered for _, answered in items)
    cells = with_verdicts(score_entries(entries, model, dataset, protocol, _tools(), missing))
    return [cell for cell in cells if not cell.is_null]


def values_of(evaluation: Evaluation) -> dict[str, float]:
    """Return the metrics that were computed, by name."""
    values = zip(evaluation.metrics, evaluation.values()[0], strict=True)
    found = {metric.name: finite(value) for metric, value in values if not metric.not_computed}
    return {name: value for name, value in found.items() if value is not None}


class ItemReader:
    """Says what was read from an answer, and which scores it has of its own.

    Those are the metrics that are means over answers; under `paper` a task may need all answers at once, and there are
    none.
    """

    def __init__(self, dataset: BenchDataset, protocol: Protocol, truths: Sequence[str]) -> None:
        self._dataset = dataset
        self._is_scored = protocol == "strict" and not dataset.is_multi_label
        self._read = load_task(dataset).reader(Setting(dataset.name, protocol, "", _tools()), truths)

    def read(self, item: Item) -> str | None:
        return self._read(item.answer)

    def score(self, item: Item) -> dict[str, float]:
        if not self._is_scored:
            return {}
        found = evaluate_items(self._dataset, [item])
        own = [metric for metric in found.metrics if metric.mean_of is not None]
        return {metric.name: float(metric.scale * found.statistics[0, metric.mean_of]) for metric in own}


@cache
def _tools() -> Tools:
    return Tools(DEFAULT_EMBEDDER, "", cache_folder())


def cut_clip(question: Question, folder: Path | None = None) -> Path:
    """Cut the sound of a question to a WAV file, once for each span; by default in the cache."""
    from cmi.audio import content_hash, write_wav
    from cmi.bench.ask.ask import clip
    from cmi.llm.hearing import RATE

    folder = folder or cache_folder() / CLIPS
    span = f"{content_hash(question.audio)} {question.start} {question.end} {RATE}"
    path = folder / f"{hashlib.sha256(span.encode()).hexdigest()[:32]}.wav"
    if not path.exists():
        make_folder(folder)
        with whole_file(path) as unfinished:
            write_wav(clip(question, RATE), unfinished)
    return path
