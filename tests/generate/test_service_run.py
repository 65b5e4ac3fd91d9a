"""`cmi generate` with a service: killed and resumed, each take is there once and was paid for once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cmi.generate.run import GenerationPlan, run_generation
from cmi.take import read_prompts
from cmi.testing.music_service import KEY, KEY_VARIABLE, FakeMusicService, fake_music_service

PROMPTS = 12


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    rows = [json.dumps({"id": f"p{i}", "text": f"waltz {i}"}) + "\n" for i in range(PROMPTS)]
    (tmp_path / "prompts.jsonl").write_text("".join(rows))
    return tmp_path


def start(folder: Path, service: FakeMusicService, *options: str) -> "subprocess.Popen[str]":
    service.write_description(folder / "fake.toml")
    words = ["generate", "prompts.jsonl", "takes", "--system", "fake.toml", "--seconds", "2", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "cmi", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def rows(folder: Path) -> list[dict[str, object]]:
    path = next((folder / "takes").glob("takes.jsonl*"))
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_a_killed_command_goes_on_and_nothing_is_billed_twice(folder: Path):
    with fake_music_service(polls=8, idempotent=True) as service:
        for made in (2, 6):
            running = start(folder, service)
            while len(service.billed) < made:
                assert running.poll() is None, running.communicate()
                time.sleep(0.02)
            os.kill(running.pid, signal.SIGKILL)
            running.wait()
        said, errors = start(folder, service).communicate(timeout=120)
        assert len(rows(folder)) == PROMPTS, (said, errors)
        assert {row["group"] for row in rows(folder)} == {f"p{i}" for i in range(PROMPTS)}
        assert set(service.billed.values()) == {1} and len(service.billed) == PROMPTS
    assert {row["cost"] for row in rows(folder)} == {0.5}
    assert KEY not in said + errors


def test_a_budget_ends_the_run_and_failures_are_counted_by_reason(folder: Path):
    faults = {"audio": ["HTML", "empty", "truncated", "silent"], "submit": ["422"], "poll": ["failed"]}
    with fake_music_service(faults=faults) as service:
        service.write_description(folder / "fake.toml")
        prompts = list(read_prompts(folder / "prompts.jsonl"))
        plan = GenerationPlan(prompts, folder / "takes", [str(folder / "fake.toml")], seconds=2.0, max_cost=4.0)
        (summary,) = run_generation(plan)
        assert summary.failed == {
            "refused": 1, "failed": 1, "not audio": 1, "empty": 1, "cut off": 1, "silent": 1,
        }  # fmt: skip
        assert (summary.takes, summary.cost, sum(service.billed.values())) == (4, 4.0, 9)  # a failed job costs nothing
        assert "more than --max-cost 4" in summary.limit
