"""Shards as tasks of Ray: the answer files of one process, whatever was done before."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="sharding over Ray needs the ray extra")

from .conftest import write_set

LISTENER = """
import os
from pathlib import Path
from cmi._util.errors import InputError

class Mine:
    batch = 3
    name = "by number"

    def answer(self, questions):
        with open("asked.txt", "a") as asked:
            asked.writelines(f"{question.id} {question.trial}\\n" for question in questions)
        return [self._one(int(q.text.split()[1].strip(":"))) for q in questions]

    def _one(self, number):
        if number % 5 == 2 and not Path("mended").exists():
            return InputError("no ear for this one")
        return f"number {number}"
"""


def ask(folder: Path, out: str, *more: str) -> dict:
    command = [sys.executable, "-m", "cmi", "bench", "run", "--listener", "mine:Mine", "--data", "set/annotations"]
    command += ["--trials", "2", "--out", out, "--json", *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def asked(folder: Path) -> list[str]:
    path = folder / "asked.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


@pytest.mark.timeout(400)
def test_shards_on_ray_give_the_answer_files_of_one_process(tmp_path):
    write_set(tmp_path / "set", 12)
    (tmp_path / "mine.py").write_text(LISTENER)
    alone = ask(tmp_path, "alone")
    expected = sorted(asked(tmp_path))
    assert len(expected) == 24

    ask(tmp_path, "shared", "--shard", "1/3")  # begun by hand, in another number of shards
    shared = ask(tmp_path, "shared", "--ray", "2")
    assert sorted(asked(tmp_path)) == expected  # each question once
    assert files(tmp_path / "shared") == files(tmp_path / "alone")
    assert len(files(tmp_path / "shared")) == 2
    assert shared["listener"] == alone["listener"]
    assert [(f["answered"], f["failed"], f["error"]) for f in shared["files"]] == [(10, 2, "no ear for this one")] * 2
    assert sum(file["asked"] for file in shared["files"]) == 16

    (tmp_path / "mended").touch()
    again = ask(tmp_path, "shared", "--ray", "2", "--retry-failed")
    assert [(f["answered"], f["failed"], f["asked"]) for f in again["files"]] == [(12, 0, 2)] * 2
    assert len(asked(tmp_path)) == 4
