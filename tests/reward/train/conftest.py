"""A small random checkpoint with a tokenizer, and recordings of which the better ones are known: tones v noise."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
import yaml
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from cmi.reward.model.encoders.muq_mulan import RATE, MuQMuLan, MuQMuLanConfig, TowerConfig
from cmi.reward.model.head import HeadConfig, RewardHead
from cmi.reward.model.reward_model import RewardModel

TOWER = TowerConfig(dim=32, depth=1, heads=4, dim_head=8, ff_hidden=85)
ENCODER = MuQMuLanConfig(
    stem_channels=8, conformer_dim=48, conformer_depth=1, conformer_heads=4, conformer_ff=96, vocabulary=264,
    xlmr_dim=32, xlmr_depth=1, xlmr_heads=4, xlmr_ff=64, audio_tower=TOWER, text_tower=TOWER,
)  # fmt: skip
HEAD = HeadConfig(dim=32, heads=4, dim_head=8, ff_hidden=85, prompt_depth=1, joint_depth=1, mlp_dim=16)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(0)
    RewardModel(MuQMuLan(ENCODER), RewardHead(HEAD)).save_pretrained(folder)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {letter: 4 + i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    ends = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return folder


def tone(rng: np.random.Generator, seconds: float) -> np.ndarray:
    time = np.arange(int(seconds * RATE)) / RATE
    return 0.2 * sum(np.sin(2 * np.pi * k * rng.uniform(200, 800) * time) / k for k in (1, 2, 3))


def burst(rng: np.random.Generator, seconds: float) -> np.ndarray:
    return rng.standard_normal(int(seconds * RATE)) * 0.2


@pytest.fixture(scope="session")
def music(tmp_path_factory) -> Path:
    """Tones (t) and bursts (n) of lengths of their own, and 68 pairs of them.

    Tones are the better music. A prompt asks for a tone or for noise, and what was asked for is better aligned. The
    last 40 pairs are held out, with recordings of their own.
    """
    folder = tmp_path_factory.mktemp("music")
    rng = np.random.default_rng(7)
    rows = []
    for i in range(68):
        for kind, make in (("t", tone), ("n", burst)):
            soundfile.write(folder / f"{kind}{i}.wav", make(rng, rng.uniform(0.3, 0.6)), RATE, subtype="PCM_16")
        asked = "tone" if rng.random() < 0.5 else "noise"
        tone_first = bool(rng.random() < 0.5)
        a, b = (f"t{i}.wav", f"n{i}.wav") if tone_first else (f"n{i}.wav", f"t{i}.wav")
        about = {"text": asked, "a": a, "b": b, "split": "train" if i < 28 else "valid"}
        about |= {"lyrics": "la la"} if i % 3 == 0 else {}
        about |= {"reference": f"{asked[0]}{(i + 1) % 28 if i < 28 else i}.wav"} if i % 4 == 0 else {}
        better = "a" if tone_first else "b"
        aligned = better if asked == "tone" else ("b" if tone_first else "a")
        rows.append({**about, "id": f"{i} m", "axis": "musicality", "choice": better, "confidence": 1 + i % 5})
        rows.append({**about, "id": f"{i} a", "axis": "alignment", "choice": aligned})
    rows.append({**rows[0], "id": "tie 1", "choice": "both"})
    rows.append({**rows[1], "id": "tie 2", "choice": "neither"})
    rows.append({**rows[-1], "id": "overall", "axis": "overall", "choice": "a"})
    write_rows(folder / "pairs.jsonl", rows)
    ratings = [
        {"audio": f"{kind}{i}.wav", "text": "tone", "musicality": mark, "split": "train" if i < 20 else "valid"}
        for i in range(28)
        for kind, mark in (("t", 4.5), ("n", 1.5))
    ]
    write_rows(folder / "ratings.jsonl", [{**row, "alignment": row["musicality"]} for row in ratings])
    return folder


def write_rows(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory) -> Path:
    """Tokens are the same for all tests: they are encoded once."""
    return tmp_path_factory.mktemp("tokens")


@pytest.fixture(autouse=True)
def surroundings(shared_cache, monkeypatch):
    """One thread, as in the processes that tests start: sums over several round differently."""
    monkeypatch.setenv("CMI_CACHE", str(shared_cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def settings(checkpoint, music) -> dict:
    """A small run, as a configuration would state it."""
    pairs = {"preferences": str(music / "pairs.jsonl")}
    return {
        "model": {"checkpoint": str(checkpoint), "head": "fresh"},
        "data": [{**pairs, "split": "train"}],
        "validation": [{**pairs, "split": "valid"}],
        "optimizer": {"lr": 3e-3, "warmup": 5},
        "steps": 12,
        "batch": 8,
        "validate_every": 4,
        "window": "first10",
    }


@pytest.fixture
def write_config(tmp_path, settings):
    """The configuration in a file, with what a test changes."""

    def write(name: str = "tiny.yaml", **changes: object) -> Path:
        path = tmp_path / name
        path.write_text(yaml.safe_dump({**settings, **changes}))
        return path

    return write


@pytest.fixture
def command():
    """`cmi train` in a process of its own, or one of several as a launcher starts them; none outlives its test."""
    started = []

    def start(*arguments: object, launched: dict[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "cmi", "train", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(launched or {})},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
