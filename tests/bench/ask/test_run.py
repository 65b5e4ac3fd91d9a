"""Runs that are killed, resumed, shared out, tried again: the answer file comes out the same."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.bench.ask import Answer, ListenerStopped, Question
from cmi.bench.ask.answer_log import Shard
from cmi.bench.ask.run import RunPlan, model_name, read_data, run
from cmi.bench.scoring.responses import ResponseSet, find_responses

from .conftest import write_set

ENDLESS = """
import hashlib, time
class Listener:
    batch = 4
    name = "steady"
    def answer(self, questions):
        time.sleep(0.01)
        return [self.one(q) for q in questions]
    def one(self, q):
        if int(q.text.split()[1].strip(":")) % 17 == 3:
            raise_ = __import__("cmi._util.errors", fromlist=["InputError"]).InputError
            return raise_("no ear for this one")
        return hashlib.sha256(q.text.encode()).hexdigest()
"""


class Echo:
    """Answers with what it was asked; fails where it is told to."""

    batch = 5

    def __init__(self, failing: Sequence[str] = ()) -> None:
        self.asked: list[str] = []
        self.failing = set(failing)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        self.asked += [question.id for question in questions]
        return [InputError("too loud") if q.id in self.failing else f"{q.text} ({q.trial})" for q in questions]


def _plan(path: Path, out: Path, **more) -> RunPlan:
    return RunPlan(out, "echo", "echo", read_data([path]), **more)


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set", 12)


def test_answers_are_what_bench_score_reads(small_set, tmp_path):
    summary = run(Echo(), _plan(small_set, tmp_path / "out"))[0]
    assert (summary.questions, summary.answered, summary.failed, summary.asked) == (12, 12, 0, 12)
    (file,) = find_responses([tmp_path / "out"])
    entries = list(ResponseSet(file, small_set))
    assert [entry.item.answer for entry in entries] == [f"Question {i}: which genre? (1)" for i in range(12)]


def test_a_second_run_asks_nothing_and_changes_nothing(small_set, tmp_path):
    run(Echo(), _plan(small_set, tmp_path / "out"))
    before = (tmp_path / "out" / "echo_GTZAN.jsonl").read_bytes()
    again = Echo()
    run(again, _plan(small_set, tmp_path / "out"))
    assert again.asked == []
    assert (tmp_path / "out" / "echo_GTZAN.jsonl").read_bytes() == before


def test_failures_are_kept_with_their_error_until_they_are_tried_again(small_set, tmp_path):
    out = tmp_path / "out"
    summary = run(Echo(["GTZAN/3", "GTZAN/7"]), _plan(small_set, out))[0]
    assert (summary.answered, summary.failed, summary.error) == (10, 2, "too loud")
    assert _lines(out / "echo_GTZAN.jsonl")[3] == {"id": "GTZAN/3", "response": None, "error": "too loud"}
    resumed = Echo()
    run(resumed, _plan(small_set, out))
    assert resumed.asked == []
    retried = Echo(["GTZAN/7"])
    run(retried, _plan(small_set, out, retry_failed=True))
    assert retried.asked == ["GTZAN/3", "GTZAN/7"]
    assert _lines(out / "echo_GTZAN.jsonl")[3]["response"] == "Question 3: which genre? (1)"
    kept = [record for record in _lines(out / "echo_GTZAN.log") if record.get("id") == "GTZAN/3"]
    assert [record["error"] for record in kept] == ["too loud", None]


def test_trials_are_models_of_their_own_and_can_be_added(small_set, tmp_path):
    run(Echo(), _plan(small_set, tmp_path / "out"))
    more = Echo()
    run(more, _plan(small_set, tmp_path / "out", trials=3))
    assert len(more.asked) == 24
    assert [file.model for file in find_responses([tmp_path / "out"])] == ["echo", "echo-t2", "echo-t3"]
    assert _lines(tmp_path / "out" / "echo-t3_GTZAN.jsonl")[0]["response"].endswith("(3)")


def test_shards_together_make_the_file_that_one_run_makes(small_set, tmp_path):
    run(Echo(), _plan(small_set, tmp_path / "one"))
    listeners = [Echo(), Echo(), Echo()]
    for number, listener in enumerate(listeners, 1):
        run(listener, _plan(small_set, tmp_path / "many", shard=Shard(number, 3)))
    assert sorted(asked for listener in listeners for asked in listener.asked) == sorted(
        f"GTZAN/{i}" for i in range(12)
    )
    name = "echo_GTZAN.jsonl"
    assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_of_shards_at_work_at_the_same_time_the_last_writes_the_file(small_set, tmp_path):
    out = tmp_path / "out"

    class Slow(Echo):
        def answer(self, questions):
            if not self.asked:  # the other shard does all its work while this one is open
                run(Echo(), _plan(small_set, out, shard=Shard(2, 2)))
                assert not (out / "echo_GTZAN.jsonl").exists()
            return super().answer(questions)

    summary = run(Slow(), _plan(small_set, out, shard=Shard(1, 2)))[0]
    assert (summary.answered, summary.asked) == (12, 6)
    assert [line["id"] for line in _lines(out / "echo_GTZAN.jsonl")] == [f"GTZAN/{i}" for i in range(12)]


def test_a_run_without_shards_takes_over_what_shards_did(small_set, tmp_path):
    run(Echo(), _plan(small_set, tmp_path / "out", shard=Shard(2, 3)))
    assert not (tmp_path / "out" / "echo_GTZAN.jsonl").exists()
    rest = Echo()
    run(rest, _plan(small_set, tmp_path / "out"))
    assert len(rest.asked) == 8


def test_a_listener_that_stops_keeps_what_it_said(small_set, tmp_path):
    class Poor(Echo):
        def answer(self, questions):
            if len(self.asked) >= 5:
                raise ListenerStopped("no money left")
            return super().answer(questions)

    with pytest.raises(InputError, match="no money left"):
        run(Poor(), _plan(small_set, tmp_path / "out"))
    assert len(_lines(tmp_path / "out" / "echo_GTZAN.jsonl")) == 5
    rest = Echo()
    run(rest, _plan(small_set, tmp_path / "out"))
    assert len(rest.asked) == 7


@pytest.mark.parametrize("answer", [None, 7, {"a": 1}, ["x"], ValueError("bad"), "\ud800 lone", "x" * 2_000_000])
def test_whatever_a_listener_returns_costs_one_answer_at_most(small_set, tmp_path, answer):
    class Odd(Echo):
        def answer(self, questions):
            return [answer if q.id == "GTZAN/4" else "blues" for q in questions]

    run(Odd(), _plan(small_set, tmp_path / "out"))
    lines = _lines(tmp_path / "out" / "echo_GTZAN.jsonl")
    assert [line["response"] for line in lines if line["id"] != "GTZAN/4"] == ["blues"] * 11
    (file,) = find_responses([tmp_path / "out"])
    assert len(list(ResponseSet(file, small_set))) == 12


@pytest.mark.parametrize("answers", [[], ["a"] * 99, "blues", None])
def test_a_wrong_number_of_answers_is_no_answer(small_set, tmp_path, answers):
    class Odd(Echo):
        def answer(self, questions):
            return answers

    summary = run(Odd(), _plan(small_set, tmp_path / "out"))[0]
    assert summary.questions == 12
    assert summary.answered == (12 if answers == "blues" else 0)  # asked alone, one text is one answer


def test_other_questions_or_another_listener_are_refused(small_set, tmp_path):
    run(Echo(), _plan(small_set, tmp_path / "out"))
    with pytest.raises(InputError, match="started with listener 'echo', not 'other'"):
        run(Echo(), RunPlan(tmp_path / "out", "echo", "other", read_data([small_set])))
    small_set.write_text(small_set.read_text().replace("Question 0", "Question zero"))
    with pytest.raises(InputError, match="started with questions"):
        run(Echo(), _plan(small_set, tmp_path / "out"))


def test_data_that_cannot_be_asked_is_one_sentence(small_set, tmp_path):
    with pytest.raises(InputError, match="is not a task or a data set"):
        read_data([small_set], ["keys"])
    with pytest.raises(InputError, match="no data set of key among GTZAN"):
        read_data([small_set], ["key"])
    with pytest.raises(InputError, match="none of its audio was found"):
        read_data([small_set], audio=tmp_path)


def test_the_authors_audio_is_found_without_its_first_folder(tmp_path):
    path = write_set(tmp_path / "set", 2)
    path.write_text(path.read_text().replace("audio/song.wav", "data/GTZAN/song.wav"))
    (tmp_path / "testdata" / "GTZAN").mkdir(parents=True)
    (tmp_path / "set" / "audio" / "song.wav").rename(tmp_path / "testdata" / "GTZAN" / "song.wav")
    assert read_data([path], audio=tmp_path / "testdata")[0].questions[0].audio.exists()


def test_names_can_stand_in_file_names():
    assert model_name("Qwen/Qwen2 Audio: 7B") == "Qwen-Qwen2-Audio-7B"
    assert model_name("../..") == "listener"


def _command(path: Path, out: Path) -> list[str]:
    words = [
        "-m",
        "cmi",
        "bench",
        "run",
        "--listener",
        "endless:Listener",
        "--name",
        "steady",
        "--data",
        str(path),
        "--out",
        str(out),
    ]
    return [sys.executable, *words]


def test_twenty_kills_leave_no_trace(tmp_path):
    """`kill -9` at random moments of a 500-item run; the resumed file equals an undisturbed one, nothing is twice."""
    path = write_set(tmp_path / "set", 500)
    (tmp_path / "endless.py").write_text(ENDLESS)
    subprocess.run(_command(path, tmp_path / "calm"), cwd=tmp_path, check=True, capture_output=True, timeout=120)
    rng = random.Random(7)
    log = tmp_path / "killed" / "steady_GTZAN.log.partial"
    kills = 0
    while kills < 20:
        process = subprocess.Popen(
            _command(path, tmp_path / "killed"), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        size = _size(log)
        deadline = time.monotonic() + 30
        while process.poll() is None and _size(log) == size and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.05))
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    subprocess.run(_command(path, tmp_path / "killed"), cwd=tmp_path, check=True, capture_output=True, timeout=120)
    files = [next((tmp_path / run).glob("*_GTZAN.jsonl")) for run in ("calm", "killed")]
    assert files[0].read_bytes() == files[1].read_bytes()
    keys = [record["key"] for record in _lines(next((tmp_path / "killed").glob("*.log")))]
    assert len(keys) == len(set(keys)) == 501
    assert kills == 20


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
