"""A proxy before a real server: it passes calls on and, every so often, does to them what networks and gateways do.

What strikes is drawn by the call's words and how often they came, so that neither the order of calls nor the folder
of the model, which is part of the Idempotency-Key, changes anything.
Some faults strike before the server has heard of the call, others after it has done its work.
"""

import json
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BEFORE = ("429", "429 with Retry-After", "500", "time-out before", "empty body", "malformed body", "HTML")
AFTER = ("time-out after", "cut", "dropped")
FAULTS = (*BEFORE, *AFTER)


class FaultProxy(ThreadingHTTPServer):
    """`usage` has what the server counted for the answers that went through whole, by key; `calls` all by outcome."""

    daemon_threads = True

    def __init__(self, target: str, share: float, hang: float, rejected: Sequence[str] = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.share, self.hang, self.rejected = target, share, hang, rejected
        self.calls: Counter[str] = Counter()
        self.usage: dict[str, list[dict[str, int]]] = {}
        self.bodies: dict[str, dict[str, Any]] = {}
        self._came: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def fault(self, words: str) -> str:
        with self._lock:
            self._came[words] += 1
            rng = random.Random(f"fault proxy {words} {self._came[words]}")
            fault = rng.choice(FAULTS) if rng.random() < self.share else ""
            self.calls[fault or "passed on"] += 1
        return fault

    def went_through(self, key: str, body: bytes) -> None:
        with self._lock:
            self.usage.setdefault(key, []).append(_usage(body))


class _Handler(BaseHTTPRequestHandler):
    server: FaultProxy
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        self.server.bodies[key] = json.loads(body)
        if any(words in body.decode() for words in self.server.rejected):
            return self._send(400, b'{"error": {"message": "the prompt is too long"}}')
        fault = self.server.fault(_words(self.server.bodies[key]))
        if fault in BEFORE:
            return self._strike(fault)
        request = urllib.request.Request(self.server.target + self.path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            self._pass_on(key, answer, fault)
        return None

    def _strike(self, fault: str) -> None:
        self.close_connection = fault == "time-out before"
        if fault == "time-out before":
            time.sleep(self.server.hang)
        elif fault.startswith("429"):
            self._send(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0.3"} if "After" in fault else {})
        elif fault == "500":
            self._send(500, b"it broke")
        else:
            said = {"empty body": b"", "malformed body": b'{"choices": [{"mess', "HTML": b"<html>Bad gateway</html>"}
            self._send(200, said[fault])

    def _pass_on(self, key: str, answer: HTTPResponse, fault: str) -> None:
        """What the server says, whole or not; a stream line by line, and ended by the connection's end."""
        lines = answer.readlines()
        if fault:
            self.close_connection = True
            if fault == "time-out after":
                time.sleep(self.server.hang)
            if fault != "cut":
                return
        kind = answer.headers["Content-Type"]
        if kind.startswith("text/event-stream"):
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Connection", "close")
            self.end_headers()
            for line in lines[: len(lines) // 2] if fault else lines:
                self.wfile.write(line)
        else:
            self._send(200, b"".join(lines), cut=bool(fault))
        if not fault:
            self.server.went_through(key, b"".join(lines))

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def log_message(self, *_: Any) -> None: ...


def _words(body: dict[str, Any]) -> str:
    content = [message["content"] for message in body["messages"]]
    parts = [part for one in content if isinstance(one, list) for part in one]
    return " ".join(part["text"] for part in parts if part["type"] == "text")


def _usage(body: bytes) -> dict[str, int]:
    """The tokens that an answer names; of a stream, its last chunk that names any."""
    text = body.decode()
    if not text.startswith("data:"):
        return json.loads(text)["usage"]
    chunks = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]
    return next(chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage"))


@contextmanager
def fault_proxy(target: str, share: float, hang: float, rejected: Sequence[str] = ()) -> Iterator[FaultProxy]:
    """The proxy on the loopback interface, in threads of its own."""
    with FaultProxy(target, share, hang, rejected) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
