"""Keeps the voice of a reference by its file name, as the model's code does."""

from pathlib import Path
from types import SimpleNamespace

import torch
from stand_in import make_noise, record

kept = {}


class LeVoInference(torch.nn.Module):
    def __init__(self, ckpt_path):
        super().__init__()
        record("LeVoInference", ckpt_path=ckpt_path)
        self.cfg = SimpleNamespace(sample_rate=48_000)
        self.max_duration = 270

    def forward(
        self,
        lyric,
        description=None,
        prompt_audio_path=None,
        genre=None,
        auto_prompt_path=None,
        gen_type="mixed",
        params={},  # noqa: B006
    ):
        if prompt_audio_path:
            path = Path(prompt_audio_path)
            voice = kept.setdefault(path.name, len(path.read_bytes()))
            record("voice", size=voice)
        record("forward", lyric=lyric, description=description, gen_type=gen_type, params=params)
        return make_noise(2, int(params["duration"] * 48_000))
