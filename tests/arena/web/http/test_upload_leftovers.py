"""What uploads leave behind when their server is killed is removed at the next start, but never a running server's."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cmi.arena.web.limits import Limits
from cmi.arena.web.uploads import Uploads

LEFT = ("a.upload", "a.unfinished")
KEPT = ("a.flac", "notes.txt")
RUNNING = (
    "import sys; from pathlib import Path; from cmi.arena.web.limits import Limits\n"
    "from cmi.arena.web.uploads import Uploads; uploads = Uploads(Path(sys.argv[1]), Limits()); uploads.claim()\n"
    "print('running', flush=True); sys.stdin.read()"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sounds"
    folder.mkdir()
    for name in LEFT + KEPT:
        (folder / name).write_bytes(b"x")
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_leftovers_go_and_sounds_stay(folder: Path):
    Uploads(folder, Limits()).claim()
    assert names(folder) == set(KEPT)


def test_files_of_a_running_server_stay_until_it_is_gone(folder: Path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", RUNNING, str(folder)], text=True, **pipes) as other:
        assert other.stdout.readline() == "running\n"
        for name in LEFT:
            (folder / name).write_bytes(b"under way")
        Uploads(folder, Limits()).claim()
        assert names(folder) == set(LEFT + KEPT)
        os.kill(other.pid, signal.SIGKILL)
    Uploads(folder, Limits()).claim()
    assert names(folder) == set(KEPT)
