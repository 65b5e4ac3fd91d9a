"""The Dockerfile without Docker: what it copies exists, and the command it runs predicts."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile

ROOT = Path(__file__).resolve().parents[3]
KNOWN = {"FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT"}


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (ROOT / "recipes/mirex/Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(words[0], words[1]) for line in lines if len(words := line.split(maxsplit=1)) == 2]


def test_every_step_is_an_instruction_and_the_first_is_from(steps):
    assert {name for name, _ in steps} <= KNOWN
    assert steps[0][0] == "FROM"
    assert ":" in steps[0][1]  # a version, not the latest


def test_what_it_copies_exists_in_the_clone(steps):
    sources = [word for name, rest in steps if name == "COPY" for word in rest.split()[:-1]]
    assert sources
    assert [word for word in sources if not (ROOT / word).exists()] == []


def test_the_extras_that_it_installs_are_ours(steps):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [wanted] = re.findall(r'"\.\[([a-z,-]+)\]"', " ".join(rest for name, rest in steps if name == "RUN"))
    assert set(wanted.split(",")) <= set(extras)


LOUDER = "cmi.rewardbench.evaluation.nulls:Louder"


@pytest.fixture
def asked(tmp_path) -> Path:
    """A pair of which a is louder."""
    for name, level in (("a", 0.5), ("b", 0.1)):
        soundfile.write(tmp_path / f"{name}.wav", level * np.sin(np.arange(8000) / 9), 8000)
    (tmp_path / "input.jsonl").write_text('{"sample_id": "1", "prompt": "x", "audio_A": "a.wav", "audio_B": "b.wav"}\n')
    return tmp_path


@pytest.mark.slow
def test_the_script_predicts_as_the_tasks_page_calls_it(asked):
    command = [sys.executable, ROOT / "recipes/mirex/main.py", "--path", "input.jsonl", "--model", LOUDER]
    done = subprocess.run(command, cwd=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((asked / "predictions.jsonl").read_text())["preferred_candidate"] == "A"


@pytest.mark.slow
def test_the_entry_point_predicts_with_the_model_that_is_named_last(steps, asked):
    [entry] = [json.loads(rest) for name, rest in steps if name == "ENTRYPOINT"]
    assert entry[0] == "cmi"
    given = f"{asked}/input.jsonl -o {asked}/p.jsonl --model {LOUDER}"
    command = [sys.executable, "-m", *entry, *shlex.split(given)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    assert json.loads((asked / "p.jsonl").read_text())["preferred_candidate"] == "A"
