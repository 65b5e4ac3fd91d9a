"""Takes of all clients, scored together.

Threads of requests read recordings (hash, cache, decode, resample) and put takes into one queue. One thread owns the
model: it takes what is there, waits a few milliseconds for more, and scores it in one call. A model in several
processes (`cmi serve --ray`) has several such threads, which share what waits. A take that was asked for already, by
whomever, is answered from memory. Scores do not depend on which takes share a call.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

from cmi._util.errors import HttpRefusal, InputError
from cmi.audio import content_hash
from cmi.reward.scoring.score_log import take_key
from cmi.reward.scoring.scorers import NamedScorer, ReadTake, ScoredTake
from cmi.take import Take

Answer = ScoredTake | InputError
OnBatch = Callable[[int, float], None]

WAIT = 0.004  # seconds for more takes to come
TOGETHER = 64  # takes in one call of the model
WAITING = 64  # takes that may wait; each may hold two minutes of sound, 12 MB at 24 kHz
REMEMBERED = 10_000  # answers
FIRST_GUESS = 0.5  # seconds for a take, until one was scored
NEWEST = 0.2  # the weight of the last call in the mean time for a take


class _Waiting(NamedTuple):
    take: Take
    read: ReadTake
    answer: "Future[Answer]"


class ScoreQueue:
    """`ask` may be called from any thread; `close` ends the threads that score, of which there are `calls`."""

    def __init__(
        self,
        scorer: NamedScorer,
        most_waiting: int = WAITING,
        wait: float = WAIT,
        on_batch: OnBatch | None = None,
        calls: int = 1,
    ) -> None:
        self.scorer = scorer
        self.most_waiting = most_waiting
        self.waiting = 0
        self.answered_from_memory = 0
        self._wait = wait
        self._on_batch = on_batch
        self._seconds = FIRST_GUESS  # for a take
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Future[Answer]] = OrderedDict()
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._score_all, name="cmi-score", daemon=True) for _ in range(calls)]
        for thread in self._threads:
            thread.start()

    def ask(self, takes: Sequence[Take]) -> "list[Future[Answer]]":
        """Read takes and queue them; an answer comes with each. HttpRefusal if too many takes wait."""
        answers: list[Future[Answer]] = []
        new: list[tuple[Take, str, Future[Answer]]] = []
        keys = [_key(take) for take in takes]
        with self._lock:
            for take, key in zip(takes, keys, strict=True):
                if isinstance(key, InputError):
                    answers.append(Future())
                    answers[-1].set_result(key)
                    continue
                if key not in self._known:
                    self._known[key] = Future()
                    new.append((take, key, self._known[key]))
                self._known.move_to_end(key)
                answers.append(self._known[key])
            if self.waiting + len(new) > self.most_waiting:
                for _, key, _ in new:
                    del self._known[key]
                raise self._full(len(new))
            self.waiting += len(new)
            self.answered_from_memory += len(answers) - len(new)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        for take, key, answer in new:
            answer.add_done_callback(partial(self._leave, key))
            try:
                self._queue.put(_Waiting(take, self.scorer.read(take), answer))
            except Exception as error:
                answer.set_exception(error)
        return answers

    def close(self) -> None:
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _full(self, more: int) -> HttpRefusal:
        if more > self.most_waiting:
            return HttpRefusal("too many", f"{more} takes in one request, at most {self.most_waiting} may wait", 413)
        seconds = max(1, math.ceil(self._seconds * self.waiting / 2))  # until half of them are done
        sentence = f"{self.waiting} takes are waiting to be scored: try again in {seconds} s"
        return HttpRefusal("busy", sentence, 429, {"retry-after": str(seconds)})

    def _leave(self, key: str, done: "Future[Answer]") -> None:
        """A take is answered. Only a score is remembered: a file that could not be read may be there next time."""
        with self._lock:
            self.waiting -= 1
            scored = done.exception() is None and isinstance(done.result(), ScoredTake)
            if not scored and self._known.get(key) is done:
                del self._known[key]

    def _score_all(self) -> None:
        while batch := self._next_batch():
            begin = time.perf_counter()
            for waiting, answer in zip(batch, self._score(batch), strict=True):
                if isinstance(answer, HttpRefusal) or not isinstance(answer, Answer):  # of the server, not of the take
                    waiting.answer.set_exception(answer)
                else:
                    waiting.answer.set_result(answer)
            took = time.perf_counter() - begin
            with self._lock:
                self._seconds += NEWEST * (took / len(batch) / len(self._threads) - self._seconds)
                if self._on_batch is not None:
                    self._on_batch(len(batch), took)

    def _next_batch(self) -> list[_Waiting]:
        """Return the waiting takes, with those that arrive within milliseconds; empty once the queue is closed.

        Each thread leaves the other threads their share.
        """
        first = self._queue.get()
        if first is None:
            return []
        batch = [first]
        end = time.monotonic() + self._wait
        while len(batch) < TOGETHER and not self._has_share(len(batch)):
            try:
                more = self._queue.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                break
            if more is None:
                self._queue.put(None)  # for the next time
                break
            batch.append(more)
        return batch

    def _has_share(self, taken: int) -> bool:
        waiting = self._queue.qsize()
        return waiting > 0 and taken * len(self._threads) >= taken + waiting

    def _score(self, batch: Sequence[_Waiting]) -> "Iterator[Answer | Exception]":
        """An answer for each take, whatever the scorer does."""
        read = {job: sound for waiting in batch for job, sound in waiting.read.items()}
        left = len(batch)
        try:
            for answer in self.scorer.judge([waiting.take for waiting in batch], read):
                left -= 1
                yield answer
        except Exception as error:  # of the model: the takes that have no score yet fail, the server goes on
            yield from [error] * left


def _key(take: Take) -> str | InputError:
    """Return everything that a score depends on, or the error if a recording cannot be read."""
    try:
        return take_key(take, content_hash)
    except InputError as error:
        return error
