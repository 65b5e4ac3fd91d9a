"""Scoring on Ray: the records of one process, also when a worker is killed, and nothing twice when it is run again."""

import json
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from . import dying_scorer

pytest.importorskip("ray", reason="scoring on Ray needs the ray extra")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own_scorer.py").write_text(dying_scorer.SOURCE)
    rows = []
    for number in range(40):
        name = f"{number:02d}.wav"
        soundfile.write(tmp_path / name, np.full(800, number / 100, np.float32), 16_000, subtype="FLOAT")
        rows.append({"id": str(number), "audio": name, "text": "x" * number, "lyrics": "la"})
    rows[7]["audio"] = "nowhere.wav"
    (tmp_path / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def score(folder, *more):
    command = [
        sys.executable,
        "-m",
        "cmi",
        "score",
        "--manifest",
        "takes.jsonl",
        "--model",
        "own_scorer:Level",
        "--json",
    ]
    done = subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 2, done.stderr  # one take can't be heard
    assert "1 of 40 takes could not be scored" in done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_records_are_those_of_one_process_although_a_worker_is_killed(folder):
    shared = score(folder, "--ray", "2", "--log", "scores.jsonl")
    assert (folder / "killed").exists()
    alone = score(folder)
    assert shared == alone
    keys = [json.loads(line)["key"] for line in (folder / "scores.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 39
    (folder / "asked.txt").unlink()
    assert score(folder, "--ray", "2", "--log", "scores.jsonl") == alone
    assert set((folder / "asked.txt").read_text().split()) == {"nowhere.wav"}, "what is logged is not scored again"
