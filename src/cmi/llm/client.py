"""The chat client; `cmi.llm` says what it guarantees."""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Generic, Self, TypeVar

from cmi._util.errors import InputError
from cmi._util.http import Fault
from cmi._util.redaction import redactor
from cmi.audio import content_hash
from cmi.llm.budget import ANSWER_TOKENS, Budget, Estimate, Prices, Spending, Usage, expected_usage, sent_seconds
from cmi.llm.calls import Caller, Stopped
from cmi.llm.endpoint import Endpoint, Format
from cmi.llm.http import HttpClient
from cmi.llm.message import (
    Accept,
    Answer,
    EncodedAudio,
    Failure,
    Request,
    Result,
    checked,
    clip_seconds,
    digest,
    encode,
    plain_messages,
    sound_seconds,
    user,
)
from cmi.llm.store import Store

ENCODERS = 4  # threads that read and encode sounds
AHEAD = 2 * ENCODERS  # requests prepared beyond those in flight
HASHES = 100_000  # cached hashes of sound files
SOUNDS = 64  # cached encoded sounds: both orders of a pair use the same ones
COMPLAINT = "Your last answer could not be used: {why}. Answer again, exactly in the format that was asked for."


class Chat:
    """An endpoint, a folder of answers and a budget. Only one process at a time may use the folder.

    `on_wait` is called with the reason for a longer pause, and with '' when an answer has come.
    """

    def __init__(
        self, endpoint: Endpoint, folder: Path, budget: Budget | None = None, prices: Prices | None = None
    ) -> None:
        self.endpoint = endpoint
        self.on_wait: Callable[[str], None] = lambda what: None
        self._contact = threading.Event()  # set when the endpoint has answered: it is worth waiting for
        self._redact = redactor(endpoint.secrets())
        self._hash = lru_cache(HASHES)(content_hash)
        self._encode = lru_cache(SOUNDS)(encode)
        self._store = Store(folder)
        self._spending = Spending(budget or Budget(), prices or Prices(), self._store.spent())
        self._format = self._store.read_format()
        self._writer = ThreadPoolExecutor(1)  # the log is not thread-safe
        self._encoders = ThreadPoolExecutor(ENCODERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.shutdown()
        self._encoders.shutdown()
        self._store.close()

    @property
    def name(self) -> str:
        return self.endpoint.model

    @property
    def seconds(self) -> float:
        """How much of a sound is sent at most, if it is the only one of a request."""
        return clip_seconds(self.endpoint.sending, 1)

    @property
    def spent(self) -> Usage:
        """Usage of the answers in the folder, and of failed calls in this session that may have been billed."""
        return self._spending.spent

    @property
    def format(self) -> Format:
        """The strictest response format that the endpoint has not rejected."""
        return self._format

    def ask_all(self, requests: Iterable[Request], accept: Accept | None = None) -> Generator[Result, None, None]:
        """`ask` for synchronous callers. Close the generator to leave early; answers in flight are stored."""
        with Interruptible(self.ask(requests, accept)) as results:
            while (result := results.next()) is not None:
                yield result

    async def ask(self, requests: Iterable[Request], accept: Accept | None = None) -> AsyncGenerator[Result, None]:
        """Yield each request's key with its answer or failure; stored answers come first."""
        waiting, broken = await self._by_id(requests)
        for result in broken:
            yield result
        for request_id, asking, kept in self._store.answers():
            if request_id in waiting:
                answer = checked(kept, accept)
                if self._is_final(asking, answer):
                    yield waiting.pop(request_id).key, answer
        if waiting:
            async with HttpClient(self.endpoint, self._redact, self._contact) as http:
                caller = Caller(
                    http, self.endpoint, self._spending, self._format, self._redact, lambda what: self.on_wait(what)
                )
                async with aclosing(self._ask_waiting(waiting, caller, accept)) as results:
                    async for result in results:
                        yield result
        self._store.finish()

    def estimate(self, requests: Iterable[Request], accept: Accept | None = None) -> Estimate:
        """Estimate the cost, from stored answers if there are any; nothing is sent."""
        wanted, _ = asyncio.run(self._by_id(requests))
        kept = ((name, asking, checked(answer, accept)) for name, asking, answer in self._store.answers())
        known = {name: answer for name, asking, answer in kept if self._is_final(asking, answer)}
        tokens = round(sum(a.output_tokens for a in known.values()) / len(known)) if known else ANSWER_TOKENS
        todo = [request for name, request in wanted.items() if name not in known]
        usage = Usage()
        for request in todo:
            lengths = [sound_seconds(sound) for sound in request.sounds]
            usage += expected_usage(request, sent_seconds(lengths, self.endpoint.sending), tokens)
        return Estimate(len(wanted), len(wanted) - len(todo), usage, self._spending.prices.cost(usage))

    async def _by_id(self, requests: Iterable[Request]) -> tuple[dict[str, Request], list[Result]]:
        """Requests by identity, and failures of those whose sounds cannot be read. InputError for duplicate keys."""
        listed, identity, loop = list(requests), self.endpoint.identity, asyncio.get_running_loop()
        for key, count in Counter(request.key for request in listed).items():
            if count > 1:
                raise InputError(f"{count} requests have the key {key!r}, expected one")
        names = [loop.run_in_executor(self._encoders, digest, request, identity, self._hash) for request in listed]
        known: dict[str, Request] = {}
        broken: list[Result] = []
        for request, name in zip(listed, await asyncio.gather(*names, return_exceptions=True), strict=True):
            if isinstance(name, InputError):
                broken.append((request.key, Failure(str(name))))
            elif isinstance(name, BaseException):
                raise name
            else:
                known[name] = request
        return known, broken

    def _is_final(self, asking: int, answer: Answer) -> bool:
        return not answer.why or asking > self.endpoint.repairs

    async def _ask_waiting(
        self, waiting: dict[str, Request], caller: Caller, accept: Accept | None
    ) -> AsyncGenerator[Result, None]:
        todo = iter(waiting.items())
        running: set[asyncio.Task[Result]] = set()
        stop: InputError | None = None
        try:
            while True:
                while stop is None and len(running) < caller.room + AHEAD and (item := next(todo, None)):
                    running.add(asyncio.create_task(self._ask_one(*item, caller, accept)))
                if not running:
                    break
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    try:
                        yield task.result()
                    except InputError as error:  # the others would fail too
                        stop = stop or error
                        caller.stopping.set()
                    except Stopped:
                        continue
            if stop is not None:
                raise stop
        finally:
            caller.stopping.set()
            if running:
                self.on_wait(f"{len(running)} answers in flight, which are kept; press Ctrl-C again to leave at once")
            await asyncio.gather(*running, return_exceptions=True)  # they may be billed, so they are stored

    async def _ask_one(self, request_id: str, request: Request, caller: Caller, accept: Accept | None) -> Result:
        loop = asyncio.get_running_loop()
        try:
            encoded = await loop.run_in_executor(self._encoders, self._encode_all, request)
        except InputError as error:
            return request.key, Failure(str(error))
        asking, said = self._store.askings(request_id) + 1, request
        while True:
            try:
                answer, billed = await caller.ask(f"{request_id}/{asking}", said, encoded)
            except Fault as fault:
                return request.key, Failure(fault.reason)
            messages = self._redact(plain_messages(said, self._hash))
            keep = (request_id, asking, request.key, messages, answer, billed)
            await loop.run_in_executor(self._writer, self._store.keep, *keep)
            self._remember(caller.format)
            answer = checked(answer, accept)  # after storing: the answer may have been paid for
            if self._is_final(asking, answer):
                return request.key, answer
            complaint = user(COMPLAINT.format(why=answer.why))
            asking, said = asking + 1, replace(request, messages=(*request.messages, complaint))

    def _encode_all(self, request: Request) -> list[EncodedAudio]:
        sounds, sending = request.sounds, self.endpoint.sending
        seconds = clip_seconds(sending, len(sounds)) if sounds else 0.0
        return [self._encode(sound, sending, seconds) for sound in sounds]

    def _remember(self, found: Format) -> None:
        if found != self._format:
            self._format = found
            self._store.write_format(found)


Item = TypeVar("Item")
PATIENCE = 2  # signals before Python's own handler takes over


class Interruptible(Generic[Item]):
    """Iterates over an asynchronous generator from synchronous code; raises KeyboardInterrupt after a Ctrl-C.

    The first Ctrl-C stops sending and waits for requests in flight, the second does not wait. Python would raise
    KeyboardInterrupt anywhere, even between a response and its write to disk; here it is raised where nothing is lost.
    """

    def __init__(self, items: AsyncGenerator[Item, None]) -> None:
        self._items = items
        self._runner = asyncio.Runner()
        self._signals = 0
        self._step: asyncio.Task[Item | None] | None = None
        self._before: Any = None

    def __enter__(self) -> Self:
        is_ours = threading.current_thread() is threading.main_thread()
        if is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._runner.run(self._close())
            self._runner.close()
        finally:
            if self._before is not None:
                signal.signal(signal.SIGINT, self._before)

    def next(self) -> Item | None:
        """Return the next item, None after the last."""
        item = None if self._signals else self._runner.run(self._next())
        if self._signals:
            raise KeyboardInterrupt
        return item

    async def _next(self) -> Item | None:
        self._step = asyncio.ensure_future(anext(self._items, None))
        if self._signals:  # before there was a step to cancel
            self._step.cancel()
        with suppress(asyncio.CancelledError):
            return await self._step
        return None

    async def _close(self) -> None:
        self._step = asyncio.ensure_future(self._items.aclose())
        with suppress(asyncio.CancelledError):
            await self._step

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > PATIENCE:
            signal.default_int_handler(number, frame)
        self._runner.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._step is not None:
            self._step.cancel()
