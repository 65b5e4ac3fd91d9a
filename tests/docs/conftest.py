"""A folder in which the shell commands of a page run, with `cmi` and `python` of this environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .commands import ROOT


class Shell:
    """Runs scripts in a folder; stops at the first command that fails, and ends what they left running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, script: str, timeout: float) -> str:
        """What was printed; a test fails if the script does."""
        script = f"set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -x\n{script}\n"
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        log = self.folder / "said.txt"
        with log.open("w") as said:  # not a pipe, which a server that is left over would keep open
            done = subprocess.run(
                ["bash", "-c", script],
                stdout=said, stderr=said, cwd=self.folder, timeout=timeout,
                env={**os.environ, "HF_HUB_OFFLINE": "1", "PATH": path},
            )  # fmt: skip
        assert done.returncode == 0, log.read_text()[-4000:]
        return log.read_text()


@pytest.fixture
def shell(tmp_path: Path, wheel: Path) -> Shell:
    """A clone to the commands: a folder with the recipes, musicnn's weights in its cache, `cmi` and `python`."""
    (tmp_path / "cache").mkdir()
    shutil.copy(wheel, tmp_path / "cache")
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    (tmp_path / "bin").mkdir()
    for name, module in (("python", ""), ("cmi", "-m cmi ")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    return Shell(tmp_path)
