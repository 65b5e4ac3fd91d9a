"""Calls to an endpoint until one is answered: tries, pauses, formats, and the budget."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.llm.budget import BudgetSpent, Spending, Usage, expected_usage
from cmi.llm.endpoint import FORMATS, Endpoint, Format, Redact
from cmi.llm.http import Fault, HttpClient, short
from cmi.llm.message import Answer, EncodedAudio, Request, Text, sound_part
from cmi.llm.reading import STREAMED, Reading, read_response

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between two tries
START_SECONDS = 2.0  # that a server which never answered may take to begin to listen
FIRST_LIMIT = 4.0
SHRINK = 0.9
SMOOTHING = 0.1  # of the time that answers take
QUIET_SECONDS = 5.0  # without an answer, after which a user is told what a pause waits for


class Limiter:
    """How many requests may be in flight, and how fast they follow each other, found by asking.

    `async with limiter:` waits for a place and keeps it. Calls that are refused (429) met a limit of the endpoint, the
    same one if they were in flight together. Until the first refusal, the limit grows by one for each answer. After
    it, calls are spread evenly over the time that an answer takes: endpoints that limit the rate refuse bursts that
    they would take one by one. From the second on, each takes the limit down by a tenth; then it grows by one in a
    round of as many answers as it allows at once, by two in the next round, by four, until the next refusal.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = min(FIRST_LIMIT, float(most))
        self._in_flight = 0
        self._paced = False
        self._steady = False
        self._step = 1.0  # of the limit in a round of answers
        self._round = 0  # answers in it
        self._calls = 0
        self._last_refusal = 0
        self._seconds = 0.0  # that an answer takes
        self._next_start = 0.0
        self._freed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._freed:
            await self._freed.wait_for(lambda: self._in_flight < int(self.limit))
            self._in_flight += 1
        if self._paced:
            now = asyncio.get_running_loop().time()
            start = max(now, self._next_start)
            self._next_start = start + self._seconds / self.limit
            await asyncio.sleep(start - now)

    async def __aexit__(self, *_: object) -> None:
        async with self._freed:
            self._in_flight -= 1
            self._freed.notify_all()

    def ticket(self) -> int:
        """The number of a call that begins now."""
        self._calls += 1
        return self._calls

    def answered(self, seconds: float) -> None:
        self._seconds += (seconds - self._seconds) * (SMOOTHING if self._seconds else 1.0)
        self.limit = min(float(self.most), self.limit + (self._step / self.limit if self._steady else 1.0))
        self._round += 1
        if self._round >= self.limit:
            self._step, self._round = min(2 * self._step, self.limit), 0

    def refused(self, ticket: int) -> None:
        """The call with this ticket got a 429. One that began before the last refusal met the same limit."""
        if ticket > self._last_refusal:
            if self._paced:
                self.limit = max(1.0, self.limit * SHRINK)
                self._steady = True
            self._paced = self._seconds > 0  # until something was answered, nobody knows the pace
            self._last_refusal, self._step, self._round = self._calls, 1.0, 0


class Stopped(Exception):
    """The caller has left; nothing more is asked."""


class BilledAnswer(NamedTuple):
    """An answer that is not on disk yet, and how many calls may be billed for it."""

    answer: Answer
    billed: int


class Caller:
    """Asks one endpoint, with as many calls in flight as it takes."""

    def __init__(
        self,
        client: HttpClient,
        endpoint: Endpoint,
        spending: Spending,
        format_: Format,
        redact: Redact,
        on_wait: Callable[[str], None],
    ) -> None:
        self.endpoint = endpoint
        self.limiter = Limiter(endpoint.concurrency)
        self.stopping = asyncio.Event()
        self.pausing = 0  # requests that wait for their next try
        self.format: Format = format_
        self._client = client
        self._spending = spending
        self._redact = redact
        self._on_wait = on_wait
        self._began = self._last_answer = time.monotonic()

    @property
    def room(self) -> int:
        """How many requests may be under way: those in flight, and as many again that pause."""
        return int(self.limiter.limit) + min(self.pausing, self.endpoint.concurrency)

    async def ask(self, name: str, request: Request, encoded: Sequence[EncodedAudio]) -> BilledAnswer:
        """The answer to a request. `name` is the same whenever it is asked again, so that it is billed once.

        Fault: the request has failed. InputError: all others would fail too.
        """
        expected = expected_usage(request, [sound.sent.sent for sound in encoded])
        format_: Format = self.format if request.schema else "plain"
        tries = _Tries(self.endpoint)
        while True:
            try:
                async with self.limiter:  # a request that pauses leaves its place to others
                    answer = await self._try(name, request, encoded, format_, expected)
                break
            except Fault as fault:
                self._require_hope(fault)
                if fault.kind == "rejected" and format_ != "plain":
                    format_ = FORMATS[FORMATS.index(format_) + 1]
                    continue
                is_start = fault.kind == "unreachable" and not self._client.contact.made
                await self._wait(FIRST_PAUSE if is_start else tries.pause_after(fault), fault)
        if request.schema:
            self.format = max(self.format, format_, key=FORMATS.index)
        return BilledAnswer(replace(answer, tries=tries.count + 1), tries.billed + 1)

    def _require_hope(self, fault: Fault) -> None:
        """InputError if no request can be answered."""
        if fault.kind == "hopeless":
            raise InputError(f"{self.endpoint.shown_url}: {fault.reason}{self.endpoint.key_advice()}") from None
        is_late = time.monotonic() - self._began > START_SECONDS
        if fault.kind == "unreachable" and not self._client.contact.made and is_late:
            raise InputError(
                f"{self.endpoint.shown_url}: {fault.reason}; check the address, and that the server is running"
            ) from None

    async def _try(
        self, name: str, request: Request, encoded: Sequence[EncodedAudio], format_: Format, expected: Usage
    ) -> Answer:
        """One call, paid for. Fault if it is not answered."""
        if self.stopping.is_set():
            raise Stopped
        if limit := self._spending.hold(expected):
            raise BudgetSpent(f"the budget of {limit} is spent; the same command with a larger one goes on")
        used, ticket, began = Usage(), self.limiter.ticket(), time.monotonic()
        try:
            body = await self._client.post(name, self._body(request, encoded, format_))
            said = read_response(body)
            used = _usage(said, expected)
        except Fault as fault:
            fault.reason = short(self._redact(fault.reason))
            used = expected if fault.billed else used
            if fault.kind == "refused":
                self.limiter.refused(ticket)
            raise
        finally:
            self._spending.settle(expected, used)
        seconds = time.monotonic() - began
        self.limiter.answered(seconds)
        self._last_answer = time.monotonic()
        self._on_wait("")
        return Answer(
            text=self._redact(said.text),
            why=said.why,
            raw=self._redact(body.decode("utf-8", "replace")) if said.why else "",
            finish=self._redact(said.finish),
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            seconds=round(seconds, 3),
            format=format_,
            reasoning=self._redact(said.reasoning),
            heard=tuple(sound.sent for sound in encoded),
        )

    async def _wait(self, seconds: float, fault: Fault) -> None:
        """A pause, that ends when the caller leaves."""
        if time.monotonic() - self._last_answer >= QUIET_SECONDS:
            self._on_wait(f"{self.endpoint.shown_url}: {fault.reason}; next try in {seconds:.0f} s")
        self.pausing += 1
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)
        self.pausing -= 1

    def _body(self, request: Request, encoded: Sequence[EncodedAudio], format_: Format) -> dict[str, Any]:
        endpoint = self.endpoint
        body: dict[str, Any] = {"model": endpoint.model, "messages": _messages(request, encoded, endpoint)}
        if endpoint.temperature is not None:
            body["temperature"] = endpoint.temperature
        if endpoint.max_tokens is not None:
            body["max_tokens"] = endpoint.max_tokens
        if request.schema and format_ == "json_schema":
            described = {"name": request.schema.name, "schema": dict(request.schema.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif format_ == "json_object":
            body["response_format"] = {"type": "json_object"}
        if endpoint.stream:
            body |= STREAMED
        return body | dict(endpoint.extra)


class _Tries:
    """How often a request was tried in vain, and when to give it up."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.count = 0
        self.billed = 0
        self._endpoint = endpoint
        self._broken = 0
        self._refused = 0  # in a row
        self._refused_since: float | None = None

    def pause_after(self, fault: Fault) -> float:
        """Seconds until the next try; raises the fault if there is none. Pauses double with each fault in a row."""
        self.count += 1
        self.billed += fault.billed
        if fault.kind in ("rejected", "oversized"):
            raise fault
        if fault.kind == "refused":
            self._refused += 1
            self._refused_since = self._refused_since or time.monotonic()
            if time.monotonic() - self._refused_since > self._endpoint.patience:
                raise fault
        else:
            self._refused, self._refused_since = 0, None
            self._broken += 1
            if self._broken >= self._endpoint.tries:
                raise Fault(fault.kind, f"{fault.reason}, in the last of {self._broken} tries")
        doublings = self._refused if fault.kind == "refused" else self._broken
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** max(0, doublings - 1))
        jittered = longest * random.uniform(0.5, 1.0)  # noqa: S311
        return jittered if fault.retry_after is None else fault.retry_after + random.uniform(0, FIRST_PAUSE)  # noqa: S311


def _messages(request: Request, encoded: Sequence[EncodedAudio], endpoint: Endpoint) -> list[dict[str, Any]]:
    sounds = iter(encoded)
    messages = []
    for message in request.messages:
        parts = [
            {"type": "text", "text": part.text}
            if isinstance(part, Text)
            else sound_part(next(sounds), endpoint.sending)
            for part in message.parts
        ]
        alone = len(parts) == 1 and parts[0]["type"] == "text"  # some servers take a system's words as text alone
        messages.append({"role": message.role, "content": parts[0]["text"] if alone else parts})
    return messages


def _usage(said: Reading, expected: Usage) -> Usage:
    """What the endpoint says it took, or what was expected where it says nothing usable."""
    inputs, outputs = said.tokens
    return Usage(
        1,
        expected.input_tokens if inputs is None else inputs,
        expected.output_tokens if outputs is None else outputs,
    )
