"""Listeners answer questions about clips in text: language models, workers, null baselines, MIR models.

    class Mine:
        def answer(self, questions: Sequence[Question]) -> Sequence[str]: ...

`cmi bench run --listener my_module:Mine` runs this class. It may also have

    batch   how many questions it is given at once (1)
    name    which model answers, with its revision, for the log
    close   called at the end

A listener may return or raise an `InputError` for a question that fails. `ListenerStopped` ends the run; its answers
are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS


@dataclass(frozen=True)
class Question:
    """One instruction about one span of one file."""

    id: str
    text: str
    audio: Path
    start: float = 0.0
    end: float | None = None  # seconds; None: to the end
    dataset: str = ""  # as in `cmi.bench.catalog`
    trial: int = 1  # the repetition; a seed for listeners that sample their answers

    @property
    def task(self) -> str:
        """The module under `cmi.bench.tasks` that reads the answer."""
        return DATASETS[self.dataset].task if self.dataset in DATASETS else ""


@dataclass(frozen=True)
class Reply:
    """A text, the reasoning before it, and a note on the part of the clip that the listener did not get."""

    text: str
    reasoning: str = ""
    cut: str = ""


Answer = str | Reply | InputError


class Listener(Protocol):
    """Whatever answers questions about clips in text."""

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """Return one answer per question, in their order."""


class ListenerStopped(InputError):
    """The listener cannot answer any more: no budget, no permission, or a worker that does not start."""
