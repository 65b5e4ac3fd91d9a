"""Workers are real processes here, and behave as badly as real ones do."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util import worker_process
from cmi._util.errors import InputError
from cmi.bench.ask import ListenerStopped, Question, worker_skeleton
from cmi.bench.ask.run import read_data
from cmi.bench.ask.worker import WorkerListener

FAKE = Path(__file__).with_name("fake_worker.py")


@pytest.fixture
def questions(small_set: Path) -> list[Question]:
    return read_data([small_set])[0].questions[:3]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator:
    started = []
    monkeypatch.setattr(worker_process, "PATIENCE", 0.5)

    def make(mode: str, timeout: float = 20.0) -> WorkerListener:
        started.append(
            WorkerListener([sys.executable, str(FAKE), mode, f"of {os.getpid()}"], mode, timeout, start_timeout=20.0)
        )
        return started[-1]

    yield make
    for listener in started:
        listener.close()


def test_a_worker_hears_the_clip_alone_at_the_rate_it_wants(start, questions):
    assert start("rate").answer(questions) == [f"Question {i}, 1.00 s at 22050" for i in range(3)]


def test_chatter_and_answers_to_other_questions_are_passed_over(start, questions):
    assert start("chatty").answer(questions)[2] == "Question 2, 1.00 s at 16000"


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("dies", "died with exit code 139: Segmentation fault"),
        ("hangs", "took more than 3 s to answer"),
        ("child hangs", "took more than 3 s to answer"),
        ("floods", "wrote .* bytes that are not an answer|took more than 3 s"),
        ("errors", "ValueError: no such layer"),
        ("number", "no 'answer' that is text"),
    ],
)
def test_trouble_costs_one_question(start, questions, mode, why):
    first, failed, last = start(mode, timeout=3.0).answer(questions)
    assert (first, last) == ("Question 0, 1.00 s at 16000", "Question 2, 1.00 s at 16000")
    assert isinstance(failed, InputError)
    with pytest.raises(InputError, match=why):
        raise failed


def test_a_worker_that_never_gets_ready_ends_the_run_with_its_own_words(start, questions):
    with pytest.raises(ListenerStopped, match="did not become ready: died with exit code 3: CUDA is not here"):
        start("never ready").answer(questions)


def test_a_worker_that_dies_on_every_question_ends_the_run(start, questions):
    with pytest.raises(ListenerStopped, match="5 questions in a row"):
        start("always dies").answer(questions * 2)


def test_a_program_that_does_not_exist_ends_the_run(questions):
    with pytest.raises(ListenerStopped, match="could not be started"):
        WorkerListener(["/no/such/program"], "x").answer(questions)


def test_a_clip_that_cannot_be_read_is_not_the_workers_fault(start, questions, tmp_path):
    missing = Question("m", "?", tmp_path / "none.wav", dataset="GTZAN")
    failed, answered = start("plain").answer([missing, questions[0]])
    assert isinstance(failed, InputError)
    assert answered == "Question 0, 1.00 s at 16000"


def test_no_process_is_left_behind(start, questions):
    listener = start("child hangs", timeout=1.0)
    listener.answer(questions[:2])
    listener.close()
    time.sleep(0.2)
    listed = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True).stdout
    assert f"child hangs of {os.getpid()}" not in listed


def test_the_skeleton_speaks_the_protocol(questions):
    listener = WorkerListener([sys.executable, worker_skeleton.__file__], "skeleton", 20.0)
    try:
        assert listener.answer(questions) == ["No model is loaded yet."] * 3
    finally:
        listener.close()


def test_a_worker_that_cuts_clips_is_found_out(start, tmp_path):
    soundfile.write(tmp_path / "long.wav", np.zeros(16_000 * 15), 16_000)
    long = [Question("long", "?", tmp_path / "long.wav", dataset="GTZAN")]
    hearing = start("cuts").find_hearing(tmp_path / "hearing.json", long)
    assert hearing is not None
    assert hearing.note == "this model hears 10 s of a clip (to within 5 s) and not what comes later"
    assert start("cuts").find_hearing(tmp_path / "hearing.json", []) == hearing
    deaf = start("plain").find_hearing(tmp_path / "other.json", long)
    assert deaf is not None and deaf.seconds is None
