"""MusicGen of Meta: mono or stereo at 32 kHz from a text, and from a melody if the checkpoint takes one, up to 30 s."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from cmi._util.config import check_config, read_table
from cmi._util.errors import InputError
from cmi._util.hub import quiet_transformers
from cmi._util.pretrained import SAFE, load_pretrained, read_model_config
from cmi.generate import Part
from cmi.generate.checkpoint import CheckpointGenerator, CheckpointSettings, Guidance, load_reference
from cmi.take import Audio, Prompt

if TYPE_CHECKING:
    import torch

LONGEST = 30.0  # seconds; the models were trained on excerpts of this length
CLASSES = {
    "musicgen": "MusicgenForConditionalGeneration",
    "musicgen_melody": "MusicgenMelodyForConditionalGeneration",
}


@dataclass(frozen=True, kw_only=True)
class MusicGenSettings(CheckpointSettings):
    """What MusicGen can be set to; the defaults are those of its authors.

    guidance       how strongly the prompt steers; 1 turns it off
    temperature    of the sampling
    top_k          tokens to sample from
    """

    checkpoint: str = "facebook/musicgen-small"
    licence: str = "CC-BY-NC-4.0"
    guidance: Guidance = 3.0
    temperature: Annotated[float, Field(gt=0)] = 1.0
    top_k: Annotated[int, Field(ge=1)] = 250


@dataclass(frozen=True, kw_only=True)
class MusicGenMelodySettings(MusicGenSettings):
    checkpoint: str = "facebook/musicgen-melody"


class MusicGen(CheckpointGenerator[MusicGenSettings]):
    Settings = MusicGenSettings
    model_name = "MusicGen"
    longest = LONGEST

    def _load(self, folder: Path, dtype: str) -> Any:
        import torch
        import transformers

        config = read_model_config(None, folder)
        if config.model_type not in CLASSES:
            raise InputError(f"{folder}: a model of type {config.model_type!r}, expected {' or '.join(CLASSES)}")
        kind = getattr(transformers, CLASSES[config.model_type])
        model = load_pretrained(kind, folder, config=config, dtype=getattr(torch, dtype))
        with quiet_transformers():
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **SAFE)
        self.rate = int(config.audio_encoder.sampling_rate)
        if config.model_type == "musicgen_melody":
            self.accepts: tuple[Part, ...] = ("text", "reference")
            self._chroma = ChromaExtractor(folder)
        return model.to(self._device).eval()

    def _sample(self, prompt: Prompt, seed: int, seconds: float | None) -> "torch.Tensor":
        model = self._model
        inputs = dict(self._tokenizer([prompt.text], return_tensors="pt").to(self._device))
        if prompt.reference is not None:
            inputs["input_features"] = self._chroma.extract(prompt.reference).to(model.device, model.dtype)
        decoder = model.config.decoder
        delays = decoder.num_codebooks // decoder.audio_channels - 1  # each codebook is one token behind the last
        frames = math.ceil((seconds or LONGEST) * model.config.audio_encoder.frame_rate)
        made = model.generate(
            **inputs,
            do_sample=True,
            guidance_scale=self._chosen.guidance,
            temperature=self._chosen.temperature,
            top_k=self._chosen.top_k,
            max_new_tokens=frames + delays,
        )
        return made[0]


class MusicGenMelody(MusicGen):
    Settings = MusicGenMelodySettings


@dataclass(frozen=True)
class ChromaSettings:
    """What a checkpoint's preprocessor_config.json says of its chroma features."""

    sampling_rate: int = 32_000
    hop_length: int = 4096
    n_fft: int = 16_384
    chunk_length: float = LONGEST
    feature_size: int = 12


class ChromaExtractor:
    """The strongest pitch class of each frame, which is how a melody is given to the model.

    Equal to `MusicgenMelodyFeatureExtractor` of transformers without Demucs, but does not need torchaudio.
    """

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers.audio_utils import chroma_filter_bank

        path = folder / "preprocessor_config.json"
        table = read_table(path) if path.exists() else {}
        self._how = check_config(table, ChromaSettings, str(path), extra="ignore")
        filters = chroma_filter_bank(self._how.n_fft, self._how.feature_size, self._how.sampling_rate)
        self._filters = torch.from_numpy(filters).float()

    def extract(self, reference: Audio) -> "torch.Tensor":
        """Return features of shape (1, frames, pitch classes), of which one in each frame is 1."""
        import torch
        from torch.nn import functional

        size = self._how.n_fft
        sound = load_reference(reference, self._how.sampling_rate, self._how.chunk_length)
        lacking = max(0, size - len(sound))
        sound = functional.pad(sound, (lacking // 2, lacking - lacking // 2))
        spectrum = torch.stft(sound, size, self._how.hop_length, window=torch.hann_window(size), return_complex=True)
        strongest = (self._filters @ spectrum.abs() ** 2).argmax(0)
        return functional.one_hot(strongest, len(self._filters)).float()[None]


SYSTEMS = {"musicgen": MusicGen, "musicgen-melody": MusicGenMelody}
