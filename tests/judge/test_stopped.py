"""Ctrl-C in a run over an endpoint: no traceback, nothing lost, and the same command goes on."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cmi.bench.instruction import Instruction
from cmi.judge.prompt_file import read_role
from cmi.testing.chat_endpoint import FakeEndpoint, fake_endpoint
from cmi.testing.rule_endpoint import judge_by_rule as rule

COUNT = 30


def start(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cmi", *map(str, words), "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop(process: subprocess.Popen[str], server: FakeEndpoint, signals: int) -> tuple[int, str]:
    """Stop a run when some answers have come."""
    while process.poll() is None and server.calls["answered"] < 8:
        time.sleep(0.02)
    for number in range(signals):
        time.sleep(0.3 * number)
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def bench_words(folder: Path) -> list[object]:
    from .conftest import write_pairs

    write_pairs(folder, 1)
    records = [Instruction(f"Question {i}?", "C minor", "0.wav", 0.0, 0.1).to_record() for i in range(COUNT)]
    (folder / "CMI_GS_key.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return ["bench", "run", "--listener", "openai", "--data", folder / "CMI_GS_key.jsonl", "--concurrency", "4"]


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("kind", ["judge", "bench"])
def test_a_run_that_is_stopped_says_so_and_resumes(
    kind: str, signals: int, make_pairs: Callable[[int], Path], tmp_path: Path
):
    words = ["judge", "label", make_pairs(COUNT // 2)] if kind == "judge" else bench_words(tmp_path / "data")
    latency = 0.2 if signals == 1 else 5.0
    with fake_endpoint(partial(rule, role=read_role("two-axes")) if kind == "judge" else lambda body: "C", 0) as server:
        words += ["--url", server.url, "--model", "rule", "--out", tmp_path / "out"]
        process = start(*words)
        while process.poll() is None and server.calls["answered"] < 4:
            server.latency = 0.2
            time.sleep(0.01)
        server.latency = latency
        code, errors = stop(process, server, signals)
        assert code not in (0, 2), errors
        assert "answers in flight, which are kept" in errors
        assert "Traceback" not in errors and "Exception" not in errors and "never" not in errors
        server.latency = 0.0
        done = start(*words)
        said, errors = done.communicate(timeout=120)
        assert done.returncode == 0, errors
        assert len(server.billed) == COUNT and set(server.billed.values()) == {1}
        if signals == 1:  # what was in flight had come
            assert not server.calls["replayed"]
    found = json.loads(said)
    assert found["failed"] == 0 if kind == "judge" else found["files"][0]["answered"] == COUNT
