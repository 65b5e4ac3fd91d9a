"""LAION CLAP (Wu et al., 2023): a joint embedding of audio and text, through transformers.

    clap         laion/clap-htsat-unfused, the checkpoint of the paper that introduced it
    clap-music   laion/larger_clap_music

Windows of 10 s at 48 kHz, the last filled by repeating it, are embedded and normalised; a recording's embedding is
their normalised mean, and the score is the cosine with the text. (The publishers' code takes one random window of
longer recordings, so that its scores cannot be reproduced.) Texts are truncated to 77 tokens, as in training.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi._util.hub import quiet_transformers
from cmi._util.pretrained import SAFE
from cmi._util.weights import in_own_memory
from cmi.audio import windows
from cmi.reward.scoring.baselines import ALIGNMENT, BaselineVariant, sources
from cmi.reward.scoring.baselines.listening import AlignmentScorer, apply_in_batches, load_audio, repeat_to
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

DEFAULT = sources.PublishedCheckpoint("laion/clap-htsat-unfused", "8fa0f1c6d0433df6e97c127f64b2a1d6c0dcda8a")
MUSIC = sources.PublishedCheckpoint("laion/larger_clap_music", "a0b4534a14f58e20944452dff00a22a06ce629d1")
SOURCES = (DEFAULT,)
VARIANTS = {"clap": BaselineVariant(ALIGNMENT), "clap-music": BaselineVariant(ALIGNMENT, {"music": True})}
TEXT_TOKENS = 77


class Clap(NamedTuple):
    model: Any
    extractor: Any
    tokenizer: Any

    def embed_sound(self, sound: Audio) -> Tensor:
        rate, length = self.extractor.sampling_rate, self.extractor.nb_max_samples
        samples = load_audio(sound, rate)
        parts = [repeat_to(samples[part], length).numpy() for part in windows(len(samples), length)]
        mels = self.extractor(parts, sampling_rate=rate, return_tensors="pt", truncation="rand_trunc")["input_features"]
        vectors = apply_in_batches(self._embed_mels, mels.to(self.model.device))
        return functional.normalize(vectors.mean(dim=0), dim=-1).cpu()

    def _embed_mels(self, mels: Tensor) -> Tensor:
        heard = self.model.audio_model(input_features=mels).pooler_output
        return functional.normalize(self.model.audio_projection(heard), dim=-1)

    def embed_text(self, text: str) -> Tensor:
        ids = self.tokenizer(text, truncation=True, max_length=TEXT_TOKENS, return_tensors="pt").to(self.model.device)
        read = self.model.text_model(input_ids=ids["input_ids"], attention_mask=ids["attention_mask"]).pooler_output
        return functional.normalize(self.model.text_projection(read)[0], dim=-1).cpu()


def load(places: Sequence[str], device: str, music: bool = False) -> NamedScorer:
    found = sources.find(MUSIC if music else DEFAULT, places)
    model = _load(found, choose_device(device))
    return NamedScorer(found.name, AlignmentScorer(model.embed_sound, model.embed_text))


def _load(found: sources.FoundCheckpoint, device: torch.device) -> Clap:
    """Load the model; raise InputError if weights are missing or do not fit."""
    folder, safe = found.folder, found.weights.suffix == ".safetensors"
    if found.config.get("model_type") != "clap":
        raise InputError(f"{folder}: config.json states the model type {found.config.get('model_type')!r}, not 'clap'")
    try:
        with quiet_transformers():
            how = {"dtype": torch.float32, "use_safetensors": safe, "weights_only": True, **SAFE}
            model, report = ClapModel.from_pretrained(folder, output_loading_info=True, **how)
            extractor = ClapFeatureExtractor.from_pretrained(folder, **SAFE)
            tokenizer = AutoTokenizer.from_pretrained(folder, **SAFE)
    except (OSError, ValueError, RuntimeError, LookupError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{folder}: not a CLAP model that can be loaded: {reason}") from error
    if lacking := sorted(report["missing_keys"]):
        raise InputError(f"{found.weights} lacks weights of a CLAP model, among them {lacking[0]}")
    if model.config.audio_config.enable_fusion:
        raise InputError(f"{folder}: a CLAP model with feature fusion, expected one without")
    in_own_memory(model)
    return Clap(model.requires_grad_(False).eval().to(device), extractor, tokenizer)
