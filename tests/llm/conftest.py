"""A server that answers with bytes as they are, for responses that no well-behaved endpoint gives."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Reply = Callable[["CannedHandler"], None]


class CannedHandler(BaseHTTPRequestHandler):
    server: "CannedServer"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(dict(self.headers.items()))
        self.server.reply(self)

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in (named | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_without_end(self, part: bytes, kind: str = "text/event-stream") -> None:
        """The same part again and again, until the client has had enough."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        try:
            while True:
                self.wfile.write(part)
                self.server.bytes_sent += len(part)
        except OSError:
            self.server.was_closed.set()

    def log_message(self, *_: Any) -> None: ...


class CannedServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), CannedHandler)
        self.reply = reply
        self.requests: list[dict[str, str]] = []
        self.bytes_sent = 0
        self.was_closed = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serve(reply: Reply) -> Iterator[CannedServer]:
    with CannedServer(reply) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def canned() -> Callable[[Reply], Any]:
    return serve
