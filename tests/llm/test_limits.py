"""Whatever an endpoint answers, the answer is kept, paid for once, and costs no more than its own request."""

import gzip
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.runlog import read_records
from cmi.cli import app
from cmi.llm import Answer, Chat, Endpoint, Failure, Request, user
from cmi.llm.http import LONGEST_LINE, MOST_BYTES
from cmi.llm.reading import read_response
from cmi.testing.chat_endpoint import fake_endpoint

LONG = "9" * 5000  # Python reads integers of 4,300 digits


def completion(content: str) -> bytes:
    """A body whose content is written as it is, quotes included."""
    return f'{{"choices": [{{"message": {{"content": {content}}}, "finish_reason": "stop"}}]}}'.encode()


def verdict(mark: str) -> str:
    said = f'{{"music_quality": "model_a", "music_quality_score_a": {mark}, "x": [1]}}'
    return json.dumps(said)


DEGENERATE = {
    "choices that are no list": b'{"choices": {}}',
    "no choices": b'{"choices": []}',
    "choices of null": b'{"choices": [null]}',
    "no message": b'{"choices": [{"message": null}]}',
    "content of null": completion("null"),
    "content that is a list": completion('[{"type": "text", "text": "model_a"}]'),
    "content that is a number": completion("7"),
    "NaN": completion("NaN"),
    "an object without anything": b"{}",
    "a list": b"[]",
    "deep nesting": b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a long integer in the answer": completion(verdict(LONG)),
    "a huge number in the answer": completion(verdict("1" + "0" * 400)),
    "NaN in the answer": completion(verdict("NaN")),
    "Infinity in the answer": completion(verdict("-Infinity")),
    "deep nesting in the answer": completion(json.dumps('{"a":' * 9_000)),
    "a lone surrogate": completion(r'"\ud83d model_a"'),
    "a control sequence": completion(r'"\u001b]0;owned\u0007"'),
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    for name in "ab":
        soundfile.write(folder / f"{name}.wav", np.full(2000, 0.1, np.float32), 16_000)
    (folder / "pairs.jsonl").write_text('{"id": "p", "text": "a tone", "a": "a.wav", "b": "b.wav"}\n')
    return folder / "pairs.jsonl"


@pytest.mark.parametrize("kind", DEGENERATE)
def test_a_degenerate_answer_is_kept_once_and_counted_as_no_verdict(
    canned: Callable[..., Any], pairs: Path, tmp_path: Path, kind: str
):
    body = DEGENERATE[kind]
    with canned(lambda handler: handler.send(body)) as server:
        command = ["judge", "label", str(pairs), "--url", server.url, "--model", "m", "--out", str(tmp_path / "run")]
        for _ in range(2):
            result = CliRunner().invoke(app, [*command, "--json"])
            assert result.exit_code == 0, result.exception
            found = json.loads(result.output)
            assert (found["failed"], found["unparsed"], found["labels"]) == (0, 2, 0)
        assert len(server.requests) == 2 * 3  # both orders, each repeated twice; the second run asks nothing
    kept = list(read_records(tmp_path / "run" / "chat" / "answers.jsonl"))
    assert len(kept) == 6 and all(record["raw"] or record["text"] for record in kept)


@pytest.mark.parametrize("kind", ["choices that are no list", "content of null", "deep nesting", "a list"])
def test_the_benchmark_lists_an_answer_that_cannot_be_read_and_does_not_pay_again(
    canned: Callable[..., Any], tmp_path: Path, kind: str
):
    with canned(lambda handler: handler.send(DEGENERATE[kind])) as server:
        for _ in range(2):
            with Chat(Endpoint(server.url, "m"), tmp_path) as chat:
                [(_, answer)] = chat.ask_all([Request("q", (user("which key?"),))])
            assert isinstance(answer, Answer) and answer.why and not answer.text and answer.raw
        assert len(server.requests) == 3


def test_a_long_integer_beside_the_answer_does_no_harm():
    body = f'{{"usage": {{"prompt_tokens": {LONG}}}, "choices": [{{"message": {{"content": "C minor"}}}}]}}'
    assert read_response(body.encode())[:3] == ("C minor", "", (None, None))


def ask(url: str, folder: Path, **settings: Any) -> Answer | Failure:
    with Chat(Endpoint(url, "m", **settings), folder) as chat:
        [(_, result)] = chat.ask_all([Request("q", (user("which key?"),))])
    return result


@pytest.mark.parametrize(
    ("part", "stream", "limit"),
    [
        (b" " * 65_536, False, MOST_BYTES),
        (b": nothing yet\n\n" * 4_000, True, MOST_BYTES),
        (b"data: " + b"x" * 65_536, True, LONGEST_LINE),
    ],
)
def test_a_response_without_end_is_cut_off_and_fails_its_own_request(
    canned: Callable[..., Any], tmp_path: Path, part: bytes, stream: bool, limit: int
):
    with canned(lambda handler: handler.send_without_end(part)) as server:
        failure = ask(server.url, tmp_path, stream=stream)
        assert isinstance(failure, Failure) and f"more than {limit:,} bytes" in failure.reason
        assert server.was_closed.wait(20)
        assert len(server.requests) == 1
    assert server.bytes_sent < 4 * limit + 8 * 2**20  # what the system's buffers hold comes on top


def test_an_error_without_end_is_cut_off_too(canned: Callable[..., Any], tmp_path: Path):
    with canned(lambda handler: handler.send(b"x" * (MOST_BYTES + 1), status=500)) as server:
        failure = ask(server.url, tmp_path)
    assert isinstance(failure, Failure) and f"more than {MOST_BYTES:,} bytes" in failure.reason


def test_a_small_body_that_unpacks_to_a_large_one_is_not_unpacked(canned: Callable[..., Any], tmp_path: Path):
    bomb = gzip.compress(b" " * 50_000_000)
    with canned(lambda handler: handler.send(bomb, Content_Encoding="gzip")) as server:
        failure = ask(server.url, tmp_path, tries=1)
        assert server.requests[0]["accept-encoding"] == "identity"
    assert isinstance(failure, Failure) and "encoded as gzip" in failure.reason


def test_a_stream_that_drips_ends_with_the_time_out(canned: Callable[..., Any], tmp_path: Path):
    def drip(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        try:
            for _ in range(600):
                handler.wfile.write(b": wait\n\n")
                time.sleep(0.05)
        except OSError:
            handler.server.was_closed.set()

    with canned(drip) as server:
        failure = ask(server.url, tmp_path, stream=True, timeout=0.5, tries=1)
        assert isinstance(failure, Failure) and "time-out" in failure.reason
        assert server.was_closed.wait(20)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:9/v1", "Connection refused"),
        ("http://no-such-host.invalid/v1", "no connection"),
        ("https://127.0.0.1:{port}/v1", "SSL"),
    ],
)
def test_a_dead_endpoint_is_one_sentence_and_not_a_wait(
    canned: Callable[..., Any], pairs: Path, tmp_path: Path, url: str, reason: str
):
    with canned(lambda handler: handler.send(b"{}")) as server:
        address = url.format(port=server.server_address[1])
        command = ["judge", "label", str(pairs), "--url", address, "--model", "m", "--out", str(tmp_path / "run")]
        result = CliRunner().invoke(app, command)
    said = str(result.exception)
    assert re.search(reason, said, re.IGNORECASE) and "check the address" in said and address in said
    assert not (tmp_path / "run" / "chat" / "answers.jsonl").exists()


def test_a_server_that_goes_away_is_waited_for_and_the_user_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cmi.llm.calls.QUIET_SECONDS", 0.0)
    told: list[str] = []
    with fake_endpoint(lambda body: "yes") as server:
        chat = Chat(Endpoint(server.url, "m", tries=4), tmp_path)
        list(chat.ask_all([Request("q0", (user("0"),))]))
    chat.on_wait = told.append
    with chat:
        [(_, failure)] = chat.ask_all([Request("q1", (user("1"),))])
    assert isinstance(failure, Failure) and "in the last of 4 tries" in failure.reason
    assert told and all(server.url in what and "no connection" in what for what in told)
