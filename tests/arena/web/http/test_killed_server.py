"""A server that is killed again and again, and finds no room on its disk: every acknowledged vote is there, once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "arena.py"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_acknowledged_vote_survives_kills_and_a_full_disk(kind: str, request):
    """The benchmark itself, small: 12 people, `kill -9` every three seconds, and no room on the disk for a while."""
    if kind == "postgresql":
        request.getfixturevalue("postgres_server")  # skips where there is none
    options = ["--annotators", "12", "--votes", "80", "--seconds", "600", "--think", "0.4"]
    options += ["--kill-every", "3", "--fill-disk"]
    command = [sys.executable, str(BENCHMARK), "--database", kind, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^ (.+?)  +([\d,]+) *$", done.stdout, re.MULTILINE)
    found = {name: int(n.replace(",", "")) for name, n in rows}
    assert found["kill -9"] >= 1 and found["of these refused because nothing could be written"] >= 12
    assert found["acknowledged"] == found["rows"] >= 80
    assert "Traceback" not in done.stderr
