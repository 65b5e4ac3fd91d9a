"""Workers of systems are real processes here."""

import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util import worker_process
from cmi.generate import GenerationError, GeneratorStopped, worker_skeleton
from cmi.generate.load import load_generator
from cmi.generate.worker import WorkerGenerator
from cmi.take import Prompt

FAKE = Path(__file__).with_name("fake_worker.py")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_process, "PATIENCE", 0.5)
    generator = WorkerGenerator([sys.executable, str(FAKE)], timeout=2.0)
    yield generator
    generator.close()


def test_a_worker_says_what_it_is_and_its_stereo_is_kept(fake):
    assert (fake.name, fake.version, fake.settings) == ("fake", "7", {"a": 1})
    assert fake.accepts == ("text", "lyrics", "reference")
    assert fake.generate(Prompt("x"), 0, 3.0).samples.shape == (24_000, 2)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("html", "not audio", "30 bytes that cannot be decoded as audio"),
        ("no file", "missing", "no audio file was written"),
        ("dies", "worker failed", "died with exit code 139: Segmentation fault"),
        ("hangs", "worker failed", "took more than 2 s to answer"),
        ("error", "memory", "CUDA out of memory"),
    ],
)
def test_trouble_costs_one_take(fake, text, kind, message):
    with pytest.raises(GenerationError, match=message) as caught:
        fake.generate(Prompt(text), 0, None)
    assert caught.value.kind == kind
    assert fake.generate(Prompt("x"), 0, None).rate == 8000


def test_a_file_of_the_workers_own_is_left_alone(fake, tmp_path):
    path = tmp_path / "own.flac"
    soundfile.write(path, np.full(8000, 0.1), 8000)
    assert fake.generate(Prompt("elsewhere", reference=path), 0, None).samples.shape == (8000, 1)
    assert path.exists()


def test_a_worker_that_does_not_start_stops_the_system():
    with pytest.raises(GeneratorStopped, match=r"fake_worker: the worker did not become ready: .* no CUDA here"):
        load_generator(f"worker:{sys.executable} {FAKE} broken")
    with pytest.raises(GeneratorStopped, match="could not be started"):
        load_generator("worker:/no/such/program")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_skeleton_makes_takes(write_prompts, generate, rows, workers):
    (summary,) = generate(
        write_prompts("a", "b", "c"),
        f"worker:{sys.executable} {worker_skeleton.__file__}",
        seconds=1.0,
        workers=workers,
    )
    assert (summary.system, summary.takes, summary.failed) == ("skeleton", 3, {})
    assert rows("takes.jsonl")[0]["licence"] == "CC0-1.0"
