"""`cmi mirex` as an entrant meets it: in a process of its own, killed, resumed, and with bad files."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.testing.chat_endpoint import fake_endpoint, sounds_of

MODELS = """
import os, time
import soundfile
from cmi.judge.verdict import Opinion, Verdict
from cmi.take import Score

class Ear:
    def score(self, takes):
        for take in takes:
            with open("asked.txt", "a") as file:
                file.write(f"{take.audio.name}\\n")
        levels = [float(abs(soundfile.read(take.audio)[0]).max()) for take in takes]
        return [Score(level, -level) for level in levels]

class Slow(Ear):
    def score(self, takes):
        time.sleep(0.3 * len(takes))
        return super().score(takes)

class FirstHeard:
    def judge(self, pairs):
        return [Verdict({"musicality": Opinion("a")}) for _ in pairs]
"""


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cmi", "mirex", *map(str, arguments)]
    environment = {**os.environ, "CMI_DATA": str(folder / "data"), "COLUMNS": "200"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=environment)


def cmi(folder: Path, *arguments: object, code: int = 0) -> str:
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return out if code == 0 else err


@pytest.fixture
def folder(tmp_path) -> Path:
    """Twenty pairs of which b is louder, one that ends nowhere, one that is no sound and one of NaN."""
    (tmp_path / "models.py").write_text(MODELS)
    rows = []
    for i in range(20):
        for side, level in (("a", 0.1), ("b", 0.5)):
            soundfile.write(tmp_path / f"{i}{side}.wav", level * np.sin(np.arange(4000) / 9), 8000)
        rows.append({"sample_id": i, "prompt": "x", "audio_A": f"{i}a.wav", "audio_B": f"{i}b.wav"})
    (tmp_path / "input.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "text.wav").write_text("no sound")
    bad = [{**rows[0], "sample_id": name, "audio_B": f"{name}.wav"} for name in ("gone", "text")]
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *bad]))
    return tmp_path


def test_a_killed_run_goes_on_where_it_was(folder):
    command = ("predict", "input.jsonl", "-o", "p.jsonl", "--model", "models:Slow")
    first = start(folder, *command)
    log = folder / "p.jsonl.run" / "scores.jsonl.partial"
    deadline = time.monotonic() + 240
    while not (log.exists() and log.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not (folder / "p.jsonl").exists()
    kept = {Path(json.loads(line)["audio"]).name for line in log.read_text().splitlines() if line.endswith("}")}
    assert 0 < len(kept) < 40
    (folder / "asked.txt").unlink()
    assert "20 predictions" in cmi(folder, *command)
    assert not kept & set((folder / "asked.txt").read_text().split())
    assert "complete and valid" in cmi(folder, "check", "p.jsonl", "--input", "input.jsonl")
    rows = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert [row["sample_id"] for row in rows] == list(range(20))
    assert {row["preferred_candidate"] for row in rows} == {"B"}


def test_bad_files_are_named_and_the_others_predicted(folder):
    said = cmi(folder, "predict", "bad.jsonl", "-o", "p.jsonl", "--model", "models:Ear", "-q", code=2).splitlines()
    assert any("gone" in line for line in said)
    assert any(line.startswith("cmi: text: ") for line in said)
    assert "2 of 22 pairs have no prediction" in said[-1]
    assert len((folder / "p.jsonl").read_text().splitlines()) == 20
    assert "no prediction for 2 of 22 ids" in cmi(folder, "check", "p.jsonl", "--input", "bad.jsonl", code=2)


def test_a_judge_that_always_prefers_what_it_hears_first_ties_and_says_so(folder):
    process = start(folder, "predict", "input.jsonl", "-o", "p.jsonl", "--model", "models:FirstHeard")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert "ties: 20 ('0', '1', '2', ...)" in said
    rows = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert {row["preference_score"] for row in rows} == {0.5}
    assert {row["preferred_candidate"] for row in rows} == {"A", "B"}


def answer_by_loudness(body: dict) -> str:
    levels = [float(abs(sound.samples).max()) for sound in sounds_of(body)]
    louder = "model_a" if levels[0] > levels[1] else "model_b"
    return json.dumps({"overall_preference": louder, "score_a": 3, "score_b": 3})


def test_a_language_model_behind_an_endpoint_predicts_and_is_disclosed(folder):
    with fake_endpoint(answer_by_loudness) as server:
        command = ("predict", "input.jsonl", "-o", "p.jsonl", "--url", server.url, "--model", "m")
        options = ("--prompt", "strict-musicality", "--max-calls", "30")
        assert "the budget of 30 calls is spent" in cmi(folder, *command, *options, code=2)
        cmi(folder, *command, *options[:2])
        assert sum(server.calls.values()) == 40  # nothing is asked twice
    rows = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert [(row["preference_score"], row["preferred_candidate"]) for row in rows] == [(0.0, "B")] * 20
    assert f"audio and prompts were sent to {server.url}" in cmi(folder, "disclose", "p.jsonl")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("predict", "input.jsonl", "-o", "p.jsonl"), "no model"),
        (("predict", "none.jsonl", "-o", "p.jsonl", "--model", "models:Ear"), "No such file"),
        (("predict", "input.jsonl", "-o", "p.jsonl", "--model", "models:None"), "has no class"),
        (("predict", "input.jsonl", "-o", "no/p.jsonl", "--model", "models:Ear"), "no such folder"),
        (("predict", "input.jsonl", "-o", "p.jsonl", "--model", "models:Ear", "--tie-band", "1"), "is a scorer"),
        (("disclose", "p.jsonl"), "run `cmi mirex predict`"),
        (("folds", "nothing.jsonl", "--out", "folds"), "neither a file nor a data set"),
        (("cost", "folds"), "expected a folder of `cmi mirex folds`"),
        (("probe", "runs"), "no such file or folder"),
    ],
)
def test_a_mistake_is_one_sentence(folder, arguments, sentence):
    said = cmi(folder, *arguments, code=2)
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_run_counts_looks_and_the_probe_reads_it(folder):
    rows = []
    for i in range(20):
        votes = {"a": f"{i}a.wav", "b": f"{i}b.wav", "axis": "overall", "choice": "b" if i % 4 else "a"}
        rows.append({"text": f"p{i}", **votes, "generator_a": f"g{i % 3}", "generator_b": f"g{(i + 1) % 3}"})
    (folder / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = {**os.environ, "CMI_DATA": str(folder / "data"), "COLUMNS": "200"}
    run = [sys.executable, "-m", "cmi", "rewardbench", "run", "--data", "votes.jsonl", "--out", "out", "--model"]
    for number, model in enumerate(("models:Ear", "models:Slow"), 1):
        done = subprocess.run([*run, model], cwd=folder, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"own +{model}@\w+ +\w+ +20 +{number} *\n", done.stdout), done.stdout
    found = json.loads(cmi(folder, "probe", "out", "--json"))
    assert {one["model"].partition("@")[0] for one in found["probes"]} == {"models:Ear", "models:Slow"}
    assert [look["number"] for look in found["looks"]] == [1, 2]
    looks = json.loads(cmi(folder, "looks", "--json"))["looks"]
    assert [one["look"] for one in looks] == [1, 2]
