"""What a listener answered, kept for ever, and the answer file that `cmi bench score` reads.

    <model>_<data set>.log                    every answer and every failure in the order they came, one JSON line each
    <model>_<data set>.shard-2-of-4.log       the same by a run that has a share of the questions
    <model>_<data set>.jsonl                  {"id", "response"}: the last answer to each question, in their order

A log is a `cmi._util.runlog`: on disk line by line, one writer at a time. The answer file is made of all logs of its
name and is the same whatever was killed, resumed, tried again or shared out on the way.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
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
    """The last that was heard about a question."""

    attempt: int
    response: str | None
    error: str | None
    is_cut: bool = False  # the listener got the beginning of the clip only


class LoggedAnswers:
    """What one model said about one data set, by all logs of its name; to read, and to make the answer file of.

    `listener` is the full name of who was asked: if none is expected, the first log tells. InputError if a log was
    begun by another listener, or with other questions.
    """

    def __init__(
        self, folder: Path, model: str, dataset: str, questions: Sequence[Question], listener: str = ""
    ) -> None:
        self.path = folder / f"{model}_{dataset}.jsonl"
        self.listener = listener
        self.askings = 0  # of which each question may have several
        self.seconds = 0.0  # that all of them took
        self._stem = f"{model}_{dataset}"
        self._questions = questions
        self._fingerprint = fingerprint(questions)
        self._said: dict[str, LastAnswer] = {}

    def read(self) -> None:
        """Note what is new in the logs."""
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
                raise InputError(f"{log}: begun with {what}; choose another --out, or another --name")

    def attempts(self, question: str) -> int:
        return self._said[question].attempt if question in self._said else 0

    def todo(self, retry_failed: bool) -> list[Question]:
        """The questions without an answer, in their order; those that failed among them only if they are wanted."""
        return [q for q in self._questions if q.id not in self._said or (retry_failed and self._said[q.id].error)]

    @property
    def answered(self) -> int:
        return sum(said.error is None for said in self._said.values())

    @property
    def failed(self) -> int:
        return sum(said.error is not None for said in self._said.values())

    @property
    def cut(self) -> int:
        """Answers about the beginning of a clip that the listener could not get whole."""
        return sum(said.is_cut for said in self._said.values())

    @property
    def first_error(self) -> str:
        """Of the questions that failed, in their order; '' if none did."""
        said = (self._said.get(question.id) for question in self._questions)
        return next((s.error for s in said if s and s.error), "")

    @property
    def is_whole(self) -> bool:
        return all(question.id in self._said for question in self._questions)

    def export(self) -> None:
        """Write the answer file anew, whole or not at all."""
        with whole_file(self.path) as unfinished, unfinished.open("w", encoding="ascii") as file:
            file.writelines(self._exported())

    def _exported(self) -> Iterator[str]:
        for question in self._questions:
            if said := self._said.get(question.id):
                record = {"id": question.id, "response": said.response}
                yield json.dumps(record | ({"error": said.error} if said.error else {})) + "\n"


class AnswerLog(LoggedAnswers):
    """The same, open for appending to the log of one run or shard; others may be appending to theirs."""

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
        """Keep an answer; with it any reasoning, and which part of the clip the listener did not get."""
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
    """What tells one list of questions from another, wherever its audio lies."""
    digest = hashlib.sha256()
    for q in questions:
        digest.update(json.dumps([q.id, q.text, q.audio.name, q.start, q.end]).encode() + b"\n")
    return digest.hexdigest()[:16]


def _logs(folder: Path, stem: str) -> list[Path]:
    """The logs of that name, by their final names, whole or partial."""
    found = [*folder.glob(f"{stem}.log*"), *folder.glob(f"{stem}.shard-*.log*")]
    return sorted({path.with_name(path.name.removesuffix(runlog.PARTIAL)) for path in found})
