"""A file of prompts, folders of lyrics and references, and an endpoint that writes lyrics and captions."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.testing.chat_endpoint import Body, sounds_of

SUBJECTS = "rain fire snow wind stone river glass iron salt bread moon dust ink wool honey smoke".split()


def text_of(number: int) -> str:
    """Descriptions that share few words."""
    first, second = SUBJECTS[number % 16], SUBJECTS[number // 16 % 16]
    return f"{first} {second} {number}"


def answer(body: Body) -> str:
    """Lyrics, or a caption if the request has a sound."""
    if sounds_of(body):
        return "A plain tone, held for a moment, without vocals."
    asked = body["messages"][1]["content"].splitlines()[2]
    return "\n".join(["[verse]", *(f"{asked} line {n}" for n in range(4))])


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "ideas.txt"
    path.write_text("".join(f"{text_of(i)}\n" for i in range(40)))
    return path


@pytest.fixture
def lyrics(tmp_path: Path) -> Path:
    folder = tmp_path / "lyrics"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.txt").write_text(f"{text_of(number + 50)} sung\nla {number}\n")
    return folder


@pytest.fixture
def references(tmp_path: Path) -> Path:
    folder = tmp_path / "music"
    folder.mkdir()
    for number in range(4):
        soundfile.write(folder / f"{number}.wav", 0.3 * np.sin(np.arange(4000) * (number + 1) / 20), 8000)
    return folder


def write_endpoint(folder: Path, url: str, **settings: object) -> Path:
    path = folder / "endpoint.toml"
    lines = [f'url = "{url}"', 'model = "fake"', *(f"{name} = {value}" for name, value in settings.items())]
    path.write_text("\n".join([*lines, "[prices]", "input = 1.0", "output = 2.0", ""]))
    return path
