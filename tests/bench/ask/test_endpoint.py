"""A model behind an address: a small HTTP server of our own, with real requests."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")

from cmi._util.errors import InputError
from cmi.bench.ask import ListenerStopped
from cmi.bench.ask.answer_log import Shard
from cmi.bench.ask.registry import Options, load_listener
from cmi.bench.ask.run import RunPlan, read_data, run


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, Any]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        parts = body["messages"][0]["content"]
        text = next(part["text"] for part in parts if part["type"] == "text")
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"heard {text}"}}
        said = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        said["usage"] = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        data = json.dumps(said if self.server.status == 200 else {"error": {"message": "no"}}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def _run(server: Server, path: Path, out: Path, **more: Any) -> Any:
    named = load_listener("openai", Options(out=out, url=server.url, model="org/tiny", batch=4, **more))
    try:
        return run(named.listener, RunPlan(out, named.short, named.full, read_data([path])))[0]
    finally:
        named.listener.close()  # type: ignore[attr-defined]


def test_every_question_is_asked_once_with_its_clip(server, small_set, tmp_path):
    summary = _run(server, small_set, tmp_path / "out")
    assert (summary.model, summary.answered, summary.failed) == ("tiny", 12, 0)
    lines = [json.loads(line) for line in Path(summary.path).read_text().splitlines()]
    assert lines[3]["response"] == "heard Question 3: which genre?"
    assert len(server.bodies) == 12
    kinds = [part["type"] for part in server.bodies[0]["messages"][0]["content"]]
    assert sorted(kinds) == ["input_audio", "text"]
    _run(server, small_set, tmp_path / "out")
    assert len(server.bodies) == 12


def test_shards_may_be_at_work_at_the_same_time(server, small_set, tmp_path):
    options = {"out": tmp_path / "out", "url": server.url, "model": "org/tiny"}
    first, second = (load_listener("openai", Options(shard=f"shard-{i}-of-2", **options)) for i in (1, 2))
    for number, named in enumerate((first, second), 1):
        data = read_data([small_set])
        run(named.listener, RunPlan(tmp_path / "out", named.short, named.full, data, shard=Shard(number, 2)))
    for named in (first, second):
        named.listener.close()  # type: ignore[attr-defined]
    assert len(server.bodies) == 12
    assert first.full == second.full


def test_a_wrong_key_ends_the_run_with_one_sentence(server, small_set, tmp_path):
    server.status = 401
    with pytest.raises(ListenerStopped):
        _run(server, small_set, tmp_path / "out")


def test_a_budget_stops_and_a_larger_one_goes_on_without_paying_twice(server, small_set, tmp_path):
    with pytest.raises(InputError, match="5 calls"):
        _run(server, small_set, tmp_path / "out", max_calls=5)
    assert len(server.bodies) == 5
    assert _run(server, small_set, tmp_path / "out", max_calls=12).answered == 12
    assert len(server.bodies) == 12
