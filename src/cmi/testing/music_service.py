"""A local music service for tests: it queues jobs, bills them, and fails in the ways that services do.

    with fake_music_service(faults={"submit": ["500", "429 with Retry-After"], "audio": ["cut"]}) as service:
        path = service.write_description(folder / "fake.toml")
        cmi.generate.service.load_service(path).generate(cmi.Prompt("a waltz"), seed=0, seconds=2.0)

`faults` lists what the first calls of each step get ('submit', 'poll', 'audio'); later ones are fine. `billed` counts
the jobs by prompt and seed. A service that dies and is served again on the same port still has its jobs.
"""

import asyncio
import base64
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import soundfile

from cmi.testing.local_server import ReceivedRequest, read_request, send_response, serve_in_thread

Step = Literal["submit", "poll", "audio"]
RATE = 16_000
HTML = b"<!DOCTYPE html><html><body>Bad gateway</body></html>"
KEY_VARIABLE, KEY = "FAKE_MUSIC_KEY", "fake-music-key-0123456789"
DESCRIPTION = """
url = "{url}"
documentation = "the docstring of cmi.testing.music_service"
version = "1"
licence = "CC0-1.0"
price = 0.5
accepts = ["text", "lyrics"]
auth = {{header = "X-Key", value = "Bearer {{key}}", key_env = "{key}"}}
{poll}
[submit]
path = "/songs"
timeout = 5
job = "{job}"
idempotency_header = "{header}"
body = {{prompt = "{{text}}", lyrics = "{{lyrics}}", seed = "{{seed}}", seconds = "{{seconds}}"}}
[download]
audio = "{audio}"
field = "{field}"
"""
POLL = """
[poll]
path = "/songs/{job}"
state = "status"
done = ["done"]
failed = ["failed"]
message = "why"
interval = 0.05
"""
BROKEN_AUDIO = ("HTML", "empty", "truncated", "JSON", "silent")


@dataclass(eq=False)
class FakeMusicService:
    """`deliver`: 'url' with jobs, or at once as 'base64' or 'body'. `polls`: questions until a job is done.

    Faults of any step: any status, 429 with Retry-After, HTML, cut, hang; of 'poll' also failed;
    of 'audio' also empty, truncated, JSON, silent.
    """

    deliver: Literal["url", "base64", "body"] = "url"
    polls: int = 1
    latency: float = 0.0  # seconds before a submission is answered
    faults: Mapping[Step, Sequence[str]] = field(default_factory=dict)
    idempotent: bool = False  # recognise repeated requests by their Idempotency-Key

    def __post_init__(self) -> None:
        self.url = ""
        self.billed: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.requests: list[ReceivedRequest] = []
        self._jobs: dict[str, dict[str, Any]] = {}
        self._by_key: dict[str, str] = {}
        self._polled: Counter[str] = Counter()
        self._left = {step: list(kinds) for step, kinds in self.faults.items()}

    def description(self) -> str:
        """A description of this service in TOML."""
        has_jobs = self.deliver == "url"
        return DESCRIPTION.format(
            url=self.url,
            key=KEY_VARIABLE,
            job="id" if has_jobs else "",
            header="Idempotency-Key" if self.idempotent else "",
            poll=POLL if has_jobs else "",
            audio=self.deliver,
            field="" if self.deliver == "body" else "song",
        )

    def write_description(self, path: Path) -> Path:
        path.write_text(self.description(), encoding="utf-8")
        return path

    @contextmanager
    def serve(self, port: int = 0) -> Iterator["FakeMusicService"]:
        with serve_in_thread(self.handle, port) as self.url:
            yield self

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while True:
                request = await read_request(reader)
                self.requests.append(request)
                if not await self._reply(request, writer):
                    break
        writer.close()

    async def _reply(self, request: ReceivedRequest, writer: asyncio.StreamWriter) -> bool:
        step: Step = "submit" if request.method == "POST" else "audio" if "/audio/" in request.path else "poll"
        left = self._left.get(step, [])
        fault = left.pop(0) if left else ""
        self.calls[f"{step} {fault}".strip()] += 1
        name = request.path.rpartition("/")[2]
        if fault.startswith("429"):
            headers = {"Retry-After": "0.2"} if "Retry-After" in fault else {}
            return await send_response(writer, 429, b'{"error": "slow down"}', headers)
        if fault == "302":
            return await send_response(writer, 302, b"", {"Location": self.url + request.path})
        if fault.isdecimal():
            said = json.dumps({"error": f"it broke; your key is {request.headers.get('x-key')}"})
            return await send_response(writer, int(fault), said.encode())
        if fault == "hang":
            await asyncio.sleep(30)
            return False
        if step == "submit":
            return await self._submit(request, writer, fault)
        if fault == "HTML" and step == "poll":
            return await send_response(writer, 200, HTML, kind="text/html")
        if step == "audio":
            song = _song(self._jobs[name], fault)
            return await send_response(writer, 200, song, kind="audio/wav", cut=fault == "cut")
        if fault == "failed":
            return await _say(writer, {"id": name, "status": "failed", "why": "no GPU"})
        if name not in self._jobs:
            return await send_response(writer, 404, b'{"error": "no such job"}')
        self._polled[name] += 1
        if self._polled[name] < self.polls:
            return await _say(writer, {"id": name, "status": "queued"})
        return await _say(writer, {"id": name, "status": "done", "song": f"{self.url}/audio/{name}"}, fault == "cut")

    async def _submit(self, request: ReceivedRequest, writer: asyncio.StreamWriter, fault: str) -> bool:
        body = json.loads(request.content)
        key = request.headers.get("idempotency-key", "")
        name = self._by_key.get(key) if self.idempotent and key else None
        if name is None:
            name = f"job-{len(self._jobs) + 1}"
            self._jobs[name] = body
            self.billed[f"{body.get('prompt')}/{body.get('seed')}"] += 1
            self._by_key[key] = name
        await asyncio.sleep(self.latency)
        if fault == "HTML" and self.deliver == "url":
            return await send_response(writer, 200, HTML, kind="text/html")
        if self.deliver == "url":
            return await _say(writer, {"id": name, "status": "queued"}, fault == "cut")
        song = _song(body, fault)
        if self.deliver == "body":
            return await send_response(writer, 200, song, kind="audio/wav", cut=fault == "cut")
        return await _say(writer, {"song": base64.b64encode(song).decode()}, fault == "cut")


@contextmanager
def fake_music_service(port: int = 0, **settings: Any) -> Iterator[FakeMusicService]:
    """Serve on the loopback interface in a thread; `settings` are those of FakeMusicService."""
    with FakeMusicService(**settings).serve(port) as service:
        yield service


def _song(body: Mapping[str, Any], fault: str) -> bytes:
    """A sine of its own for each seed, as WAV; or what a fault makes of it."""
    if fault == "HTML":
        return HTML
    if fault in ("empty", "JSON"):
        return b"" if fault == "empty" else b'{"detail": "not found"}'
    times = np.arange(round(RATE * float(body.get("seconds") or 2.0))) / RATE
    sine = 0.5 * np.sin(2 * np.pi * (220 + 10 * int(body.get("seed", 0))) * times)
    encoded = io.BytesIO()
    soundfile.write(encoded, 0 * sine if fault == "silent" else sine, RATE, format="WAV", subtype="PCM_16")
    content = encoded.getvalue()
    return content[: len(content) // 2] if fault == "truncated" else content


async def _say(writer: asyncio.StreamWriter, said: Mapping[str, Any], cut: bool = False) -> bool:
    return await send_response(writer, 200, json.dumps(said).encode(), cut=cut)
