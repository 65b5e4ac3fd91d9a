"""`cmi generate` with models in this process, as a user runs it."""

import json

import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app

from .tiny_checkpoints import RATE

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    soundfile.write("like.wav", [0.1, -0.1] * RATE, RATE)
    rows = [
        {"id": "waltz", "text": "a slow waltz"},
        {"id": "song", "text": "a folk tune", "lyrics": "We hear the river"},
        {"id": "like", "text": "a march", "reference": "like.wav"},
    ]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(*systems: str, options: tuple[str, ...] = ()):
    named = [word for system in systems for word in ("--system", system)]
    return CliRunner().invoke(
        app, ["generate", "prompts.jsonl", "takes", "--seconds", "1.5", "--takes", "2", "--json", *named, *options]
    )


def counts(done) -> dict[str, tuple[int, int]]:
    return {one["system"]: (one["takes"], one["made"]) for one in json.loads(done.stdout)["systems"]}


def test_models_make_takes_resume_and_a_broken_one_does_not_stop_the_others(checkpoint, folder):
    ace = f"ace-step:{checkpoint('ace-step')},steps=2"
    melody = f"musicgen-melody:{checkpoint('musicgen-melody')}"
    begun = run(ace, options=("--max-takes", "2"))
    assert (begun.exit_code, counts(begun)) == (0, {"ace-step-steps-2": (2, 2)})
    (folder / "broken").mkdir()
    done = run("stable-audio-open:broken", ace, melody)
    assert isinstance(done.exception, InputError)
    assert "stable-audio-open:broken could not start: " in str(done.exception)
    made = {"ace-step-steps-2": (6, 4), "musicgen-melody": (4, 4)}  # no lyrics with MusicGen
    assert counts(done) == {"stable-audio-open:broken": (0, 0), **made}
    takes = [json.loads(line) for line in (folder / "takes" / "takes.jsonl").read_text().splitlines()]
    assert {(take["generator"], take["group"], take["seed"]) for take in takes} == {
        *(("ace-step-steps-2", group, seed) for group in ("waltz", "song", "like") for seed in (0, 1)),
        *(("musicgen-melody", group, seed) for group in ("waltz", "like") for seed in (0, 1)),
    }
    assert {take["licence"] for take in takes} == {"MIT", "CC-BY-NC-4.0"}
    assert len({take["sha256"] for take in takes}) == 10
    assert all(soundfile.info(folder / "takes" / take["audio"]).frames == 1.5 * RATE for take in takes)
    again = run(ace, melody)
    assert again.exit_code == 0
    assert counts(again) == {system: (takes, 0) for system, (takes, _) in made.items()}


def test_a_length_that_a_model_cannot_make_stops_it_and_not_the_next(checkpoint, folder):
    done = run(
        f"stable-audio-open:{checkpoint('stable-audio')},steps=2",
        f"ace-step:{checkpoint('ace-step')},steps=2",
        options=("--seconds", "5", "--takes", "1", "--drop-unsupported"),
    )
    assert "makes takes of up to 3 s, but 5 s were requested" in str(done.exception)
    assert counts(done) == {"stable-audio-steps-2": (0, 0), "ace-step-steps-2": (3, 3)}
