"""Commands that compute on a CPU leave the cores to others while they wait."""

import os
import subprocess
import sys

import pytest

OWN = """
import os, sys
from cmi.take import Score
class Told:
    def score(self, takes):
        import torch
        print("spin", os.environ.get("GOMP_SPINCOUNT"), file=sys.stderr)
        return [Score(0.0, 0.0) for _ in takes]
"""


@pytest.mark.parametrize(
    ("chosen", "spin"),
    [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_torchs_threads_spin_only_for_moments_unless_the_user_chose(tmp_path, chosen, spin):
    (tmp_path / "own_scorers.py").write_text(OWN)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    (tmp_path / "take.wav").touch()
    done = subprocess.run(
        [sys.executable, "-m", "cmi", "score", "take.wav", "--model", "own_scorers:Told"],
        capture_output=True, text=True, cwd=tmp_path, env=environment | chosen, timeout=200, check=True,
    )  # fmt: skip
    assert f"spin {spin}" in done.stderr
