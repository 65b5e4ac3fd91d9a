"""`cmi generate` as a user runs it."""

import json

import pytest
from typer.testing import CliRunner

from cmi.cli import app

SYSTEM = """
import numpy as np
from cmi.audio import Waveform

class Tone:
    name, version, accepts, licence, settings = "tone", "1", ("text",), "CC0-1.0", {}

    def generate(self, prompt, seed, seconds):
        level = 0.0 if prompt.text == "silence" else 0.3
        return Waveform((level * np.sin(np.arange(16_000) / 9)).astype(np.float32), 8000)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tone_system.py").write_text(SYSTEM)
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, ["generate", "prompts.csv", "takes", "--system", "tone_system:Tone", *arguments])


def test_a_table_says_what_was_made_and_what_was_not(folder):
    (folder / "prompts.csv").write_text("text,lyrics\na waltz,\nsilence,\na song,la la\n")
    done = run()
    assert done.exit_code == 0
    assert "tone failed: 1 (silent); the first: the peak is -200 dBFS" in done.stdout
    assert "tone skipped prompts: 1 (needs lyrics)" in done.stdout
    assert json.loads(run("--json").stdout)["systems"][0]["made"] == 0
    assert (folder / "takes" / "audio" / "tone" / "1-0.flac").is_file()


def test_a_system_that_cannot_go_on_is_an_error_after_the_table(folder):
    (folder / "prompts.csv").write_text("text\na waltz\n")
    done = run("--system", "worker:/no/such/program")
    assert "worker:/no/such/program could not start: /no/such/program: could not be started" in str(done.exception)
    assert "tone" in done.stdout and (folder / "takes" / "takes.jsonl").is_file()


def test_a_dry_run_names_a_system_that_does_not_start(folder):
    (folder / "prompts.csv").write_text("text\na waltz\n")
    done = run("--system", "tone_system:Missing", "--dry-run")
    assert "tone_system:Missing could not start: " in str(done.exception) and "has no class 'Missing'" in str(
        done.exception
    )
    assert "tone" in done.stdout and not (folder / "takes").exists()


def test_a_dry_run_makes_nothing(folder):
    (folder / "prompts.csv").write_text("text\na waltz\n")
    done = run("--dry-run", "--takes", "5", "--json")
    assert json.loads(done.stdout)["systems"][0]["left"] == 5
    assert not (folder / "takes").exists()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("text\nsilence\n", "all 1 takes failed, the first: the peak is -200 dBFS; --retry-failed tries again"),
        ("lyrics\nla\n", "no prompt suits these systems"),
        ("caption\nx\n", "a prompt without text, lyrics and reference"),
        ("prompt\nx\n", "unknown column 'prompt'; did you mean 'text'"),
        ("text\n", "no prompts to generate takes for"),
    ],
)
def test_a_run_without_takes_is_one_sentence(folder, rows, sentence):
    (folder / "prompts.csv").write_text(rows)
    done = run()
    assert sentence in str(done.exception)


def test_a_service_gets_no_reference_from_elsewhere_unless_its_folder_is_allowed(folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("REPLICATE_API_TOKEN", "secret")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "private.wav"
    elsewhere.write_bytes(b"RIFF")
    (folder / "prompts.csv").write_text(f"text,reference\na waltz,{elsewhere}\n")
    words = ["generate", "prompts.csv", "takes", "--system", "replicate-musicgen", "--dry-run"]
    refused = CliRunner().invoke(app, words)
    assert "recordings from elsewhere are sent to an endpoint only if you allow" in str(refused.exception)
    assert CliRunner().invoke(app, [*words, "--audio-from", str(elsewhere.parent)]).exit_code == 0
