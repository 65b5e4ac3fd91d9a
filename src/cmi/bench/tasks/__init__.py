"""One module per task of CMI-Bench: its docstring is the specification, its functions are pure.

    evaluate(items, setting) -> Evaluation      parse each answer and measure it against the truth
    nulls(items) -> list[Null]                  this task's answers that do not use the audio
    reader(setting, truths) -> Reader           what `evaluate` parsed from an answer, as text

To add a task, add a module with these three, and name it in a data set of `cmi.bench.data`. `items` may be iterated
repeatedly. Under the protocol `paper` a task scores as the published scorer did, under `strict` as it should have.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Protocol, cast

from cmi._util.errors import MissingExtra
from cmi.bench.catalog import BenchDataset
from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.scoring.nulls import Null

Reader = Callable[[str], str | None]  # None: the answer could not be parsed


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


def in_words(parse: Callable[[str], Any], describe: Callable[[Any], str] = str) -> Reader:
    """Return a reader that describes what `parse` returns."""

    def read(answer: str) -> str | None:
        parsed = parse(answer)
        return None if parsed is None else describe(parsed)

    return read
