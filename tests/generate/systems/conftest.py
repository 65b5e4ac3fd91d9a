"""Tiny checkpoints, made once: each is a folder in the layout of a published one."""

from pathlib import Path

import pytest
import torch

from . import tiny_checkpoints as tiny

MADE = {
    "musicgen": tiny.save_musicgen,
    "musicgen-stereo": lambda folder: tiny.save_musicgen(folder, channels=2),
    "musicgen-melody": lambda folder: tiny.save_musicgen(folder, melody=True),
    "stable-audio": tiny.save_stable_audio,
    "audioldm2": tiny.save_audioldm2,
    "musicldm": tiny.save_musicldm,
    "ace-step": tiny.save_ace_step,
    "ace-step-base": lambda folder: tiny.save_ace_step(folder, is_turbo=False),
}


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory):
    """The folder of a tiny checkpoint, by its name in MADE."""
    root = tmp_path_factory.mktemp("checkpoints")

    def find(name: str) -> Path:
        if not (root / name).exists():
            with torch.random.fork_rng([]):
                torch.manual_seed(0)
                MADE[name](root / name)
        return root / name

    return find
