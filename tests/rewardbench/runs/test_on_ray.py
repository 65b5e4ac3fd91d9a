"""`cmi rewardbench run --ray`: the records of one process, also if a worker is killed, and nothing twice."""

import json
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from ...reward.scoring import dying_scorer

pytest.importorskip("ray", reason="scoring on Ray needs the ray extra")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own_level.py").write_text(dying_scorer.SOURCE)
    rows = []
    for number in range(0, 40, 2):
        for one in (number, number + 1):
            samples = np.full(8000, (one * 7 % 40 + 1) / 100, np.float32)
            soundfile.write(tmp_path / f"{one:02d}.wav", samples, 16_000, subtype="FLOAT")
        pair = {"a": f"{number:02d}.wav", "b": f"{number + 1:02d}.wav"}
        rows.append({"text": "x" * number, **pair, "axis": "musicality", "choice": "ab"[number % 3 == 0]})
    rows[3]["a"] = "nowhere.wav"
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(folder, out, *more):
    command = [sys.executable, "-m", "cmi", "rewardbench", "run", "--model", "own_level:Level", "--data", "votes.jsonl"]
    done = subprocess.run([*command, "--out", out, *more], cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(out, "OUT")


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.jsonl"))}


@pytest.mark.timeout(600)
def test_the_run_is_that_of_one_process_although_a_worker_is_killed(folder):
    shared = run(folder, "shared", "--ray", "2")
    assert (folder / "killed").exists()
    alone = run(folder, "single")
    assert shared == alone
    assert files(folder / "shared") == files(folder / "single")
    (folder / "asked.txt").unlink()
    assert run(folder, "shared") == alone  # one process goes on with what Ray began
    assert set((folder / "asked.txt").read_text().split()) == {"nowhere.wav"}, "what is logged is not scored again"
