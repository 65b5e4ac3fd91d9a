"""Codec libraries' own warnings stay off the terminal; everything else gets there."""

import subprocess
import sys

import numpy as np
import pytest
import soundfile

LOAD = """
import sys
from pathlib import Path
from cmi import audio
try:
    audio.load(Path(sys.argv[1]), 24_000)
except audio.InputError:
    pass
print("said after", file=sys.stderr)
"""
SAY_MEANWHILE = """
import os, sys, threading
from cmi._util.quiet_stderr import quiet_stderr
inside, said = threading.Barrier(4), threading.Barrier(4)
def block():
    with quiet_stderr():
        os.write(2, b"from C\\n")
        inside.wait()
        said.wait()
        os.write(2, b"from C\\n")
threads = [threading.Thread(target=block) for _ in range(3)]
[thread.start() for thread in threads]
inside.wait()
for i in range(20):
    print(f"line {i}", file=sys.stderr)
said.wait()
[thread.join() for thread in threads]
print("line 20", file=sys.stderr)
os.write(2, b"from C at the end\\n")
"""


def stderr_of(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stderr


@pytest.fixture(scope="module")
def mp3(tmp_path_factory):
    path = tmp_path_factory.mktemp("mp3") / "whole.mp3"
    noise = np.random.default_rng(0).standard_normal(3 * 44_100) / 10
    soundfile.write(path, noise, 44_100, format="MP3", subtype="MPEG_LAYER_III")
    return path.read_bytes()


def cut_off(content: bytes) -> bytes:
    return content[: len(content) // 3]


def with_a_hole(content: bytes) -> bytes:
    return content[:3000] + bytes(3000) + content[6000:]


@pytest.mark.parametrize("damage", [cut_off, with_a_hole])
def test_a_damaged_mp3_makes_nothing_but_us_speak(mp3, tmp_path, damage):
    path = tmp_path / "damaged.mp3"
    path.write_bytes(damage(mp3))
    plain = "import soundfile, sys\ntry:\n soundfile.read(sys.argv[1])\nexcept soundfile.LibsndfileError: pass"
    assert stderr_of(plain, str(path))  # else this test tells nothing
    assert stderr_of(LOAD, str(path)) == "said after\n"


def test_what_python_says_meanwhile_in_any_thread_is_not_lost():
    said = stderr_of(SAY_MEANWHILE).splitlines()
    assert said == [*(f"line {i}" for i in range(21)), "from C at the end"]


def test_a_closed_stderr_is_no_error():
    code = "import os; os.close(2)\nfrom cmi._util.quiet_stderr import quiet_stderr\n"
    code += "with quiet_stderr(): pass\nprint('well')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "well\n"
