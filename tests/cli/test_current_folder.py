"""Nothing in the current folder runs unless the user names it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

PLANTED = "from pathlib import Path\nPath('ran').touch()\nraise ImportError('planted')\n"
SCORER = """
from cmi.take import Score

class Flat:
    def score(self, takes):
        return [Score(1.0, 1.0) for _ in takes]
"""


@pytest.mark.parametrize("start", [["-m", "cmi"], [str(Path(sys.executable).with_name("cmi"))]], ids=["-m", "script"])
def test_files_that_are_called_like_packages_do_not_run(tmp_path: Path, start: list[str]):
    for name in ("pip", "soundfile", "soxr", "numpy", "torch", "rich", "typer", "scipy", "yaml", "json"):
        (tmp_path / f"{name}.py").write_text(PLANTED)
    soundfile.write(tmp_path / "a.wav", np.random.default_rng(0).uniform(-0.3, 0.3, 8000), 8000)
    for arguments in (["--version"], ["bench", "table"], ["score", "a.wav", "--model", "nowhere"]):
        done = subprocess.run(
            [sys.executable, *start, *arguments],
            cwd=tmp_path,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert not (tmp_path / "ran").exists() and "planted" not in done.stderr, done.stderr
        assert done.returncode in (0, 2)


def test_a_class_of_the_current_folder_is_still_found(tmp_path: Path):
    (tmp_path / "mine.py").write_text(SCORER)
    soundfile.write(tmp_path / "a.wav", np.random.default_rng(0).uniform(-0.3, 0.3, 8000), 8000)
    command = [sys.executable, "-m", "cmi", "score", "a.wav", "--model", "mine:Flat", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert '"musicality": 1.0' in done.stdout
