"""A real audio language model behind a real server, asked through a proxy that spoils a fifth of the calls.

The server is transformers' own (`transformers serve`), the model a tiny Qwen2-Audio with random weights: what it says
means nothing, and is the same whoever asks.
"""

import base64
import io
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")
pytest.importorskip("httpx")
pytest.importorskip("fastapi", reason="`transformers serve` needs transformers[serving]")
pytest.importorskip("uvicorn", reason="`transformers serve` needs transformers[serving]")
pytest.importorskip("openai", reason="`transformers serve` needs transformers[serving]")
pytest.importorskip("librosa", reason="`transformers serve` decodes sound by librosa")

from cmi._util.errors import InputError
from cmi._util.runlog import read_records
from cmi.bench.ask.registry import Options, load_listener
from cmi.bench.ask.run import read_data
from cmi.bench.instruction import Instruction

from . import tiny_models
from .conftest import RATE
from .fault_proxy import FAULTS, FaultProxy, fault_proxy

QUESTIONS = 60
TOKENS = 12
TIME_OUT = 6.0  # seconds, many times what an answer takes
TOO_LONG = "Question 7:"  # what the proxy's 400 strikes, always
NO_SOUND = 11  # whose file is missing


class Served(NamedTuple):
    address: str
    model: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    model = _plain_speaking(tiny_models.save("qwen2-audio", folder / "tiny"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = ["transformers", "serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / serve[0]), *serve[1:]],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 120
        while not _answers(address):
            assert process.poll() is None and time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.2)
        _ask_once(address, model)  # the first sound takes seconds, which are no fault
        yield Served(address, model)
    finally:
        process.terminate()
        process.wait(30)


def _ask_once(address: str, model: Path) -> None:
    sound = io.BytesIO()
    soundfile.write(sound, np.zeros(RATE), RATE, format="WAV")
    part = {
        "type": "input_audio",
        "input_audio": {"data": base64.b64encode(sound.getvalue()).decode(), "format": "wav"},
    }
    body = {"model": str(model), "max_tokens": 1, "messages": [{"role": "user", "content": [part]}]}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as said:
        assert said.status == 200


def _plain_speaking(model: Path) -> Path:
    """The model with no words but letters and its end: half a character would be lost in a stream of text."""
    from safetensors.torch import load_file, save_file

    words = tiny_models.tokenizer()
    plain = {words.convert_tokens_to_ids(chr(code)) for code in range(33, 127)} | {words.eos_token_id}
    weights = load_file(model / "model.safetensors")
    [head] = [name for name in weights if name.endswith("lm_head.weight")]
    weights[head][[word for word in range(len(words)) if word not in plain]] = 0
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    return model


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health") as said:
            return said.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An annotation file, each question about another second; the sound of one of them is not there."""
    folder = tmp_path_factory.mktemp("asked")
    rng, times = np.random.default_rng(1), np.arange(RATE) / RATE
    tones = [rng.uniform(0.02, 0.4) * np.sin(2 * np.pi * rng.uniform(60, 6000) * times) for _ in range(QUESTIONS)]
    soundfile.write(folder / "song.wav", np.concatenate(tones), RATE)
    records = [
        Instruction(
            f"Question {i}: {rng.bytes(12).hex()}?",
            "blues",
            "lost.wav" if i == NO_SOUND else "song.wav",
            float(i),
            i + 1.0,
        )
        for i in range(QUESTIONS)
    ]
    path = folder / "CMI_GTZAN.jsonl"
    path.write_text("".join(json.dumps(record.to_record()) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def expected(served: Served, asked: Path) -> list[str | None]:
    """What the same model says in this process; None where nothing can be said."""
    listener = load_listener("qwen2-audio", Options(model=str(served.model), device="cpu", max_tokens=TOKENS)).listener
    [data] = read_data([asked])
    answers = listener.answer(data.questions)
    assert len(set(map(str, answers))) > QUESTIONS / 3  # it matters which question was asked
    too_long = [TOO_LONG in question.text for question in data.questions]
    return [
        None if gone or isinstance(answer, InputError) else answer.text
        for answer, gone in zip(answers, too_long, strict=True)
    ]


def _run(proxy: FaultProxy, served: Served, asked: Path, out: Path, *more: str) -> dict:
    command = [sys.executable, "-m", "cmi", "bench", "run", "--listener", "openai", "--url", proxy.url, "--json"]
    command += ["--model", str(served.model), "--data", str(asked), "--out", str(out), "--max-tokens", str(TOKENS)]
    command += ["--concurrency", "8", "--timeout", str(TIME_OUT), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    [file] = json.loads(done.stdout)["files"]
    return file


@pytest.mark.parametrize("how", [[], ["--stream"]], ids=["whole", "streamed"])
def test_a_fifth_of_the_calls_spoilt_costs_no_answer_and_counts_none_twice(how, served, asked, expected, tmp_path):
    out = tmp_path / "out"
    with fault_proxy(served.address, share=0.2, hang=TIME_OUT + 1, rejected=[TOO_LONG]) as proxy:
        file = _run(proxy, served, asked, out, *how)
        assert (file["questions"], file["answered"], file["failed"]) == (QUESTIONS, QUESTIONS - 2, 2)
        calls = proxy.calls.total()
        assert _run(proxy, served, asked, out, *how)["asked"] == 0
        assert proxy.calls.total() == calls

    lines = [json.loads(line) for line in Path(file["path"]).read_text().splitlines()]
    assert [line["response"] and line["response"].strip() for line in lines] == expected
    failed = {number: line["error"] for number, line in enumerate(lines) if line["response"] is None}
    assert set(failed) == {7, NO_SOUND}
    assert "too long" in failed[7] and "lost.wav" in failed[NO_SOUND]

    [chat] = out.glob("chat-*")
    kept = list(read_records(chat / "answers.jsonl"))
    assert len({record["id"] for record in kept}) == len(kept) == QUESTIONS - 2
    assert set(proxy.usage) == {record["id"] for record in kept}
    assert {len(counted) for counted in proxy.usage.values()} == {1}  # none was asked for again once it had come
    for name, ours in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        assert sum(record[ours] for record in kept) == sum(one[name] for [one] in proxy.usage.values())

    log = list(read_records(out / "tiny_GTZAN.log"))
    assert len({record["key"] for record in log}) == len(log) == QUESTIONS + 1  # and what the log is about
    assert all(body.get("stream", False) == bool(how) for body in proxy.bodies.values())
    assert sum(proxy.calls[kind] > 0 for kind in FAULTS) >= 7
