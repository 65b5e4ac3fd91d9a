"""AudioLDM 2 of the University of Surrey: mono at 16 kHz from a text, 10 s unless asked for."""

from dataclasses import dataclass
from types import MappingProxyType

from cmi.generate.checkpoint import Guidance, Steps
from cmi.generate.diffusion import TextDiffusionGenerator, TextDiffusionSettings


@dataclass(frozen=True, kw_only=True)
class AudioLDM2Settings(TextDiffusionSettings):
    checkpoint: str = "cvssp/audioldm2-music"
    licence: str = "CC-BY-NC-SA-4.0"
    steps: Steps = 200
    guidance: Guidance = 3.5
    negative: str = "Low quality."


class AudioLDM2(TextDiffusionGenerator):
    Settings = AudioLDM2Settings
    model_name, pipeline, decoder = "AudioLDM 2", "AudioLDM2Pipeline", "vocoder"
    # Published checkpoints name GPT2Model, which in transformers 5 lacks a method that the pipeline calls.
    replaced = MappingProxyType({"language_model": "GPT2LMHeadModel"})


SYSTEMS = {"audioldm2": AudioLDM2}
