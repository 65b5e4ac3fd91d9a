"""A small random checkpoint with a tokenizer, and `cmi score` as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from cmi.reward.model.encoders.muq_mulan import MuQMuLan, MuQMuLanConfig, TowerConfig
from cmi.reward.model.head import HeadConfig, RewardHead
from cmi.reward.model.reward_model import RewardModel

TOWER = TowerConfig(dim=32, depth=1, heads=4, dim_head=8, ff_hidden=85)
ENCODER = MuQMuLanConfig(
    stem_channels=8, conformer_dim=48, conformer_depth=1, conformer_heads=4, conformer_ff=96, vocabulary=264,
    xlmr_dim=32, xlmr_depth=1, xlmr_heads=4, xlmr_ff=64, audio_tower=TOWER, text_tower=TOWER,
)  # fmt: skip


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(0)
    head = RewardHead(HeadConfig(dim=32, heads=4, dim_head=8, ff_hidden=85, prompt_depth=1, joint_depth=1, mlp_dim=16))
    RewardModel(MuQMuLan(ENCODER), head).save_pretrained(folder)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {letter: 4 + i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>"}'
    )
    return folder


@pytest.fixture
def score_command(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """`cmi score` started, with a cache of its own."""

    def start(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "cmi", "score", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "CMI_CACHE": str(tmp_path / "cache")},
        )

    return start
