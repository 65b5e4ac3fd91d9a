"""One module per task of CMI-Bench: its docstring is the specification, its functions are pure.

    evaluate(items, setting) -> Evaluation      parse each answer and measure it against the truth
    nulls(items) -> list[Null]                  this task's answers that do not use the audio
    reader(setting, truths) -> Reader           what `evaluate` parsed from an answer, as text
    expected(setting, truth) -> str             only if an answer is one class: what a right answer is read as

To add a task, add a module with the first three, and name it in a data set of `cmi.bench.data`. `items` may be iterated
repeatedly. Under the protocol `paper` a task scores as the published scorer did, under `strict` as it should have.

Every task has two null baselines besides its own: the empty answer, and a copy of the prompt's example if it has one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from cmi._util.errors import InputError, MissingExtra
from cmi.bench.catalog import BenchDataset
from cmi.bench.evaluation import Evaluation, Item, Setting

# 'Example 1: blues', 'Example 1, when the note is A1: 33', 'Example 1:\nC major'; or a format between backticks.
_EXAMPLE = re.compile(r"Example 1[^:\n]{0,200}:\s*(\S[^\n]*)")
_FORMAT = re.compile(r"format of `([^`]+)`")

T = TypeVar("T")
Reader = Callable[[str], str | None]  # None: the answer could not be parsed


class Null(NamedTuple):
    name: str
    answer: Callable[[Item], str]


class TaskModule(Protocol):
    def evaluate(self, items: Iterable[Item], setting: Setting) -> Evaluation: ...

    def nulls(self, items: Iterable[Item]) -> list[Null]: ...

    def reader(self, setting: Setting, truths: Iterable[str]) -> Reader:
        """`truths` are those of the answer file, from which `paper` takes its classes."""


def load_task(dataset: BenchDataset) -> TaskModule:
    try:
        return cast(TaskModule, import_module(f"cmi.bench.tasks.{dataset.task}"))
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("cmi"):
            raise
        raise MissingExtra(f"scoring {dataset.name}", "bench") from error


def parse_truth(truth: str, parse: Callable[[str], T | None], expected: str) -> T:
    """Parse the expected answer; InputError if it is not what `expected` says."""
    parsed = parse(truth)
    if parsed is None:
        raise InputError(f"the expected answer {truth[:60]!r} is not {expected}")
    return parsed


def in_words(parse: Callable[[str], Any], describe: Callable[[Any], str] = str) -> Reader:
    """Return a reader that describes what `parse` returns."""

    def read(answer: str) -> str | None:
        parsed = parse(answer)
        return None if parsed is None else describe(parsed)

    return read


def constant(answer: str, name: str = "") -> Null:
    return Null(name or answer, lambda _item: answer)


def prompt_example(question: str) -> str:
    """Return the first example in the prompt, or ''."""
    found = _EXAMPLE.search(question) or _FORMAT.search(question)
    return found[1].strip().strip('"') if found else ""


def most_frequent(items: Iterable[Item], name: str) -> Null:
    """Return the null that always gives the most frequent truth, the first of equals."""
    counts = Counter(item.truth for item in items)
    return constant(max(counts, key=lambda truth: counts[truth], default=""), name)


def common_nulls(items: Iterable[Item]) -> list[Null]:
    """Return the nulls that every task has."""
    empty, example = constant("", "empty answer"), Null("prompt's example", lambda item: prompt_example(item.question))
    first = next(iter(items), None)
    return [empty, example] if first and prompt_example(first.question) else [empty]
