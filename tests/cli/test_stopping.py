"""Ctrl-C ends a command with one line and exit code 130, also where it has workers, and the same command resumes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer

from cmi.cli import app
from cmi.cli.command import KEPT, RESUMES
from cmi.testing.music_service import KEY, KEY_VARIABLE, fake_music_service

SLOW = """
import time
from pathlib import Path
from cmi.take import Score

class Slow:
    def score(self, takes):
        for take in takes:
            Path("begun").touch()
            time.sleep(0 if Path("fast").exists() else 60)
        return [Score(1.0, 1.0) for take in takes]
"""


def interrupt(folder: Path, *arguments: object, when: Callable[[], bool]) -> tuple[int, str]:
    """Start `cmi` in a process group of its own, and send all of it what a terminal sends on Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cmi", *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 200
    while not when() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=200)
    return process.returncode, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SLOW)
    soundfile.write(tmp_path / "a.wav", np.random.default_rng(0).uniform(-0.3, 0.3, 8000), 8000)
    return tmp_path


@pytest.mark.parametrize(("log", "said"), [(["--log", "s.jsonl"], f"cmi: {KEPT}\n"), ([], "cmi: stopped\n")])
def test_score_says_how_to_resume_if_it_does(folder: Path, log: list[str], said: str):
    begun = folder / "begun"
    assert interrupt(folder, "score", "a.wav", "--model", "mine:Slow", *log, when=begun.exists) == (130, said)


def test_workers_say_nothing_and_the_set_is_made_by_the_same_command(folder: Path):
    command = ("studio", "generate", "set", "--prompts", "1", "--candidates", "6", "--workers", "2")
    first = folder / "set" / "000" / "00.flac"
    assert interrupt(folder, *command, when=first.exists) == (130, f"cmi: {KEPT}\n")
    assert not list(folder.rglob("*.unfinished"))
    done = subprocess.run([sys.executable, "-m", "cmi", *command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and len(list((folder / "set").rglob("*.flac"))) == 6


def test_a_promise_to_resume_is_in_words_that_are_found():
    """Every help text that speaks of resuming does it in the words by which Ctrl-C knows."""

    def texts(command) -> list[str]:
        own = [command.help or "", *(getattr(param, "help", None) or "" for param in command.params)]
        return own + [text for each in getattr(command, "commands", {}).values() for text in texts(each)]

    spoken = [text for text in texts(typer.main.get_command(app)) if "resumes" in text]
    assert len(spoken) > 8
    assert [text for text in spoken if RESUMES not in text.lower()] == []


def test_jobs_of_a_service_are_not_waited_for_and_the_same_command_picks_them_up(folder: Path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    (folder / "prompts.jsonl").write_text('{"id": "waltz", "text": "a waltz"}\n')
    with fake_music_service(polls=10**9) as service:  # its jobs are never done
        service.write_description(folder / "fake.toml")
        command = ("generate", "prompts.jsonl", "takes", "--system", "./fake.toml", "--takes", "2", "--seconds", "2")
        code, said = interrupt(folder, *command, when=lambda: len(service.billed) == 2 and service.calls["poll"] > 0)
        assert code == 130 and f"{KEPT}; 2 jobs are still running at fake; the same command collects them\n" in said
        service.polls = 1
        done = subprocess.run([sys.executable, "-m", "cmi", *command], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert service.billed == {"a waltz/0": 1, "a waltz/1": 1}
    assert len((folder / "takes" / "takes.jsonl").read_text().splitlines()) == 2
