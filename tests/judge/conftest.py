"""Small pairs on disk: tones in more or less noise."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

RATE = 16_000


def write_pairs(folder: Path, count: int) -> Path:
    """Pairs whose winner is known: the take with less noise. Takes are shared by neighbours."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    time = np.arange(2048) / RATE
    levels = rng.uniform(0.0, 0.5, count + 1)
    for number, level in enumerate(levels):
        tone = 0.3 * np.sin(2 * np.pi * (300 + 40 * (number % 20)) * time) + level * rng.normal(0, 0.3, time.size)
        soundfile.write(folder / f"{number}.wav", tone.clip(-1, 1).astype(np.float32), RATE)
    rows = [
        {
            "id": f"p{i}",
            "text": f"a tone, number {i}",
            "a": f"{i}.wav",
            "b": f"{i + 1}.wav",
            "axis": axis,
            "choice": "a" if levels[i] < levels[i + 1] else "b",
            "split": "train",
        }
        for i in range(count)
        for axis in ("musicality",)
    ]
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="session")
def make_pairs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A file of so many pairs."""
    return lambda count: write_pairs(tmp_path_factory.mktemp("pairs"), count)
