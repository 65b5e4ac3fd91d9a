"""MusicLDM of UC San Diego: mono at 16 kHz from a text, 10 s unless asked for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cmi.generate.checkpoint import Guidance, Steps
from cmi.generate.diffusion import TextDiffusionGenerator, TextDiffusionSettings
from cmi.take import Prompt

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class MusicLDMSettings(TextDiffusionSettings):
    checkpoint: str = "ucsd-reach/musicldm"
    licence: str = "CC-BY-NC-SA-4.0"
    steps: Steps = 200
    guidance: Guidance = 2.0
    negative: str = "low quality, average quality"


class MusicLDM(TextDiffusionGenerator):
    Settings = MusicLDMSettings
    model_name, pipeline, decoder = "MusicLDM", "MusicLDMPipeline", "vocoder"

    def _conditions(self, prompt: Prompt) -> dict[str, Any]:
        """Embed both texts here: the pipeline, which diffusers no longer maintains, cannot with transformers 5."""
        texts = {"prompt_embeds": prompt.text, "negative_prompt_embeds": self._chosen.negative}
        return {name: self._embed(text) for name, text in texts.items()}

    def _embed(self, text: str) -> "torch.Tensor":
        import torch

        tokenizer = self._model.tokenizer
        words = tokenizer(
            [text], padding="max_length", max_length=tokenizer.model_max_length, truncation=True, return_tensors="pt"
        ).to(self._device)
        with torch.no_grad():
            return self._model.text_encoder.get_text_features(words.input_ids, words.attention_mask).pooler_output


SYSTEMS = {"musicldm": MusicLDM}
