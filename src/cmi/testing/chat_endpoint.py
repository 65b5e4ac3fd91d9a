"""A local chat endpoint for tests, which answers by a function, with configurable latency, rate limit and faults.

    with fake_endpoint(lambda body: "C minor", latency=0.2, rate=50, faults=0.2) as server:
        endpoint = Endpoint(server.url, "fake")

A share `faults` of the calls fail, all kinds equally often, by the call's Idempotency-Key and how often it came,
not by the order of calls. A key with a good answer gets the same answer again and is not billed again.

A stream is sent letter by letter and ends with the connection, so only its content shows whether it was cut off.
`stream_only` refuses requests that do not ask for a stream.
"""

import asyncio
import base64
import io
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import soundfile

from cmi.audio import Waveform
from cmi.testing.local_server import read_request, send_response, serve_in_thread

FAULTS = ("429", "429 with Retry-After", "500", "hang", "cut", "not JSON", "HTML", "no verdict", "wrong keys")
ANSWERS = ("no verdict", "wrong keys")  # bad answers, given only before a good one
HANG = 30.0  # seconds
RETRY_AFTER = "0.2"

Body = dict[str, Any]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
ABOUT: Body = {"id": "fake", "created": 0, "model": "fake"}


@dataclass(eq=False)
class FakeEndpoint:
    """`billed` counts the good answers made per key, `calls` all calls by outcome."""

    answer: Callable[[Body], str]
    latency: float = 0.0  # seconds
    rate: float | None = None  # calls a second
    faults: float = 0.0
    kinds: Sequence[str] = FAULTS
    formats: Sequence[str] = ("json_schema", "json_object")
    seed: int = 0
    stream_only: bool = False

    def __post_init__(self) -> None:
        self.url = ""
        self.billed: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self._answers: dict[str, str] = {}
        self._came: Counter[str] = Counter()
        self._allowed, self._counted_at = 1.0, time.monotonic()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while True:
                request = await read_request(reader)
                self.headers.append(request.headers)
                key = request.headers.get("idempotency-key", "")
                if not await self._reply(key, json.loads(request.content), writer):
                    break
        writer.close()

    async def _reply(self, key: str, body: Body, writer: asyncio.StreamWriter) -> bool:
        """Answer one call; return whether the connection can be used again."""
        fault = self._fault(key)
        if key in self._answers and fault in ANSWERS:
            fault = ""
        if fault == "" and self._is_over_the_limit():
            fault = "429 with Retry-After" if self.faults else "429"
        self.calls[fault or "answered"] += 1
        if fault == "429":
            return await send_response(writer, 429, _error("slow down"))
        if fault == "429 with Retry-After":
            return await send_response(writer, 429, _error("slow down"), {"Retry-After": RETRY_AFTER})
        if fault == "500":
            return await send_response(writer, 500, _error("it broke"))
        if fault == "hang":
            await asyncio.sleep(HANG)
            return False
        await asyncio.sleep(self.latency)
        if fault == "HTML":
            return await send_response(writer, 200, b"<html><body>Bad gateway</body></html>", kind="text/html")
        if self.stream_only and not body.get("stream"):
            return await send_response(writer, 400, _error("this model supports stream=true only"))
        wanted = body.get("response_format", {}).get("type")
        if wanted and wanted not in self.formats:
            return await send_response(writer, 400, _error(f"response_format {wanted} is not supported"))
        if fault == "no verdict":
            return await _say(writer, body, "I would rather not say.")
        if fault == "wrong keys":
            return await _say(writer, body, '{"winner": "the first"}')
        if fault == "not JSON":
            return await send_response(writer, 200, b"{'choices': [")
        if key not in self._answers or not key:
            self._answers[key] = self.answer(body)
            self.billed[key] += 1
        else:
            self.calls["replayed"] += 1
        return await _say(writer, body, self._answers[key], cut=fault == "cut")

    def _fault(self, key: str) -> str:
        self._came[key] += 1
        rng = random.Random(f"cmi.rehearsal {self.seed} {key} {self._came[key]}")  # noqa: S311
        return rng.choice(self.kinds) if rng.random() < self.faults else ""

    def _is_over_the_limit(self) -> bool:
        """A token bucket filled at `rate` calls per second that holds a tenth of a second's worth."""
        if self.rate is None:
            return False
        now = time.monotonic()
        self._allowed = min(max(1.0, self.rate / 10), self._allowed + (now - self._counted_at) * self.rate)
        self._counted_at = now
        if self._allowed < 1:
            return True
        self._allowed -= 1
        return False


@contextmanager
def fake_endpoint(answer: Callable[[Body], str], port: int = 0, **settings: Any) -> Iterator[FakeEndpoint]:
    """Serve on the loopback interface in a thread; `settings` are those of FakeEndpoint."""
    server = FakeEndpoint(answer, **settings)
    with serve_in_thread(server.handle, port) as address:
        server.url = f"{address}/v1"
        yield server


def sounds_of(body: Body) -> list[Waveform]:
    """Decode the sounds of a request."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    data = [part["input_audio"]["data"] for part in parts if part["type"] == "input_audio"]
    data += [part["audio_url"]["url"] for part in parts if part["type"] == "audio_url"]
    encoded = (text.rpartition(",")[2] for text in data)  # without the prefix of a data URI
    decoded = (soundfile.read(io.BytesIO(base64.b64decode(text)), dtype="float32") for text in encoded)
    return [Waveform(samples, rate) for samples, rate in decoded]


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "fake", "code": None, "param": None}}).encode()


def _completion(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({**ABOUT, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()


def _events(text: str) -> list[str]:
    """The letters, the finish reason, the usage and the end mark."""
    choices: list[list[Body]] = [[{"index": 0, "delta": {"content": letter}, "finish_reason": None}] for letter in text]
    choices += [[{"index": 0, "delta": {}, "finish_reason": "stop"}], []]
    about = {**ABOUT, "object": "chat.completion.chunk"}
    chunks = [{**about, "choices": choice, "usage": None if choice else USAGE} for choice in choices]
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


async def _say(writer: asyncio.StreamWriter, body: Body, text: str, cut: bool = False) -> bool:
    """Send an answer, whole or as a stream; return whether the connection can be used again."""
    if not body.get("stream"):
        return await send_response(writer, 200, _completion(text), cut=cut)
    events = _events(text)
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    for event in events[: len(text) // 2] if cut else events:
        writer.write(event.encode())
        await writer.drain()
    return False
