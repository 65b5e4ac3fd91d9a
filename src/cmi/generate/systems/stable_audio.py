"""Stable Audio Open of Stability AI: stereo at 44.1 kHz from a text, up to 47 s."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmi.generate.checkpoint import Guidance, Steps
from cmi.generate.diffusion import TextDiffusionGenerator, TextDiffusionSettings


@dataclass(frozen=True, kw_only=True)
class StableAudioSettings(TextDiffusionSettings):
    checkpoint: str = "stabilityai/stable-audio-open-1.0"
    licence: str = "Stability AI Community License"
    steps: Steps = 200
    guidance: Guidance = 7.0
    negative: str = "Low quality."


class StableAudioOpen(TextDiffusionGenerator):
    Settings = StableAudioSettings
    model_name, pipeline, length_argument = "Stable Audio Open", "StableAudioPipeline", "audio_end_in_s"

    def _load(self, folder: Path, dtype: str) -> Any:
        pipeline = super()._load(folder, dtype)
        self.longest = pipeline.transformer.config.sample_size * pipeline.vae.hop_length / self.rate
        return pipeline


SYSTEMS = {"stable-audio-open": StableAudioOpen}
