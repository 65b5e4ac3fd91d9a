"""Votes about tones and noise with a prompt of their own each, and a small configuration that learns from them."""

import itertools
import json
from pathlib import Path

import pytest

from ..reward.train.conftest import (  # noqa: F401
    checkpoint,
    command,
    music,
    settings,
    shared_cache,
    surroundings,
    write_config,
    write_rows,
)

SPLITS = {"train": range(28), "valid": range(28, 40), "test": range(40, 68)}


@pytest.fixture(scope="session")
def votes(music, tmp_path_factory) -> Path:  # noqa: F811
    """As `music` has them, each pair under a prompt of its own, with a test split, generators and ratings."""
    folder = tmp_path_factory.mktemp("votes")
    split_of = {place: split for split, places in SPLITS.items() for place in places}
    rows, ratings = [], []
    for line in (music / "pairs.jsonl").read_text().splitlines():
        row = json.loads(line)
        place, _, kind = row["id"].partition(" ")
        if kind not in ("m", "a"):
            continue
        sides = {f"generator_{side}": "tones" if row[side].startswith("t") else "noises" for side in "ab"}
        sounds = {name: str(music / row[name]) for name in ("a", "b", "reference") if row.get(name)}
        rows.append({**row, **sides, **sounds, "text": f"{row['text']} {place}", "split": split_of[int(place)]})
    for place, kind in itertools.product(range(28, 68), "tn"):
        about = {"audio": str(music / f"{kind}{place}.wav"), "text": f"tone {place}", "split": split_of[place]}
        ratings.append({**about, "musicality": 4.5 if kind == "t" else 1.5})
    write_rows(folder / "votes.jsonl", rows)
    write_rows(folder / "ratings.jsonl", ratings)
    return folder


@pytest.fixture
def base(votes, write_config) -> Path:  # noqa: F811
    pairs = {"preferences": str(votes / "votes.jsonl")}
    return write_config(
        "base.yaml",
        data=[{**pairs, "split": "train"}],
        validation=[{**pairs, "split": "valid"}],
        steps=8,
        validate_every=4,
    )
