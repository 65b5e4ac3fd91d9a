"""Takes of made-up systems: short recordings that differ from each other as music does."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.pairs.checks import Checker

RATE = 16_000


def melody(seed: int, seconds: float = 5.0) -> np.ndarray:
    """Notes of random pitch, length and level."""
    rng = np.random.default_rng(seed)
    parts, length = [], 0
    while length < seconds * RATE:
        samples = np.arange(int(rng.uniform(0.1, 0.5) * RATE)) / RATE
        tone = np.sin(2 * np.pi * rng.uniform(80, 3000) * samples) * np.exp(-samples * rng.uniform(2, 12))
        parts.append(rng.uniform(0.1, 0.4) * tone)
        length += len(samples)
    return np.concatenate(parts)[: round(seconds * RATE)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def checker():
    with Checker(workers=1) as one:
        yield one


@pytest.fixture
def write_takes(tmp_path):
    """Write a folder of takes with its manifest: each prompt (text, lyrics, reference) by each system."""

    def write(prompts, systems, name="takes", first_seed=0, seconds=5.0, **columns) -> Path:
        folder = tmp_path / name
        rows = []
        for number, prompt in enumerate(prompts):
            for system in systems:
                path = folder / "audio" / system / f"{number}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                seed = first_seed + len(rows)
                soundfile.write(path, melody(seed, seconds), RATE)
                audio = path.relative_to(folder).as_posix()
                rows.append({"audio": audio, "generator": system, "group": str(number), **prompt, **columns})
        manifest = folder / "takes.jsonl"
        manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return manifest

    return write
