"""Workers: models in their authors' own environment, run as a process that reads questions and writes answers.

The protocol, one JSON object per line (`cmi._util.worker_process` says what happens if a worker fails)
    worker  {"ready": true, "name": "ltu", "rate": 16000}       when its model is loaded; only `ready` is required
    cmi     {"id": 7, "question": "...", "audio": "/a/folder/7.wav", "dataset": "GTZAN", "task": "genre", "trial": 1}
    worker  {"id": 7, "answer": "..."}    or    {"id": 7, "error": "..."}
    The audio is the clip alone: mono, 16-bit WAV at `rate`. It is deleted before the next question. At the end the
    worker's input is closed, and it should exit. `worker_skeleton.py` in this folder is a worker without a model.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.worker_process import RestartedWorker, WorkerFault, WorkerGone
from cmi.audio import write_wav
from cmi.bench.ask import Answer, ListenerStopped, Question
from cmi.bench.ask.ask import ListenerAsModel, clip, failure, sound_of
from cmi.llm.hearing import ProbedHearing, known_hearing, read_hearing

RATE = 16_000


class WorkerListener:
    """Asks a worker one question at a time."""

    batch = 8

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        timeout: float = 300.0,
        start_timeout: float = 1800.0,
        probes: bool = True,
    ) -> None:
        self.name = name
        self._probes = probes
        self._worker = RestartedWorker(command, name, timeout, start_timeout, _check_rate)
        self._folder = tempfile.TemporaryDirectory(prefix="cmi-worker-")
        self._asked = 0

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        return [self._answer_one(question) for question in questions]

    def find_hearing(self, path: Path, questions: Sequence[Question]) -> ProbedHearing | None:
        """Find out how many seconds of a clip the worker's model processes, once; the result is saved in `path`."""
        if not self._probes:
            return read_hearing(path)
        return known_hearing(ListenerAsModel(self, self.name), path, map(sound_of, questions))

    def close(self) -> None:
        self._worker.close()
        self._folder.cleanup()

    def _answer_one(self, question: Question) -> Answer:
        self._asked += 1
        path = Path(self._folder.name) / f"{self._asked}.wav"  # another name each time: a model may cache by name
        try:
            write_wav(clip(question, self._worker.ready().get("rate", RATE)), path)
            said = self._worker.ask(_request(question, path))
        except WorkerGone as error:
            raise ListenerStopped(str(error)) from error
        except InputError as error:  # the worker failed, or the clip cannot be read
            return failure(error)
        finally:
            path.unlink(missing_ok=True)
        if said.get("error"):
            return failure(InputError(str(said["error"])))
        if not isinstance(said.get("answer"), str):
            return InputError("the worker's answer has no 'answer' that is text")
        return str(said["answer"])


def _check_rate(ready: dict[str, Any]) -> None:
    rate = ready.get("rate", RATE)
    if isinstance(rate, bool) or not isinstance(rate, int) or not 4_000 <= rate <= 192_000:
        raise WorkerFault(f"wants a rate of {str(rate)[:40]!r}, expected 4000 to 192000 hertz")


def _request(question: Question, path: Path) -> dict[str, Any]:
    return {
        "question": question.text,
        "audio": str(path),
        "dataset": question.dataset,
        "task": question.task,
        "trial": question.trial,
    }
