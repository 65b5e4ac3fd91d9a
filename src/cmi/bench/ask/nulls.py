"""Null listeners, which do not use the audio.

    null:empty      the empty answer
    null:example    the example in the prompt, if it has one
    null:constant   the task's constant (C minor, a beat grid, the middle of the scale), if it has one

Nulls that need the truth (the majority class, the most frequent caption) are in every table of `cmi bench score`.
"""

from collections.abc import Callable, Mapping, Sequence

from cmi.bench.ask import Question
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Item
from cmi.bench.tasks import load_task, prompt_example


def _constant(question: Question) -> str:
    item = Item(question.text, "", "", "")
    return next((null.answer(item) for null in load_task(DATASETS[question.dataset]).nulls([])), "")


NULLS: Mapping[str, Callable[[Question], str]] = {
    "null:empty": lambda _question: "",
    "null:example": lambda question: prompt_example(question.text),
    "null:constant": _constant,
}


class NullListener:
    batch = 256

    def __init__(self, name: str) -> None:
        self.name = name
        self._answer = NULLS[name]

    def answer(self, questions: Sequence[Question]) -> list[str]:
        return [self._answer(question) for question in questions]
