"""ACE-Step 1.5 of ACE Studio and StepFun: stereo at 48 kHz from a text, lyrics and a reference, up to 10 minutes.

The reference sets the timbre. The language model with which ACE-Step plans a song is not part of the pipeline.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from cmi.generate import Part
from cmi.generate.checkpoint import Guidance, load_reference
from cmi.generate.diffusion import DiffusionGenerator, DiffusionSettings
from cmi.take import Prompt

INSTRUMENTAL = "[Instrumental]"  # in place of lyrics, as its authors write it
HEARD = 600.0  # seconds of a reference; the pipeline takes parts of its beginning, middle and end
TURBO_STEPS, STEPS = 8, 50


@dataclass(frozen=True, kw_only=True)
class AceStepSettings(DiffusionSettings):
    """What ACE-Step can be set to.

    steps       0: as many as the checkpoint was made for
    guidance    a turbo checkpoint takes none
    shift       of the steps towards the noisy end
    language    of the lyrics
    """

    checkpoint: str = "ACE-Step/acestep-v15-xl-turbo-diffusers"
    licence: str = "MIT"
    steps: Annotated[int, Field(ge=0)] = 0
    guidance: Guidance = 7.0
    shift: Annotated[float, Field(gt=0)] = 3.0
    language: str = "en"


class AceStep(DiffusionGenerator[AceStepSettings]):
    Settings = AceStepSettings
    model_name, pipeline, length_argument = "ACE-Step", "AceStepPipeline", "audio_duration"
    gpu_dtype = "bfloat16"
    accepts: tuple[Part, ...] = ("text", "lyrics", "reference")
    longest = 600.0

    def _load(self, folder: Path, dtype: str) -> Any:
        pipeline = super()._load(folder, dtype)
        steps = self._chosen.steps or (TURBO_STEPS if pipeline.is_turbo else STEPS)
        guidance = 1.0 if pipeline.is_turbo else self._chosen.guidance
        self._chosen = replace(self._chosen, steps=steps, guidance=guidance)
        return pipeline

    def _conditions(self, prompt: Prompt) -> dict[str, Any]:
        conditions = {
            "prompt": prompt.text,
            "lyrics": prompt.lyrics or INSTRUMENTAL,
            "vocal_language": self._chosen.language,
            "shift": self._chosen.shift,
        }
        if prompt.reference is not None:
            channels = self._model.vae.config.audio_channels
            heard = load_reference(prompt.reference, self.rate, HEARD)
            conditions["reference_audio"] = heard.expand(channels, -1)
        return conditions


SYSTEMS = {"ace-step": AceStep}
