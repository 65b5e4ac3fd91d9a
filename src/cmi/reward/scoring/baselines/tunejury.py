"""TuneJury (Kim et al., 2026): a head on frozen encoders, trained on people's preferences between generated pieces.

    the middle 10 s, 48 kHz  -> LAION CLAP for music, of unit length --+
    the whole recording, 24 kHz -> MERT-v1-330M, mean of the last layer +-> four layers -> one number
    text -> CLAP, of unit length; zeros if there is none ---------------+

    tunejury             the released head
    tunejury-no-prompt   the same without the text, as its authors advise for prompts unlike an arena's
    tunejury-clap        the head on CLAP audio embeddings only, without text, under Apache-2.0 (commercial use allowed)

Audio is prepared as in the authors' script for whole collections (their `Scorer` takes a random 10 s): CLAP gets the
middle 10 s, quantised to 16 bits, and shorter clips are repeated and then padded with silence; MERT gets segments of
300 s. The head was trained on differences of two takes of one prompt. Its output, an overall preference, is reported as
musicality.

CLAP is loaded from LAION's own file, because its conversion for transformers (larger_clap_music) embeds all texts
almost alike.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import ClapConfig, ClapFeatureExtractor, ClapModel, ClapTextConfig, HubertModel

from cmi._util.config import read_table
from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.reward.model.checkpoint import depth, shape
from cmi.reward.model.tokenizer import Tokenize, load_tokenizer
from cmi.reward.scoring.baselines import MUSICALITY, BaselineVariant, hts_at, sources
from cmi.reward.scoring.baselines.listening import load_audio
from cmi.reward.scoring.baselines.mert import build_mert
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio, Score, Take

HUB = ("TuneJury/tunejury", "a36a6adaad4a9786a12c3e5fd82501f2f2dc54ff")
HEAD = sources.PublishedCheckpoint(*HUB, ("tunejury.safetensors", "tunejury.pt"))
CLAP_HEAD = sources.PublishedCheckpoint(
    *HUB, ("A1_clap_audio_only.safetensors", "input_ablation/A1_clap_audio_only.pt", "A1_clap_audio_only.pt")
)
CLAP = sources.PublishedCheckpoint(
    "lukewys/laion_clap",
    "b3708341862f581175dba5c356a4ebf74a9b6651",
    ("model.safetensors", "music_audioset_epoch_15_esc_90.14.pt"),
)
MERT = sources.PublishedCheckpoint("m-a-p/MERT-v1-330M", "5240c2708a5acaee1007f43fb9735c7dcd0b78c9")
SOURCES = (HEAD, CLAP, MERT)
VARIANTS = {
    "tunejury": BaselineVariant(MUSICALITY),
    "tunejury-no-prompt": BaselineVariant(MUSICALITY, {"reads": False}),
    "tunejury-clap": BaselineVariant(MUSICALITY, {"reads": False, "clap_only": True}),
}
TOKENIZER = "FacebookAI/roberta-base", "e2da8e2f811d1448a5b465c236feacd80ffbac7b"
TEXT_TOKENS = 77
CLAP_RATE, CLAP_WINDOW = 48_000, 480_000
MERT_RATE, MERT_STRETCH = 24_000, 300 * 24_000
BLOCK = 4  # modules of a layer: linear, batch norm, ReLU, dropout
NAMES = {
    r"^module\.": "",
    r"^audio_branch\.": "audio_model.audio_encoder.",
    r"^text_branch\.": "text_model.",
    r"^(audio|text)_projection\.0\.": r"\1_projection.linear1.",
    r"^(audio|text)_projection\.2\.": r"\1_projection.linear2.",
}
NEVER_READ = rf"{hts_at.NEVER_READ}|(audio|text)_transform\.|logit_scale|.*\.token_type_ids$"


class PreferenceHead(nn.Module):
    """Module names are those of the published checkpoint."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inside, outside in pairwise(widths):
            layers += [nn.Linear(inside, outside), nn.BatchNorm1d(outside), nn.ReLU(), nn.Dropout(0.5)]
        self.net = nn.Sequential(*layers, nn.Linear(widths[-1], 1))
        self.width = widths[0]  # number of input features

    def forward(self, features: Tensor) -> Tensor:
        return self.net(features)[:, 0]  # (B,)


class LaionClap(NamedTuple):
    model: ClapModel
    tokenize: Tokenize | None  # None if no text is read
    device: torch.device

    def embed_sound(self, sound: Audio) -> Tensor:
        """The middle of a recording: (dim,), of unit length."""
        samples = load_audio(sound, CLAP_RATE)
        start = max(0, (len(samples) - CLAP_WINDOW) // 2)
        clip = samples[start : start + CLAP_WINDOW].clamp(-1, 1)
        quantised = (clip * 32767).trunc() / 32767
        mels = _extractor()(quantised.numpy(), sampling_rate=CLAP_RATE, return_tensors="pt")["input_features"]
        heard = self.model.audio_model(input_features=mels.to(self.device)).pooler_output
        return functional.normalize(self.model.audio_projection(heard)[0], dim=-1)

    def embed_text(self, text: str) -> Tensor:
        """A text: (dim,), of unit length; zeros if there is none or none is read."""
        if self.tokenize is None or not text:
            return torch.zeros(self.model.config.projection_dim, device=self.device)
        ids = self.tokenize(text)
        kept = ids if len(ids) <= TEXT_TOKENS else [*ids[: TEXT_TOKENS - 1], ids[-1]]
        read = self.model.text_model(input_ids=torch.tensor([kept], device=self.device)).pooler_output
        return functional.normalize(self.model.text_projection(read)[0], dim=-1)


class Mert(NamedTuple):
    model: HubertModel
    is_standardised: bool  # of its input, in hertz
    device: torch.device

    def embed_sound(self, sound: Audio) -> Tensor:
        """The mean of the last layer over a recording: (dim,)."""
        samples = load_audio(sound, MERT_RATE)
        parts = list(samples.split(MERT_STRETCH))
        if (
            len(parts) > 1 and len(parts[-1]) < MERT_RATE
        ):  # a rest of less than a second is added to the previous segment
            parts[-2:] = [torch.cat(parts[-2:])]
        frames = [self._mert_frames(part) for part in parts]  # (T, dim) each
        return torch.stack([part.sum(dim=0) for part in frames]).sum(dim=0) / sum(map(len, frames))

    def _mert_frames(self, samples: Tensor) -> Tensor:
        if self.is_standardised:
            samples = (samples - samples.mean()) / (samples.var(correction=0) + 1e-7).sqrt()
        return self.model(samples[None].to(self.device)).last_hidden_state[0]


class TuneJuryScorer:
    """Scores takes with the head; each recording is embedded once."""

    def __init__(self, head: PreferenceHead, clap: LaionClap, mert: Mert | None) -> None:
        self.head, self.clap, self.mert = head, clap, mert

    @torch.inference_mode()
    def score(self, takes: Sequence[Take]) -> list[Score]:
        heard = {sound: self._embed(sound) for sound in dict.fromkeys(take.audio for take in takes)}
        return [Score(musicality=self._judge(heard[take.audio], take.prompt.text), alignment=0.0) for take in takes]

    def _embed(self, sound: Audio) -> Tensor:
        parts = [self.clap.embed_sound(sound)]
        return torch.cat([*parts, self.mert.embed_sound(sound)] if self.mert else parts)

    def _judge(self, heard: Tensor, text: str) -> float:
        features = torch.cat([heard, self.clap.embed_text(text)]) if self.mert else heard
        return float(self.head(features[None])[0])


def load(places: Sequence[str], device: str, reads: bool = True, clap_only: bool = False) -> NamedScorer:
    there = choose_device(device)
    found, head = sources.build(CLAP_HEAD if clap_only else HEAD, places, build_head)
    ear, model = sources.build(CLAP, places, build_clap, 1)
    names, expected = [found.name, ear.name], model.config.projection_dim
    tokenize = load_tokenizer(ear.folder, model.config.text_config.vocab_size, *TOKENIZER) if reads else None
    mert = None
    if not clap_only:
        other, network = sources.build(MERT, places, build_mert, 2)
        names.append(other.name)
        mert = Mert(network.to(there), _is_standardised(other), there)
        expected += network.config.hidden_size + model.config.projection_dim
    if head.width != expected:
        raise InputError(f"{found.weights}: the head expects {head.width} features, but these encoders give {expected}")
    scorer = TuneJuryScorer(head.to(there), LaionClap(model.to(there), tokenize, there), mert)
    return NamedScorer(", ".join(names), scorer)


def _is_standardised(found: sources.FoundCheckpoint) -> bool:
    """Tell whether the checkpoint's preprocessor standardises its input, which is the default of Wav2Vec 2."""
    path = found.folder / "preprocessor_config.json"
    return bool(read_table(path).get("do_normalize", True)) if path.is_file() else True


def _extractor() -> Any:
    """Return LAION's mel spectrograms; clips shorter than 10 s are repeated, then padded with silence."""
    return ClapFeatureExtractor(
        frequency_min=50, frequency_max=14_000, truncation="rand_trunc", padding="repeatpad", max_length_s=10
    )


def build_head(state: sources.State, _: object) -> PreferenceHead:
    shapes = sources.shapes_of(state)
    layers = sorted(int(key.split(".")[1]) for key, size in shapes.items() if len(size) == 2 and key.startswith("net."))
    if len(layers) < 2 or layers != [BLOCK * i for i in range(len(layers))]:
        raise InputError("not a head of TuneJury's: expected its layers as net.0, net.4, ...")
    widths = [shape(shapes, f"net.{i}.weight", 2)[1] for i in layers]
    head = PreferenceHead(widths)
    sources.fill(head, state)
    return head


def build_clap(state: sources.State, _: Mapping[str, Any]) -> ClapModel:
    """LAION's CLAP without fusion, from a checkpoint in its own layout."""
    state = hts_at.with_our_names(state, NAMES)
    shapes = sources.shapes_of(state)
    ear = "audio_model.audio_encoder"
    sound = hts_at.audio_config(shapes, ear, shape(shapes, f"{ear}.batch_norm.weight", 1)[0])
    vocabulary, width = shape(shapes, "text_model.embeddings.word_embeddings.weight", 2)
    text = ClapTextConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=depth(shapes, "text_model.encoder.layer"),
        num_attention_heads=max(1, width // 64),
        intermediate_size=shape(shapes, "text_model.encoder.layer.0.intermediate.dense.weight", 2)[0],
        max_position_embeddings=shape(shapes, "text_model.embeddings.position_embeddings.weight", 2)[0],
        type_vocab_size=shape(shapes, "text_model.embeddings.token_type_embeddings.weight", 2)[0],
    )
    dim = shape(shapes, "audio_projection.linear1.weight", 2)[0]
    sound.projection_dim = text.projection_dim = dim
    model = ClapModel(ClapConfig(text_config=text.to_dict(), audio_config=sound.to_dict(), projection_dim=dim))
    sources.fill(model, state, NEVER_READ)
    return model
