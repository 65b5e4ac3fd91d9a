"""Workers: models in their authors' own environment, run as a process that reads questions and writes answers.

The protocol, one JSON object per line
    worker  {"ready": true, "name": "ltu", "rate": 16000}       when its model is loaded; only `ready` is required
    cmi     {"id": 7, "question": "...", "audio": "/a/folder/7.wav", "dataset": "GTZAN", "task": "genre", "trial": 1}
    worker  {"id": 7, "answer": "..."}    or    {"id": 7, "error": "..."}
    The audio is the clip alone: mono, 16-bit WAV at `rate`. It is deleted before the next question. At the end the
    worker's input is closed, and it should exit. `worker_skeleton.py` in this folder is a worker without a model.

Failures
    Lines that are not a JSON object of this protocol are skipped. A worker that times out, dies, or writes too much is
    stopped; its question fails with the last line of its standard error, and the next question starts a new worker.
    The run ends if workers do not get ready START_TRIES times in a row, or die at DEATHS questions in a row.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from cmi._util.errors import InputError
from cmi.audio import write_wav
from cmi.bench.ask import Answer, ListenerStopped, Question
from cmi.bench.ask.ask import clip, failure
from cmi.bench.metrics.text import LONGEST_ANSWER

RATE = 16_000
START_TRIES = 2
DEATHS = 5
LONGEST_LINE = 4 * LONGEST_ANSWER  # bytes
MOST_CHATTER = 16 * 2**20  # bytes between two answers
REMEMBERED = 2000  # characters of standard error
PATIENCE = 5.0  # seconds for a worker to exit
_END = None


class WorkerFault(InputError):
    """The worker failed and must be stopped."""


class WorkerListener:
    """Asks a worker one question at a time."""

    batch = 8

    def __init__(
        self, command: Sequence[str], name: str, timeout: float = 300.0, start_timeout: float = 1800.0
    ) -> None:
        self.name = name
        self._command = list(command)
        self._timeout, self._start_timeout = timeout, start_timeout
        self._worker: _Worker | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="cmi-worker-")
        self._asked = self._deaths = 0

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        return [self._answer_one(question) for question in questions]

    def close(self) -> None:
        if self._worker is not None:
            self._worker.leave()
        self._folder.cleanup()

    def _answer_one(self, question: Question) -> Answer:
        worker = self._ready_worker()
        self._asked += 1
        path = Path(self._folder.name) / f"{self._asked}.wav"
        try:
            write_wav(clip(question, worker.rate), path)
            said = worker.ask(_request(self._asked, question, path), self._timeout)
        except WorkerFault as error:
            self._deaths += 1
            worker.stop()
            self._worker = None
            if self._deaths >= DEATHS:
                raise ListenerStopped(
                    f"{self.name}: {self._deaths} questions in a row ended the worker: {error}"
                ) from error
            return failure(error)
        except InputError as error:  # the clip cannot be read
            return failure(error)
        finally:
            path.unlink(missing_ok=True)
        self._deaths = 0
        return said

    def _ready_worker(self) -> "_Worker":
        if self._worker is not None:
            return self._worker
        for left in reversed(range(START_TRIES)):
            worker = _Worker(self._command)
            try:
                worker.wait_ready(self._start_timeout)
            except WorkerFault as error:
                worker.stop()
                if not left:
                    raise ListenerStopped(f"{self.name}: the worker does not get ready: {error}") from error
            else:
                self._worker = worker
                break
        assert self._worker is not None
        return self._worker


def _request(number: int, question: Question, path: Path) -> dict[str, Any]:
    return {
        "id": number,
        "question": question.text,
        "audio": str(path),
        "dataset": question.dataset,
        "task": question.task,
        "trial": question.trial,
    }


class _Worker:
    """One process; threads drain its two output streams."""

    def __init__(self, command: list[str]) -> None:
        self.rate = RATE
        try:
            self._process = subprocess.Popen(  # noqa: S603  the user's own command
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # to stop its children with it
            )
        except OSError as error:
            raise ListenerStopped(f"{command[0]}: does not start: {error.strerror}") from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input: IO[bytes] = self._process.stdin
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
        self._errors: deque[bytes] = deque(maxlen=64)
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._read_lines, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wait_ready(self, timeout: float) -> None:
        said = self._next(lambda message: message.get("ready") is True, timeout, "to get ready")
        rate = said.get("rate", RATE)
        if isinstance(rate, bool) or not isinstance(rate, int) or not 4_000 <= rate <= 192_000:
            raise WorkerFault(f"wants a rate of {str(rate)[:40]!r}, expected 4000 to 192000 hertz")
        self.rate = rate

    def ask(self, request: dict[str, Any], timeout: float) -> Answer:
        try:
            self._input.write(json.dumps(request).encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise WorkerFault(f"died before the question{self._last_words()}") from error
        said = self._next(lambda message: message.get("id") == request["id"], timeout, "to answer")
        if said.get("error"):
            return failure(InputError(str(said["error"])))
        if not isinstance(said.get("answer"), str):
            return InputError("the worker's answer has no 'answer' that is text")
        return str(said["answer"])

    def _next(self, wanted: Callable[[dict[str, Any]], bool], timeout: float, what: str) -> dict[str, Any]:
        """Return the next wanted message and skip other output, up to a limit."""
        deadline, chatter = time.monotonic() + timeout, 0
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise WorkerFault(f"took more than {timeout:g} s {what}{self._last_words()}") from None
            if line is _END:
                raise WorkerFault(f"died with exit code {self._exit_code()}{self._last_words()}")
            message = _message(line)
            if message is not None and wanted(message):
                return message
            chatter += len(line)
            if chatter > MOST_CHATTER:
                raise WorkerFault(f"wrote {chatter:,} bytes that are not an answer{self._last_words()}")

    def _read_lines(self, stream: IO[bytes]) -> None:
        """Put lines into the bounded queue, none longer than LONGEST_LINE."""
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(LONGEST_LINE):
                self._put(line)
        self._put(_END)

    def _put(self, line: bytes | None) -> None:
        while not self._stopped:
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.5)
                return

    def _read_errors(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while part := stream.readline(4096):
                self._errors.append(part)

    def _exit_code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        return self._process.returncode

    def _last_words(self) -> str:
        time.sleep(0.05)  # for the reader to get the last line
        text = b"".join(list(self._errors)).decode("utf-8", "replace").strip()[-REMEMBERED:]
        last = text.splitlines()[-1].strip() if text else ""
        return f": {last}" if last else ""

    def leave(self) -> None:
        """Close its input, wait for it to exit, and stop it if it does not."""
        with contextlib.suppress(OSError):
            self._input.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        self.stop()

    def stop(self) -> None:
        """Kill the process and its children."""
        self._stopped = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()


def _message(line: bytes) -> dict[str, Any] | None:
    """Parse a line of the protocol; None for other output."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
