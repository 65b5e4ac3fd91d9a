"""One module per task, all with the same two functions.

    evaluate(items, setting) -> Evaluation      parse each answer, measure it against the truth
    nulls(items) -> list[Null]                  this task's answers that need no ears

`items` may be read more than once.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, cast

from cmi._util.errors import MissingExtra
from cmi.bench.catalog import DataSet
from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.scoring.nulls import Null


class Task(Protocol):
    def evaluate(self, items: Iterable[Item], setting: Setting) -> Evaluation: ...

    def nulls(self, items: Iterable[Item]) -> list[Null]: ...


def load_task(dataset: DataSet) -> Task:
    try:
        return cast(Task, import_module(f"cmi.bench.tasks.{dataset.task}"))
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("cmi"):
            raise
        raise MissingExtra(f"scoring {dataset.name}", "bench") from error
