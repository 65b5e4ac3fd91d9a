"""`cmi bench run` from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.bench.instruction import Instruction
from cmi.testing import FakeEndpoint, answer_probe, fake_endpoint
from cmi.testing.probe_listener import is_probe


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "audio").mkdir()
    (tmp_path / "annotations").mkdir()
    soundfile.write(tmp_path / "audio" / "a.wav", 0.1 * np.ones(16_000), 16_000)
    for name, truth in (("GS_key", "C minor"), ("GTZAN", "blues")):
        records = [Instruction("Which?", truth, "audio/a.wav", 0.0, 1.0).to_record() for _ in range(3)]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / "annotations" / f"CMI_{name}.jsonl").write_text(lines)
    return tmp_path / "annotations"


def _cmi(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cmi", "bench", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def _run(data: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return _cmi("run", "--listener", "null:constant", "--data", data, "--out", data.parent / "out", *words)


def test_answers_can_be_scored_at_once(data):
    done = _run(data)
    assert done.returncode == 0, done.stderr
    assert "null-constant" in done.stdout
    scored = _cmi("score", data.parent / "out", "--annotations", data, "--protocol", "strict", "--json")
    assert scored.returncode == 0, scored.stderr
    cells = {
        cell["row"]: cell["value"] for cell in json.loads(scored.stdout)["cells"] if cell["model"] == "null-constant"
    }
    assert cells == {"GS-K": 100.0, "GTZ.": 0.0}


def test_the_summary_for_machines(data):
    summary = json.loads(_run(data, "--tasks", "key", "--limit", 2, "--json").stdout)
    assert summary["listener"] == "null:constant"
    assert [(file["dataset"], file["questions"], file["failed"]) for file in summary["files"]] == [("GS_key", 2, 0)]


def test_a_dry_run_asks_nothing(data):
    done = _run(data, "--dry-run", "--trials", 2)
    assert done.returncode == 0, done.stderr
    assert "null-constant-t2" in done.stdout
    assert not (data.parent / "out").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--shard", "3/2"], "expected i/n such as 2/4"),
        (["--shard", "1/2", "--ray", "2"], "leave out --shard"),
        (["--tasks", "keys"], "is not a task or a data set"),
        (["--listener", "nobody"], "is not a listener"),
        (["--data", "/no/such/folder"], "no such file or folder"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(data, words, why):
    done = _run(data, *words)
    assert done.returncode == 2
    assert why in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.fixture
def own_listener(data: Path) -> list[str]:
    """A listener that answers questions of GS_key as it is told to."""
    (data.parent / "mine.py").write_text(
        "class Never:\n"
        "    def answer(self, questions):\n"
        "        raise RuntimeError('out of memory')\n"
        "class Sometimes:\n"
        "    def answer(self, questions):\n"
        "        return ['yes' if q.dataset == 'GTZAN' else 7 for q in questions]\n"
    )
    return ["--data", str(data), "--out", str(data.parent / "out")]


def _in(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cmi", "bench", "run", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_a_run_in_which_every_question_failed_does_not_end_well(data, own_listener):
    for _ in range(2):
        done = _in(data.parent, "--listener", "mine:Never", *own_listener)
        assert done.returncode == 2
        assert "all 6 questions failed, the first: " in done.stderr and "out of memory" in done.stderr
        assert "Answers" in done.stdout and "Traceback" not in done.stderr


def test_a_run_in_which_some_questions_failed_says_how_many(data, own_listener):
    done = _in(data.parent, "--listener", "mine:Sometimes", *own_listener)
    assert done.returncode == 0
    assert "3 of 6 questions failed" in done.stderr


def test_an_endpoint_that_is_not_there_ends_the_run_at_once(data):
    words = ["--data", data, "--out", data.parent / "out", "--url", "http://127.0.0.1:9/v1", "--model", "m"]
    done = _in(data.parent, "--listener", "openai", *words)
    assert done.returncode == 2
    assert "http://127.0.0.1:9/v1: no connection (Connection refused); check the address" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def long_clips(data: Path) -> Path:
    """The clips are 20 s long, so that a server could cut them."""
    soundfile.write(data.parent / "audio" / "a.wav", 0.01 * np.ones(20 * 16_000), 16_000)
    for path in data.glob("*.jsonl"):
        records = [Instruction("Which?", "blues", "audio/a.wav", 0.0, 20.0).to_record() for _ in range(3)]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return data


def _ask(server: FakeEndpoint, data: Path, *words: object) -> subprocess.CompletedProcess[str]:
    options = ("--url", server.url, "--model", "fake", "--tasks", "genre", *words)
    return _run(data, "--listener", "openai", *options)


def test_a_server_that_cuts_clips_is_found_out_once_and_every_table_says_so(long_clips):
    out, note = long_clips.parent / "out", "this server hears 30 s of a clip"
    answer = lambda body: answer_probe(body, 30) if is_probe(body) else "blues"  # noqa: E731
    with fake_endpoint(answer) as server:
        planned = _ask(server, long_clips, "--dry-run")
        assert "4 of the requests find out how much of a clip the server hears" in " ".join(planned.stdout.split())
        assert not server.calls
        done = _ask(server, long_clips)
        assert done.returncode == 0, done.stderr
        assert note in " ".join(done.stdout.split())
        assert server.calls.total() == 7 + 3
        again = _ask(server, long_clips, "--trials", 2, "--json")
        assert json.loads(again.stdout)["hearing"]["seconds"] == 30
        assert server.calls.total() == 7 + 6  # the second trial, and no probe
    scored = _cmi("score", out, "--annotations", long_clips, "--protocol", "strict", "--json")
    cells = json.loads(scored.stdout)["cells"]
    assert all(any(note in said for said in cell["notes"]) == ("null" not in cell["model"]) for cell in cells)
    assert {cell["model"] for cell in cells} >= {"fake", "fake-t2"}
    table = _cmi("table", out, "--annotations", long_clips, "--protocol", "strict")
    assert note in " ".join(table.stdout.split())


def test_no_probe_is_asked_if_the_user_says_so_or_no_clip_is_long(long_clips, data):
    with fake_endpoint(lambda body: "blues") as server:
        done = _ask(server, long_clips, "--no-probe")
        assert done.returncode == 0, done.stderr
        assert server.calls.total() == 3
        assert "hears" not in done.stdout
    assert not list(data.parent.glob("out/*.hearing.json"))
