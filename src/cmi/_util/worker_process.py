"""Processes with an environment of their own, which answer requests: JSON objects, one per line.

The protocol
    worker  {"ready": true, ...}                  when its model is loaded; what else it says is up to its user here
    cmi     {"id": 7, ...}                        a request on its standard input
    worker  {"id": 7, ...}                        its answer on standard output
    At the end the worker's input is closed, and it should exit.

Failures
    Lines that are not a JSON object of this protocol are skipped. A worker that times out, dies, or writes too much is
    stopped; its request fails with the last line of its standard error, and the next request starts a new worker.
    No more are started if workers do not get ready START_TRIES times in a row, or die at DEATHS requests in a row.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, Any

from cmi._util.errors import InputError
from cmi._util.json_text import parse_json

START_TRIES = 2
DEATHS = 5
LONGEST_LINE = 4_000_000  # bytes
MOST_CHATTER = 16 * 2**20  # bytes between two answers
REMEMBERED = 2000  # characters of standard error
PATIENCE = 5.0  # seconds for a worker to exit
_END = None

Message = dict[str, Any]


class WorkerFault(InputError):
    """The worker failed at a request and was stopped; the next request starts another."""


class WorkerGone(InputError):
    """No worker can be started any more."""


class RestartedWorker:
    """A worker that is started when it is needed, and started again when it failed.

    `check_ready` is given what a worker says when it is ready, and raises a WorkerFault if that does not do.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        timeout: float = 300.0,
        start_timeout: float = 1800.0,
        check_ready: Callable[[Message], None] = lambda message: None,
        called: str = "questions",
    ) -> None:
        self._command, self._name, self._called = list(command), name, called
        self._timeout, self._start_timeout = timeout, start_timeout
        self._check_ready = check_ready
        self._process: WorkerProcess | None = None
        self._asked = self._deaths = 0

    def ready(self) -> Message:
        """Return what the worker said when it was ready; start it if it does not run."""
        return self._running().said

    def ask(self, request: Message) -> Message:
        """Return the answer to a request, to which an id is added."""
        process = self._running()
        self._asked += 1
        try:
            answer = process.ask({"id": self._asked, **request}, self._timeout)
        except WorkerFault as error:
            self._deaths += 1
            process.stop()
            self._process = None
            if self._deaths >= DEATHS:
                raise WorkerGone(
                    f"{self._name}: {self._deaths} {self._called} in a row ended the worker: {error}"
                ) from error
            raise
        self._deaths = 0
        return answer

    def close(self) -> None:
        if self._process is not None:
            self._process.leave()
            self._process = None

    def _running(self) -> "WorkerProcess":
        for left in reversed(range(START_TRIES)):
            if self._process is not None:
                break
            process = WorkerProcess(self._command)
            try:
                process.wait_ready(self._start_timeout)
                self._check_ready(process.said)
            except WorkerFault as error:
                process.stop()
                if not left:
                    raise WorkerGone(f"{self._name}: the worker did not become ready: {error}") from error
            except BaseException:
                process.stop()
                raise
            else:
                self._process = process
        assert self._process is not None
        return self._process


class WorkerProcess:
    """One process; threads drain its two output streams."""

    def __init__(self, command: Sequence[str]) -> None:
        self.said: Message = {}  # when it was ready
        try:
            self._process = subprocess.Popen(  # noqa: S603  the user's own command
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # to stop its children with it
            )
        except OSError as error:
            raise WorkerGone(f"{command[0]}: could not be started: {error.strerror}") from error
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
        self.said = self._next(lambda message: message.get("ready") is True, timeout, "to become ready")

    def ask(self, request: Message, timeout: float) -> Message:
        try:
            self._input.write(json.dumps(request).encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise WorkerFault(f"died before the question{self._last_words()}") from error
        return self._next(lambda message: message.get("id") == request["id"], timeout, "to answer")

    def _next(self, wanted: Callable[[Message], bool], timeout: float, what: str) -> Message:
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


def _message(line: bytes) -> Message | None:
    """Parse a line of the protocol; None for other output."""
    try:
        message = parse_json(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
