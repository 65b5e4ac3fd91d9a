"""Listeners: whatever answers a question about a clip in text. A language model, a worker, a null, MIR models.

    class Mine:
        def answer(self, questions: Sequence[Question]) -> Sequence[str]: ...

That is all a listener of yours needs; `cmi bench run --listener my_module:Mine` runs it. It may also have

    batch   how many questions it is given at once (1)
    name    which model answers, with its revision; goes into the log
    close   called at the end

A missing answer is an `InputError` in its place, or raised; only that question fails. `ListenerStopped` ends the run,
which keeps what was answered.
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
    trial: int = 1  # counts repetitions of a question; a seed for listeners that sample their answers

    @property
    def task(self) -> str:
        """The module under `cmi.bench.tasks` that reads the answer."""
        return DATASETS[self.dataset].task if self.dataset in DATASETS else ""


@dataclass(frozen=True)
class Reply:
    """A text, the reasoning that came before it, and in words which part of the clip the listener did not get."""

    text: str
    reasoning: str = ""
    cut: str = ""


Answer = str | Reply | InputError


class Listener(Protocol):
    """Whatever answers questions about clips in text."""

    def answer(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """One answer for each question, in their order."""


class ListenerStopped(InputError):
    """The listener can answer nothing more: no budget, no permission, a worker that does not start."""
