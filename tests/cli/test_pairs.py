"""`cmi pairs` as a user meets it."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from ..pairs.conftest import write_takes  # noqa: F401

TEXTS = [{"text": f"prompt {number}"} for number in range(8)]


@pytest.fixture
def cmi(tmp_path):
    def run(*arguments, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [sys.executable, "-m", "cmi", "pairs", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "CMI_CACHE": str(tmp_path / "cache"), "COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.mark.slow
def test_from_takes_to_pairs(cmi, write_takes, tmp_path):  # noqa: F811
    write_takes(TEXTS, ["one", "two", "three"])
    done = cmi("takes", "--out", "pairs", "--pairs", 16, "--per-prompt", 2, "--hold-out-system", "three")
    assert "Pairs by split and modality" in done.stdout and "What nulls know" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "pairs" / "preferences.jsonl").read_text().splitlines()]
    assert done.stderr == f"cmi: pairs/preferences.jsonl: {len(rows)} pairs\n"
    again = cmi("takes", "--out", "pairs", "--pairs", 16, "--per-prompt", 2, "--hold-out-system", "three", "--json")
    assert json.loads(again.stdout)["pairs"]["made"] == len(rows)
    assert [json.loads(line) for line in (tmp_path / "pairs" / "preferences.jsonl").read_text().splitlines()] == rows


@pytest.mark.slow
def test_bad_input_is_one_sentence(cmi, write_takes, tmp_path):  # noqa: F811
    write_takes(TEXTS[:2], ["one", "two"])
    (tmp_path / "votes.csv").write_text("a,b,axis,choice,generator_a,generator_b\n1,2,overall,a,x,y\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("do not touch")
    for arguments, message in [
        (["nowhere"], "nowhere: no such file or folder"),
        (["empty.jsonl"], "empty.jsonl: no takes in it"),
        (["takes", "--split", "train=2"], "--split: 'train=2'"),
        (["takes", "--hold-out-system", "six"], "no take is by that system; the systems are one, two"),
        (["takes", "--hold-out-system", "one", "--split", "train=1"], "--hold-out-system needs a share"),
        (["takes", "--test-pairs", "9", "--pairs", "3"], "--test-pairs 9 is more than --pairs 3"),
        (["takes", "--sampling", "uncertain"], "needs --votes"),
        (["takes", "--sampling", "uncertain", "--votes", "votes.csv"], "about 0 of the takes' systems"),
        (["takes", "--min-seconds", "60"], "all 4 takes were left out (4 short)"),
    ]:
        done = cmi(*arguments, "--out", "pairs", code=2)
        assert message in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
        assert not (tmp_path / "pairs").exists()
    assert "not created by `cmi pairs`" in cmi("takes", "--out", "other", code=2).stderr
    cmi("takes", "--out", "pairs")
    assert "created with other settings" in cmi("takes", "--out", "pairs", "--seed", 1, code=2).stderr


@pytest.mark.slow
def test_checks_are_kept_when_the_command_is_killed(cmi, write_takes, tmp_path):  # noqa: F811
    write_takes(TEXTS, ["one", "two", "three", "four"], seconds=20.0)
    command = [sys.executable, "-m", "cmi", "pairs", "takes", "--out", "pairs", "--workers", "1"]
    environment = {**os.environ, "CMI_CACHE": str(tmp_path / "cache")}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment)
    cache = tmp_path / "cache" / "vectors.sqlite3-wal"
    while not (cache.exists() and cache.stat().st_size > 100_000):
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "pairs").exists()
    logged = cmi("takes", "--out", "pairs", "--workers", "1", "-v").stderr
    checked = re.search(r"(\d+) of 32 recordings were checked before", logged)
    assert checked and 0 < int(checked[1]) < 32
    assert len((tmp_path / "pairs" / "preferences.jsonl").read_text().splitlines()) == 48
