"""A small random CMI-RM, and the golden ones where they are at hand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from cmi.reward.model.encoders.muq_mulan import MuQMuLan, MuQMuLanConfig, TowerConfig
from cmi.reward.model.head import HeadConfig, RewardHead
from cmi.reward.model.reward_model import RewardModel

TINY_TOWER = TowerConfig(dim=32, depth=2, heads=4, dim_head=8, ff_hidden=85)
TINY_ENCODER = MuQMuLanConfig(
    stem_channels=8, conformer_dim=48, conformer_depth=2, conformer_heads=4, conformer_ff=96, vocabulary=264,
    xlmr_dim=32, xlmr_depth=2, xlmr_heads=4, xlmr_ff=64, audio_tower=TINY_TOWER, text_tower=TINY_TOWER,
)  # fmt: skip
TINY_HEAD = HeadConfig(dim=32, heads=4, dim_head=8, ff_hidden=85, prompt_depth=2, joint_depth=1, mlp_dim=16)


def bytes_of(text: str) -> list[int]:
    """The golden fixtures' tokenizer: bytes between a start and an end token."""
    return [0, *(4 + byte for byte in text.encode()), 2]


@pytest.fixture(scope="session")
def tiny() -> RewardModel:
    torch.manual_seed(0)
    return RewardModel(MuQMuLan(TINY_ENCODER), RewardHead(TINY_HEAD), tokenize=bytes_of)


@pytest.fixture(scope="session")
def golden(shared: Path) -> Path:
    return shared / "golden" / "cmi-rm"


@pytest.fixture(scope="session")
def golden_folder(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A variant's checkpoint; most are stored as what differs from the first."""

    def folder(variant: str) -> Path:
        if (golden / variant / "model.safetensors").exists():
            return golden / variant
        base, delta = (
            load_file(golden / name) for name in ("sa_p4j1/model.safetensors", f"{variant}/delta.safetensors")
        )
        keys = json.loads((golden / variant / "keys.json").read_text())
        made = tmp_path_factory.mktemp(variant)
        save_file(
            {key: (delta if key in delta else base)[key].contiguous() for key in keys}, made / "model.safetensors"
        )
        (made / "config.yaml").write_text((golden / variant / "config.yaml").read_text())
        return made

    return folder
