"""Call an endpoint until it answers: retries, pauses, response formats and the budget."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.http import FIRST_PAUSE, Fault, Tries, short
from cmi._util.redaction import Redact
from cmi.llm.budget import BudgetSpent, Spending, Usage, expected_usage
from cmi.llm.endpoint import FORMATS, Endpoint, Format
from cmi.llm.http import HttpClient
from cmi.llm.message import Answer, EncodedAudio, Request, Text, sound_part
from cmi.llm.reading import STREAMED, Reading, read_response

START_SECONDS = 2.0  # how long a server may take to start listening
FIRST_LIMIT = 4.0
SHRINK = 0.9
SMOOTHING = 0.1  # of the average time per answer
QUIET_SECONDS = 5.0  # seconds without an answer after which the user is informed


class Limiter:
    """Finds how many requests may be in flight and how fast they may follow each other.

    `async with limiter:` waits for a slot. Until the first refusal (429) the limit grows by one per answer. After it,
    calls are spread evenly over the time that an answer takes, because endpoints with a rate limit refuse bursts. Each
    further refusal lowers the limit by a tenth; it then grows by one per round of answers, then by two, by four, and so
    on until the next refusal. Refusals of calls that were in flight together count as one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = min(FIRST_LIMIT, float(most))
        self._in_flight = 0
        self._paced = False
        self._steady = False
        self._step = 1.0  # growth of the limit per round of answers
        self._round = 0  # answers in this round
        self._calls = 0
        self._last_refusal = 0
        self._seconds = 0.0  # per answer, smoothed
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
        """Number a call that begins now."""
        self._calls += 1
        return self._calls

    def answered(self, seconds: float) -> None:
        self._seconds += (seconds - self._seconds) * (SMOOTHING if self._seconds else 1.0)
        self.limit = min(float(self.most), self.limit + (self._step / self.limit if self._steady else 1.0))
        self._round += 1
        if self._round >= self.limit:
            self._step, self._round = min(2 * self._step, self.limit), 0

    def refused(self, ticket: int) -> None:
        if ticket > self._last_refusal:  # an earlier call met the same limit as the last refusal
            if self._paced:
                self.limit = max(1.0, self.limit * SHRINK)
                self._steady = True
            self._paced = self._seconds > 0  # the pace is unknown before the first answer
            self._last_refusal, self._step, self._round = self._calls, 1.0, 0


class Stopped(Exception):
    """The caller has left, so nothing more is sent."""


class BilledAnswer(NamedTuple):
    answer: Answer  # not on disk yet
    billed: int  # calls that may be billed for it


class Caller:
    """Asks one endpoint, with as many calls in flight as it accepts."""

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
        """How many requests may be under way, pausing ones included."""
        return int(self.limiter.limit) + min(self.pausing, self.endpoint.concurrency)

    async def ask(self, name: str, request: Request, encoded: Sequence[EncodedAudio]) -> BilledAnswer:
        """Ask until there is an answer; `name` identifies the request across retries, so it is billed once.

        Raises Fault if this request failed, InputError if all others would fail too.
        """
        expected = expected_usage(request, [sound.sent.sent for sound in encoded])
        format_: Format = self.format if request.schema else "plain"
        tries = Tries(self.endpoint.tries, self.endpoint.patience)
        while True:
            try:
                async with self.limiter:  # a pausing request frees its slot
                    answer = await self._try(name, request, encoded, format_, expected)
                break
            except Fault as fault:
                self._require_usable_endpoint(fault)
                if fault.kind == "rejected" and format_ != "plain":
                    format_ = FORMATS[FORMATS.index(format_) + 1]
                    continue
                is_start = fault.kind == "unreachable" and not self._client.contact.is_set()
                await self._wait(FIRST_PAUSE if is_start else tries.pause_after(fault), fault)
        if request.schema:
            self.format = max(self.format, format_, key=FORMATS.index)
        return BilledAnswer(replace(answer, tries=tries.count + 1), tries.billed + 1)

    def _require_usable_endpoint(self, fault: Fault) -> None:
        if fault.kind == "hopeless":
            raise InputError(f"{self.endpoint.shown_url}: {fault.reason}{self.endpoint.key_advice()}") from None
        is_late = time.monotonic() - self._began > START_SECONDS
        if fault.kind == "unreachable" and not self._client.contact.is_set() and is_late:
            raise InputError(
                f"{self.endpoint.shown_url}: {fault.reason}; check the address, and that the server is running"
            ) from None

    async def _try(
        self, name: str, request: Request, encoded: Sequence[EncodedAudio], format_: Format, expected: Usage
    ) -> Answer:
        """Make one call within the budget; Fault if it is not answered."""
        if self.stopping.is_set():
            raise Stopped
        if limit := self._spending.hold(expected):
            raise BudgetSpent(f"the budget of {limit} is spent; run the same command with a larger one to continue")
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
        """Pause until the next try or until the caller leaves."""
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
        alone = len(parts) == 1 and parts[0]["type"] == "text"  # some servers accept system messages only as text
        messages.append({"role": message.role, "content": parts[0]["text"] if alone else parts})
    return messages


def _usage(said: Reading, expected: Usage) -> Usage:
    """Return the usage that the endpoint reports, or the expected one if it reports none."""
    inputs, outputs = said.tokens
    return Usage(
        1,
        expected.input_tokens if inputs is None else inputs,
        expected.output_tokens if outputs is None else outputs,
    )
