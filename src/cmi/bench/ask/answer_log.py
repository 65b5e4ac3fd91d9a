"""The log of a listener's answers, and the answer file that `cmi bench score` reads.

    <model>_<data set>.log                    every answer and failure as they came, one JSON line each
    <model>_<data set>.shard-2-of-4.log       the same for one shard of the questions
    <model>_<data set>.jsonl                  {"id", "response"}: the last answer to each question, in their order

A log is a `cmi._util.runlog`. The answer file is made from all logs of its name.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util import runlog
from cmi._util.errors import InputError
from cmi._util.files import whole_file
from cmi.bench.ask import Question, Reply

ABOUT = "about"


class Shard(NamedTuple):
    number: int  # from 1
    of: int

    def __str__(self) -> str:
        return f"shard-{self.number}-of-{self.of}"


class LastAnswer(NamedTuple):
    """The last answer to a question."""

    attempt: int
    response: str | None
    error: str | None
    is_cut: bool = False  # the listener got only the beginning of the clip


class LoggedAnswers:
    """The answers of one model on one data set, from all logs of its name.

    `listener` is the listener's full name; if it is empty, that of the first log is used. InputError if a log was
    started by another listener or with other questions.
    """

    def __init__(
        self, folder: Path, model: str, dataset: str, questions: Sequence[Question], listener: str = ""
    ) -> None:
        self.path = folder / f"{model}_{dataset}.jsonl"
        self.listener = listener
        self.askings = 0  # may be several per question
        self.seconds = 0.0  # of all askings
        self._stem = f"{model}_{dataset}"
        self._questions = questions
        self._fingerprint = fingerprint(questions)
        self._said: dict[str, LastAnswer] = {}

    def read(self) -> None:
        """Read new records from the logs."""
        for log in _logs(self.path.parent, self._stem):
            self._read(log)

    def _read(self, log: Path) -> None:
        for record in runlog.read_records(log):
            if record.get("key") == ABOUT:
                self._require_same(log, record)
                continue
            said = LastAnswer(int(record["attempt"]), record.get("response"), record.get("error"), "cut" in record)
            if said.attempt > self.attempts(str(record["id"])):
                self._note(str(record["id"]), said, float(record["seconds"]))

    def _note(self, question: str, said: LastAnswer, seconds: float) -> None:
        self._said[question] = said
        self.askings += 1
        self.seconds += seconds

    def _require_same(self, log: Path, about: dict[str, Any]) -> None:
        self.listener = self.listener or str(about.get("listener"))
        for name, here in (("listener", self.listener), ("questions", self._fingerprint)):
            if about.get(name) != here:
                what = f"{name} {about.get(name)!r}, not {here!r}"
                raise InputError(f"{log}: started with {what}; choose another --out or --name")

    def attempts(self, question: str) -> int:
        return self._said[question].attempt if question in self._said else 0

    def todo(self, retry_failed: bool) -> list[Question]:
        """Return the unanswered questions in their order, with failed ones only if `retry_failed`."""
        return [q for q in self._questions if q.id not in self._said or (retry_failed and self._said[q.id].error)]

    @property
    def answered(self) -> int:
        return sum(said.error is None for said in self._said.values())

    @property
    def failed(self) -> int:
        return sum(said.error is not None for said in self._said.values())

    @property
    def cut(self) -> int:
        """The number of answers about the beginning of a clip only."""
        return sum(said.is_cut for said in self._said.values())

    @property
    def first_error(self) -> str:
        """The first failed question's error; '' if none failed."""
        said = (self._said.get(question.id) for question in self._questions)
        return next((s.error for s in said if s and s.error), "")

    @property
    def is_whole(self) -> bool:
        return all(question.id in self._said for question in self._questions)

    def export(self) -> None:
        """Write the answer file."""
        with whole_file(self.path) as unfinished, unfinished.open("w", encoding="ascii") as file:
            for question in self._questions:
                if said := self._said.get(question.id):
                    record = {"id": question.id, "response": said.response}
                    file.write(json.dumps(record | ({"error": said.error} if said.error else {})) + "\n")


class AnswerLog(LoggedAnswers):
    """Logged answers, open for appending to the log of one run or shard."""

    def __init__(
        self, folder: Path, model: str, dataset: str, questions: Sequence[Question], listener: str, shard: Shard | None
    ) -> None:
        super().__init__(folder, model, dataset, questions, listener)
        own = folder / (f"{self._stem}.{shard}.log" if shard else f"{self._stem}.log")
        self._log = runlog.RunLog(own, key="key")
        try:
            self.read()
            if ABOUT not in self._log:
                self._log.append({"key": ABOUT, "listener": listener, "questions": self._fingerprint})
        except BaseException:
            self._log.close()
            raise

    def append(self, question: Question, answer: Reply | InputError, seconds: float, sync: bool = True) -> None:
        """Log an answer or a failure."""
        attempt = self.attempts(question.id) + 1
        if isinstance(answer, Reply):
            said = LastAnswer(attempt, answer.text, None, bool(answer.cut))
            more = {name: value for name in ("reasoning", "cut") if (value := getattr(answer, name))}
        else:
            said, more = LastAnswer(attempt, None, str(answer) or "failed"), {}
        record: dict[str, Any] = {"key": f"{question.id}#{said.attempt}", "id": question.id, "attempt": said.attempt}
        record |= {"response": said.response, "error": said.error, "seconds": round(seconds, 3), **more}
        self._log.append(record, sync)
        self._note(question.id, said, seconds)

    def finish(self) -> None:
        self._log.finish()

    def close(self) -> None:
        self._log.close()


def fingerprint(questions: Sequence[Question]) -> str:
    """Return a hash of the questions that does not depend on the folders of their audio."""
    digest = hashlib.sha256()
    for q in questions:
        digest.update(json.dumps([q.id, q.text, q.audio.name, q.start, q.end]).encode() + b"\n")
    return digest.hexdigest()[:16]


def _logs(folder: Path, stem: str) -> list[Path]:
    """Find the logs of that name, finished or partial, by their final names."""
    found = [*folder.glob(f"{stem}.log*"), *folder.glob(f"{stem}.shard-*.log*")]
    return sorted({path.with_name(path.name.removesuffix(runlog.PARTIAL)) for path in found})
