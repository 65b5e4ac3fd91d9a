"""A small data set with sound, for tests that ask listeners."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi._util.wheels import find_wheel
from cmi.bench.ask.reference.beat_network import WHEEL
from cmi.bench.instruction import Instruction

RATE = 16_000


def write_set(folder: Path, count: int, dataset: str = "GTZAN", truth: str = "blues") -> Path:
    """`folder`/annotations/CMI_<data set>.jsonl with `count` questions about spans of one recording."""
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    (folder / "audio").mkdir(exist_ok=True)
    times = np.arange(4 * RATE) / RATE
    soundfile.write(folder / "audio" / "song.wav", 0.3 * np.sin(2 * np.pi * 440 * times), RATE)
    path = folder / "annotations" / f"CMI_{dataset}.jsonl"
    asked = [
        Instruction(f"Question {i}: which genre?", truth, "audio/song.wav", 0.001 * i, 0.001 * i + 1.0)
        for i in range(count)
    ]
    path.write_text("".join(json.dumps(one.to_record()) + "\n" for one in asked))
    return path


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set", 12)


@pytest.fixture(scope="session")
def beatnet_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return find_wheel(WHEEL, tmp_path_factory.mktemp("beatnet"))
    except InputError as error:
        pytest.skip(f"BeatNet could not be fetched: {error}")


@pytest.fixture
def beat_weights(beatnet_wheel: Path) -> None:
    """BeatNet's weights in the test's own cache."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    (cache_folder() / beatnet_wheel.name).symlink_to(beatnet_wheel)
