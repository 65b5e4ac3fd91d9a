"""Pairs judged over an endpoint that misbehaves, by a process that is killed: as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cmi._util.runlog import read_records
from cmi.judge.prompt_file import read_role
from cmi.testing.chat_endpoint import FakeEndpoint, fake_endpoint
from cmi.testing.rule_endpoint import judge_by_rule as rule

KEY = "sk-test-4242424242424242424242"
PAIRS = 200


def label(pairs: Path, server: FakeEndpoint, out: Path, kill_after: int | None = None) -> tuple[int, str]:
    """The exit code of `cmi judge label`, and all that it printed; killed after so many answers, if it still runs."""
    settings = out.parent / f"{out.name}.toml"
    settings.write_text(
        f'url = "{server.url}"\nmodel = "rule"\ntimeout = 2\ntries = 15\nrepairs = 8\nkey_env = "RULE_KEY"\n'
    )
    command = [sys.executable, "-m", "cmi", "judge", "label", str(pairs), "--endpoint", str(settings), "--json"]
    process = subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"RULE_KEY": KEY},
    )
    before = len(server.billed)
    while kill_after is not None and process.poll() is None:
        if len(server.billed) >= before + kill_after:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.01)
    said, _ = process.communicate()
    return process.returncode, said


@pytest.fixture(scope="module")
def undisturbed(make_pairs: Callable[[int], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """The pairs, and what a run without faults says of them."""
    pairs = make_pairs(PAIRS)
    answer = partial(rule, role=read_role("two-axes"), first=0.2)
    with fake_endpoint(answer) as server:
        code, said = label(pairs, server, tmp_path_factory.mktemp("plain") / "run")
    assert code == 0, said
    found = json.loads(said)
    assert found["axes"]["musicality"]["contradicted"] > 10
    return pairs, found


def without_place(found: dict) -> dict:
    return {name: value for name, value in found.items() if name != "file"}


def test_faults_change_no_count_lose_no_pair_and_bill_none_twice(undisturbed: tuple[Path, dict], tmp_path: Path):
    pairs, expected = undisturbed
    answer = partial(rule, role=read_role("two-axes"), first=0.2)
    with fake_endpoint(answer, faults=0.2) as server:
        code, said = label(pairs, server, tmp_path / "run")
    assert code == 0, said
    assert without_place(json.loads(said)) == without_place(expected)
    assert len(server.billed) == 2 * PAIRS and set(server.billed.values()) == {1}
    assert all(server.calls[kind] for kind in server.kinds)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) >= 7
    assert not any(KEY[:12] in path.read_text() for path in kept) and KEY[:12] not in said


def test_killed_at_random_and_resumed_it_comes_to_the_same(undisturbed: tuple[Path, dict], tmp_path: Path):
    pairs, expected = undisturbed
    answer = partial(rule, role=read_role("two-axes"), first=0.2)
    rng, kills = random.Random(3), 4
    with fake_endpoint(answer, faults=0.2, latency=0.05) as server:
        for _ in range(kills):
            code, _ = label(pairs, server, tmp_path / "run", kill_after=rng.randint(1, 90))
            assert code == -signal.SIGKILL
        code, said = label(pairs, server, tmp_path / "run")
    assert code == 0, said
    assert without_place(json.loads(said)) == without_place(expected)
    assert set(server.billed.values()) == {1}
    # what was asked again was in flight at a kill; nothing that was on disk
    assert server.calls["replayed"] <= kills * 64 + server.calls["cut"]
    answers = [record["id"] for record in read_records(tmp_path / "run" / "chat" / "answers.jsonl")]
    assert len(answers) == len(set(answers))
