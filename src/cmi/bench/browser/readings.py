"""What the scorer reads in an answer, in words: the same parsers that the tasks score by, by task and protocol.

None is an answer that could not be read, exactly where the task counts it as unparsed.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from cmi.bench.analysis.tag_families import TAGGING
from cmi.bench.catalog import DataSet
from cmi.bench.evaluation import Protocol
from cmi.bench.metrics.text import mentions, squash
from cmi.bench.prompts import labels_of

Reader = Callable[[str], str | None]

AS_IT_STANDS = "(compared as it stands)"
BY_EMBEDDING = "(compared with every tag by its embedding)"


def reader(dataset: DataSet, protocol: Protocol, model: str, truths: Iterable[str]) -> Reader:
    """What reads the answers of a data set. `truths` are those of the file, which `paper` takes its classes from."""
    task: Any = import_module(f"cmi.bench.tasks.{dataset.task}")
    paper = protocol == "paper"
    read: Any = getattr(task, "parse_paper", None) if paper else None
    read = read or getattr(task, "parse", None)
    if dataset.name in TAGGING:
        return _tags(labels_of(dataset.name), paper)
    match dataset.task:
        case "captioning":
            return lambda answer: AS_IT_STANDS if answer.strip() else None
        case "lyrics":
            return lambda answer: " ".join(task.words(task.transcription(answer))) or None
        case "key":
            return _said(read, str)
        case "emotion_regression":
            return _said(read, lambda rating: f"{rating:g}")
        case "beat" | "downbeat":
            return _said(read, lambda times: ", ".join(f"{time:g}" for time in times))
        case "melody":
            return _said(read, lambda notes: ", ".join(f"({time:g}, {pitch:g})" for time, pitch in notes))
        case "playing_technique":
            return _techniques(task, paper, model)
    return _label(task, dataset.name, paper, truths)


def _said(read: Callable[[str], Any], say: Callable[[Any], str]) -> Reader:
    def reading(answer: str) -> str | None:
        found = read(answer)
        return None if found is None else say(found)

    return reading


def _label(task: Any, dataset: str, paper: bool, truths: Iterable[str]) -> Reader:
    labels = import_module("cmi.bench.tasks._labels")
    if paper:
        occurring = sorted({squash(truth) for truth in truths})
        return lambda answer: labels.parse_paper(answer, occurring)
    read = getattr(task, "parse", labels.parse)
    classes = labels_of(dataset) or task.CLASSES
    return lambda answer: read(answer, classes)


def _tags(tags: tuple[str, ...], paper: bool) -> Reader:
    def reading(answer: str) -> str | None:
        if not answer.strip():
            return None
        named = [] if paper else sorted(mentions(answer.lower(), tags))
        return f"names {', '.join(named)} {BY_EMBEDDING}" if named else BY_EMBEDDING

    return reading


def _techniques(task: Any, paper: bool, model: str) -> Reader:
    whole = model in task.READ_WHOLE_BY_TABLE_3

    def read(answer: str) -> Any:
        return task.parse_paper(answer, whole) if paper else task.parse(answer)

    def say(events: Any) -> str:
        listed = ", ".join(f"({start:g}, {end:g}, {task.TECHNIQUES[which]})" for start, end, which in events)
        return listed or task.NO_TECHNIQUE

    return _said(read, say)
