"""Shards as tasks of Ray: the same labels as in one process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="sharding over Ray needs the ray extra")


def label(folder: Path, out: str, *more: str) -> str:
    command = [sys.executable, "-P", "-m", "cmi", "judge", "label", "pairs.jsonl", "--model", "simulated:first=0.2"]
    done = subprocess.run([*command, "--out", out, *more], cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return (folder / out / "preferences.jsonl").read_text(encoding="utf-8")


@pytest.mark.timeout(400)
def test_shards_on_ray_give_the_labels_of_one_process(tmp_path):
    rows = [
        {"id": f"{i}", "text": f"p{i}", "a": f"{i}a.wav", "b": f"{i}b.wav", "axis": "musicality", "choice": "ab"[i % 2]}
        for i in range(30)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name in ("cmi", "ray", "soundfile", "numpy", "rich", "pip"):  # files that must not stand in for packages
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w').close()\nraise SystemExit(7)\n")
    alone = label(tmp_path, "alone")
    assert 10 < len(alone.splitlines()) <= 30
    assert label(tmp_path, "shared", "--ray", "2") == alone
    assert not (tmp_path / "was_run").exists()
    assert {path.name for path in (tmp_path / "shared.shards").iterdir()} == {"1-of-2", "2-of-2"}
