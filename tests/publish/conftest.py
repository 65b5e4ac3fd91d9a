"""Small sets of preferences and takes, with recordings that can be told apart."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.publish.card import CardText
from cmi.publish.publish import PublishPlan
from cmi.publish.sources import find_source


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tone() -> Callable[..., Path]:
    """A file with a tone of so many hertz."""

    def make(path: Path, hertz: float, seconds: float = 0.5) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        time = np.arange(round(seconds * 8000)) / 8000
        soundfile.write(path, 0.1 * np.sin(2 * np.pi * hertz * time), 8000)
        return path

    return make


@pytest.fixture
def write_lines() -> Callable[[Path, list[dict]], Path]:
    def write(path: Path, rows: list[dict]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def votes(tmp_path, tone, write_lines) -> Path:
    """A folder of votes by Anneliese and Bobby on two pairs of takes, which `cmi generate` could have made."""
    folder = tmp_path / "set"
    takes = []
    for i, (system, prompt) in enumerate([("alpha", 1), ("beta", 1), ("alpha", 2), ("beta", 2)]):
        audio = f"audio/{system}/{prompt}-0.flac"
        tone(tmp_path / "takes" / audio, 200 + 50 * i, seconds=1 + i)
        licence = "CC BY 4.0" if system == "alpha" else "beta's terms"
        made = {"generator": system, "version": "1.0", "seed": 0, "settings": {"steps": 8}, "licence": licence}
        takes.append({"id": str(i), "audio": audio, "group": str(prompt), **made})
    write_lines(tmp_path / "takes" / "takes.jsonl", takes)
    tone(folder / "reference.wav", 100, seconds=2)
    song = {"text": "悲しい歌", "lyrics": "one two", "reference": "reference.wav", "split": "test"}
    asked = {1: {"text": "a slow song with piano", "split": "train"}, 2: song}

    def vote(prompt: int, rater: str, axis: str, choice: str, confidence: int | None, **more) -> dict:
        a, b = (f"../takes/audio/{system}/{prompt}-0.flac" for system in ("alpha", "beta"))
        made = {"a": a, "b": b, "generator_a": "alpha", "generator_b": "beta"}
        said = {"axis": axis, "choice": choice, "rater": rater, "confidence": confidence}
        return {"id": f"{prompt}{rater[0]}-{axis}", **asked[prompt], **made, **said, **more}

    private = {"feedback": "Anneliese was here", "x_email": "anneliese@example.org"}
    rows = [
        vote(1, "Anneliese", "musicality", "a", 4, **private),
        vote(1, "Anneliese", "alignment", "a", 5),
        vote(1, "Bobby", "musicality", "b", 2),
        vote(1, "Bobby", "alignment", "a", 3),
        vote(2, "Anneliese", "musicality", "b", 5),
        vote(2, "Anneliese", "alignment", "both", None),
        vote(2, "Bobby", "musicality", "b", 1),
    ]
    write_lines(folder / "preferences.jsonl", rows)
    return folder


@pytest.fixture
def plan_for(tmp_path) -> Callable[..., PublishPlan]:
    def plan(source: Path | str, **how) -> PublishPlan:
        text = CardText("Two songs", "data@example.org", licence="CC BY 4.0")
        terms = {"reference": "CC0 1.0"}
        return PublishPlan(find_source(str(source)), tmp_path / "out", text, **{"terms": terms, **how})

    return plan
