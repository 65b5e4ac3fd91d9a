"""Small benchmarks made of nothing: items with labels, and scorers that know or do not know them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Prompt

MakePair = Callable[..., RatedItem]


@pytest.fixture
def pair() -> MakePair:
    def make(
        name, choice="a", axis="musicality", prompt=None, dataset="cmi-pref", confidence=None, **about
    ) -> RatedItem:
        takes = (Path(f"{name}a.wav"), Path(f"{name}b.wav"))
        votes = {axis: Vote(choice, confidence)}
        return RatedItem(str(name), dataset, prompt or Prompt(f"prompt {name}"), takes, votes=votes, about=about)

    return make


@pytest.fixture
def rated() -> MakePair:
    def make(name, rating, axis="musicality", dataset="pam", prompt=None, **about) -> RatedItem:
        take = (Path(f"{name}.wav"),)
        return RatedItem(
            str(name), dataset, prompt or Prompt(f"prompt {name}"), take, ratings={axis: rating}, about=about
        )

    return make


@pytest.fixture
def recording() -> Callable[..., Path]:
    """A file with a tone, as loud, long and high as asked for."""

    def make(path: Path, amplitude=0.1, seconds=0.5, hertz=440.0, rate=16_000) -> Path:
        time = np.arange(round(seconds * rate)) / rate
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, amplitude * np.sin(2 * np.pi * hertz * time), rate)
        return path

    return make
