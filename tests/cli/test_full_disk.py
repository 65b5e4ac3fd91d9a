"""A full disk ends a command with one sentence that names the file, and leaves no part of it under its name.

Two ways to a full disk without root: /dev/full, and a limit on the size of files, which is said as such.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

SCORER = """
from cmi.take import Score

class Flat:
    def score(self, takes):
        return [Score(1.0, 1.0) for _ in takes]

class Ear:
    def answer(self, questions):
        return ["C minor" for _ in questions]
"""
QUESTION = {"uuid": "q1", "instruction": "Name the key.", "input": "<|SOA|><AUDIO><|EOA|>", "output": "C minor"}
QUESTION |= {"audio_path": ["takes/p/a.wav"], "audio_start": 0.0, "audio_end": 1.0, "split": ["test"], "other": {}}
LIMIT = 6000  # bytes; less than a take has


def cmi(folder: Path, *arguments: object, limit: int | None = None, stdout: object = subprocess.PIPE):
    """`cmi` with files of at most `limit` bytes."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "cmi", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": str(folder)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
        preexec_fn=limited,
    )


@pytest.fixture(scope="module")
def takes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two prompts with takes, and a run of the benchmark on pairs of them."""
    folder = tmp_path_factory.mktemp("full")
    (folder / "mine.py").write_text(SCORER)
    rows = []
    for prompt in "pq":
        (folder / "takes" / prompt).mkdir(parents=True)
        (folder / "takes" / prompt / "prompt.txt").write_text(f"slow {prompt}")
        for side in "ab":
            sound = np.random.default_rng(ord(side)).uniform(-0.3, 0.3, 8000)
            soundfile.write(folder / "takes" / prompt / f"{side}.wav", sound, 8000)
        row = {"a": f"takes/{prompt}/a.wav", "b": f"takes/{prompt}/b.wav", "text": f"slow {prompt}"}
        rows.append({**row, "axis": "musicality", "choice": "a"})
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "questions").mkdir()
    (folder / "questions" / "CMI_GS_key.jsonl").write_text(json.dumps(QUESTION) + "\n")
    (folder / "mine_GS_key.jsonl").write_text(json.dumps({"id": "q1", "response": "C minor"}) + "\n")
    done = cmi(folder, "rewardbench", "run", "--model", "mine:Flat", "--data", "pairs.jsonl", "--out", "run")
    assert done.returncode == 0, done.stderr
    return folder


def is_one_sentence(done: subprocess.CompletedProcess[str], name: str, reason: str) -> None:
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("cmi: "), done.stderr
    assert name in lines[0] and reason in lines[0], done.stderr
    assert "what was finished before is kept" in lines[0]


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.unfinished")]


@pytest.mark.parametrize("form", ["table", "json"])
def test_standard_output_that_is_full(takes: Path, form: str):
    with Path("/dev/full").open("w") as full:
        done = cmi(takes, "bench", "table", "--format", form, stdout=full)
    is_one_sentence(done, "standard output", "the disk is full")


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "json"])
def test_an_output_file_on_a_full_disk(takes: Path, form: str):
    done = cmi(takes, "rewardbench", "table", "--format", form, "-o", "/dev/full")
    is_one_sentence(done, "/dev/full", "the disk is full")
    assert Path("/dev/full").is_char_device()


TOO_LARGE = "larger than the limit on files' sizes"


@pytest.mark.parametrize(
    ("arguments", "name", "limit"),
    [
        (("pick", "takes", "--model", "mine:Flat", "--copy-to", "best"), "best/p.wav", LIMIT),
        (("score", "takes/p/a.wav", "--model", "mine:Flat", "--log", "s.jsonl"), "s.jsonl.partial", 20),
        (("pick", "takes", "--model", "mine:Flat", "--log", "p.jsonl"), "p.jsonl.partial", 20),
        (("rewardbench", "run", "--model", "mine:Flat", "--data", "pairs.jsonl", "--out", "new"), "items.jsonl", 20),
        (("rewardbench", "analyse", "run", "--resamples", "100", "-o", "analysis.txt"), "analysis.txt", 20),
        (("bench", "table", "-o", "table3.txt"), "table3.txt", 20),
        (
            ("bench", "run", "--listener", "mine:Ear", "--data", "questions", "--out", "heard"),
            "heard/Ear_GS_key.log",
            20,
        ),
        (
            ("bench", "score", "mine_GS_key.jsonl", "--annotations", "questions", "--log", "b.jsonl"),
            "b.jsonl.partial",
            20,
        ),
        (("judge", "label", "pairs.jsonl", "--model", "scorer:mine:Flat", "--out", "l"), "l/settings.json", 20),
        (
            ("judge", "label", "pairs.jsonl", "--model", "scorer:mine:Flat", "--out", "m"),
            "m/verdicts.jsonl.partial",
            300,
        ),
        (("studio", "make", "set", "--pairs", "1", "--workers", "1"), ".flac", LIMIT),
        (("studio", "generate", "made", "--prompts", "1", "--candidates", "1", "--workers", "1"), "00.flac", LIMIT),
        (("studio", "mir", "mir", "--clips", "1"), "piece0000.flac", LIMIT),
        (("studio", "show", "shown", "--flaw", "dropouts"), ".flac", LIMIT),
        (("probe", "mine:Flat", "--pieces", "3", "--seconds", "5"), ".wav", LIMIT),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_a_file_that_cannot_grow_is_named(takes: Path, arguments: tuple[str, ...], name: str, limit: int):
    is_one_sentence(cmi(takes, *arguments, limit=limit), name, TOO_LARGE)
    assert leftovers(takes) == []
    assert not (takes / "best" / "p.wav").exists()
    assert not list(takes.rglob("*.flac"))
    assert not (takes / "analysis.txt").exists() and not (takes / "table3.txt").exists()
