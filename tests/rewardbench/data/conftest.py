"""Small data sets in the published layouts."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

PAM_HEADER = "Model,File Name,Text,OVL,REL"


def sound(seed: int = 0) -> bytes:
    """A tenth of a second of WAV, another for each seed."""
    file = io.BytesIO()
    noise = np.random.default_rng(seed).standard_normal(1600) / 10
    soundfile.write(file, noise, 16_000, format="WAV")
    return file.getvalue()


def lines(path: Path, *rows: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def pam(folder: Path, *rows: str, header: str = PAM_HEADER) -> Path:
    music = folder / "human_eval" / "music"
    music.mkdir(parents=True)
    (music / "scores.csv").write_text("\n".join([header, *rows]) + "\n")
    for row in rows:
        model, file, *_ = row.split(",")
        if ".." not in row:
            (music / model).mkdir(exist_ok=True)
            (music / model / f"{file}.wav").write_bytes(sound())
    return folder


def musiceval(folder: Path, split: str = "test", shard: str = "00000-of-00001", **columns: list) -> Path:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / "data" / f"{split}-{shard}.parquet", row_group_size=2)
    return folder


def clips(*seeds: int | None) -> list[dict]:
    """Audio cells as the hub's parquet holds them."""
    return [
        {"bytes": None if seed is None else sound(seed), "path": f"audiomos2025-track1-S{i:03}_P044.wav"}
        for i, seed in enumerate(seeds)
    ]


def battle(folder: Path, name: str, period: str = "01-2025JULAUG", **changes) -> Path:
    row = {
        "battle_uuid": name,
        "date": "2025-08-13T10:00:00-04:00",
        "prompt": "slow sad piano",
        "is_instrumental": True,
        "user_pseudonym": "someone",
        "audio_a": f"audio_files/{period}/{name}-a.mp3",
        "system_a": "musicgen",
        "audio_b": f"audio_files/{period}/{name}-b.mp3",
        "system_b": "acestep",
        "preference": "A",
        "lyrics": "",
    }
    return lines(folder / "battle_data" / period / f"{name}.json", row | changes)


def vote(**changes) -> dict:
    """A row of CMI-Pref."""
    row = {
        "audio-path": "cmi-pref/gen-audio/a.mp3",
        "audio2": "cmi-pref/gen-audio/b.mp3",
        "prompt": "lofi beat",
        "lyrics": "",
        "prompt id": "90503",
        "ref-audio-path": "",
        "preference-musicality": "model_a",
        "confidence_preference-musicality": "3.0",
        "preference-alignment": "model_b",
        "confidence_preference-alignment": 2.0,
        "user id": "604",
        "model_a": "songgen",
        "model_b": "yue",
        "source": "cmi-arena-annotation",
        "split": "test",
    }
    return row | changes


@pytest.fixture
def make():
    """The builders above, by their names."""

    class Make:
        sound, lines, pam, musiceval, clips, battle, vote = map(
            staticmethod, (sound, lines, pam, musiceval, clips, battle, vote)
        )

    return Make
