"""The scripts behind the numbers of docs/calibrate.md run, at tiny size."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cmi.rewardbench.runs.run_folder import read_run

SCRIPTS = Path(__file__).parents[3] / "recipes" / "calibrate"


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, SCRIPTS / script, *arguments]
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=600).stdout


@pytest.mark.slow
@pytest.mark.parametrize("what, lines", [("gain", 16), ("drift", 6)])
def test_studies_are_simulated(what, lines):
    said = run("simulate.py", what, 1).splitlines()
    assert len(said) == lines and all(len(line.split()) >= 6 for line in said[1:])


@pytest.mark.slow
def test_published_scores_become_a_run_of_which_votes_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["battle_id", "preference", "system_a", "system_b", "tj_a", "tj_b", "tj_pred", "agree"])
        for i in range(300):
            a, b = rng.choice(["new", "old", "older"], 2, replace=False)
            won = rng.random() < (0.9 if a == "new" else 0.1 if b == "new" else 0.5)
            writer.writerow([f"id{i}", "A" if won else "B", a, b, *rng.normal(size=2), "", ""])
    run("published_scores.py", tmp_path / "votes.csv", tmp_path / "run")
    assert len(read_run(tmp_path / "run").items) == 300
    rows = [line.split() for line in run("draws.py", tmp_path / "run", 5).splitlines()[2:]]
    assert [row[0] for row in rows] == ["10", "30", "60", "100", "250"]
    assert float(rows[3][3]) > 5  # a hundred votes tell that the new one is better
