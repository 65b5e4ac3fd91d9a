"""Makes the small checkpoints of CMI-RM beside this file, and the scores that `test_small_golden.py` expects of them.

    python tests/reward/model/golden/make.py

The weights are random, from a seed. The scores are those of our code at a commit whose scores of the checkpoints in
../shared/golden/cmi-rm agreed with the authors' own code to 1e-5 (`test_golden.py`). Make them anew only if the
architecture has to change, and only where that test runs.
"""

import json
from pathlib import Path

import numpy as np
import torch

from cmi.reward.model.encoders.muq_mulan import RATE, MuQMuLan, MuQMuLanConfig, TowerConfig
from cmi.reward.model.head import Downsampling, HeadConfig, PromptTokens, RewardHead
from cmi.reward.model.reward_model import RewardModel

FOLDER = Path(__file__).parent
TOWER = TowerConfig(dim=16, depth=1, heads=2, dim_head=8, ff_hidden=42)
ENCODER = MuQMuLanConfig(
    stem_channels=4, conformer_dim=16, conformer_depth=1, conformer_heads=2, conformer_ff=32, vocabulary=264,
    xlmr_dim=16, xlmr_depth=1, xlmr_heads=2, xlmr_ff=32, audio_tower=TOWER, text_tower=TOWER,
)  # fmt: skip
SHAPE = {"dim": 16, "heads": 2, "dim_head": 8, "ff_hidden": 42, "mlp_dim": 8}
HEADS = {
    "self-attention": HeadConfig(**SHAPE, prompt_depth=2, joint_depth=1),
    "cross-attention": HeadConfig(**SHAPE, prompt_depth=1, joint_depth=1, attention="CA"),
    "downsampled": HeadConfig(**SHAPE, prompt_depth=1, joint_depth=1, take=Downsampling("mean", 4)),
}
TEXT, LYRICS = "A cheerful pop song, 120 bpm", "La la la\nwe sing in the rain"
CASES = {  # the text, the lyrics, the seconds of the reference, the seconds of the take
    "text": (TEXT, "", 0, 3),
    "text and lyrics": (TEXT, LYRICS, 0, 3),
    "text and reference": (TEXT, "", 5, 3),
    "all, two chunks": (TEXT, LYRICS, 5, 40),
    "no prompt": ("", "", 0, 3),
    "Chinese": ("悲伤的钢琴", "", 0, 3),
}


def tones(seconds: int) -> torch.Tensor:
    """A melody of as many notes as seconds."""
    times = np.arange(seconds * RATE) / RATE
    pitch = 220 * 2 ** ((np.floor(times) * 7 % 12) / 12)
    return torch.from_numpy(0.2 * np.sin(2 * np.pi * pitch * times) + 0.1 * np.sin(6 * np.pi * pitch * times)).float()


def tokens_of(text: str) -> torch.Tensor:
    """Bytes between a start and an end token."""
    return torch.tensor([[0, *(4 + byte for byte in text.encode()), 2]])


@torch.inference_mode()
def score_cases(model: RewardModel) -> dict[str, list[float]]:
    """Alignment and musicality of each case."""
    found = {}
    for name, (text, lyrics, reference, seconds) in CASES.items():
        words = (model.encoder.encode_text(tokens_of(own)) for own in (text, lyrics))
        heard = model.hear(tones(reference)) if reference else None
        found[name] = model(PromptTokens(*words, heard), model.hear(tones(seconds)))[0].tolist()
    return found


def main() -> None:
    expected = {}
    for seed, (name, head) in enumerate(HEADS.items()):
        torch.manual_seed(seed)
        model = RewardModel(MuQMuLan(ENCODER), RewardHead(head)).eval()
        with torch.no_grad():
            for parameter in model.parameters():  # far enough from what training begins with for every part to matter
                parameter.add_(0.1 * torch.randn_like(parameter))
        model.save_pretrained(FOLDER / name)
        expected[name] = score_cases(RewardModel.from_pretrained(FOLDER / name, device="cpu"))
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
