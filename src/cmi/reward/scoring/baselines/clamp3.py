"""CLaMP 3 (Wu et al., 2025): a joint embedding of audio, scores and text in any language; here, audio and text.

    the whole recording, 24 kHz, standardised -> MERT, a vector for every 5 s -> BERT -> mean -> projection
    text -> XLM-R -> mean -> projection

As published, a last window of less than 1 s is left out, and a zero vector is put before and after the windows'
vectors. Longer sequences than 128 vectors or tokens are divided into segments of 128, of which the last overlaps the
one before; their embeddings are averaged, weighted by the number of new elements. The score is the cosine. The lines of
a text are joined by a separator in their order (the publishers' script shuffles them).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel, HubertModel, XLMRobertaConfig, XLMRobertaModel

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi._util.weights import Shapes
from cmi.audio import windows
from cmi.reward.model.checkpoint import depth, shape
from cmi.reward.model.tokenizer import Tokenize, load_tokenizer
from cmi.reward.scoring.baselines import ALIGNMENT, BaselineVariant, sources
from cmi.reward.scoring.baselines.listening import AlignmentScorer, load_audio
from cmi.reward.scoring.baselines.mert import build_mert
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

SOURCE = sources.PublishedCheckpoint(
    "sander-wood/clamp3",
    "791815a04a3a2bd9ab64cf590ba8307930c179e6",
    (
        "model.safetensors",
        "weights_clamp3_saas_h_size_768_t_model_FacebookAI_xlm-roberta-base_t_length_128_a_size_768_a_layers_12_"
        "a_length_128_s_size_768_s_layers_12_p_size_64_p_length_512.pth",
    ),
)
MERT = sources.PublishedCheckpoint("m-a-p/MERT-v1-95M", "12af15fef9d0ac838c3f475bfbbf26d2060dd4f5")
SOURCES = (SOURCE, MERT)
VARIANTS = {"clamp3": BaselineVariant(ALIGNMENT)}
RATE = 24_000
WINDOW, SHORTEST = 5 * RATE, RATE
STRETCH = 128  # vectors or tokens
HEAD = 64  # numbers of an attention head
SEPARATOR = "</s>"
NEVER_READ = r"symbolic_(model|proj)\.|(text|audio)_model\.pooler\."


class Clamp3(nn.Module):
    """Module names are those of the published checkpoint."""

    def __init__(self, sound: BertConfig, text: XLMRobertaConfig, dim: int) -> None:
        super().__init__()
        self.audio_model = BertModel(sound, add_pooling_layer=False)
        self.audio_proj = nn.Linear(sound.hidden_size, dim)
        self.text_model = XLMRobertaModel(text, add_pooling_layer=False)
        self.text_proj = nn.Linear(text.hidden_size, dim)

    def embed_sound(self, vectors: Tensor) -> Tensor:
        """(T, D) -> (dim,)."""
        return self.audio_proj(self.audio_model(inputs_embeds=vectors[None]).last_hidden_state[0].mean(dim=0))

    def embed_text(self, ids: Tensor) -> Tensor:
        return self.text_proj(self.text_model(input_ids=ids[None]).last_hidden_state[0].mean(dim=0))


def in_stretches(embed: Callable[[Tensor], Tensor], sequence: Tensor) -> Tensor:
    """Return the normalised mean of the embeddings of segments, weighted by the number of new elements in each."""
    parts = [sequence[part] for part in windows(len(sequence), STRETCH)]
    weights = [len(part) for part in parts]
    parts[-1] = sequence[-STRETCH:]
    total = torch.stack([weight * embed(part) for weight, part in zip(weights, parts, strict=True)]).sum(dim=0)
    return functional.normalize(total, dim=-1)


class Clamp3Similarity(NamedTuple):
    model: Clamp3
    mert: HubertModel
    tokenize: Tokenize
    device: torch.device

    def embed_sound(self, sound: Audio) -> Tensor:
        samples = load_audio(sound, RATE)
        standard = (samples - samples.mean()) / (samples.var(correction=0) + 1e-7).sqrt()
        parts = [standard[part] for part in windows(len(standard), WINDOW)]
        heard = [part for part in parts if len(part) >= SHORTEST]
        if not heard:
            raise InputError(f"{sound}: {len(samples) / RATE:.2f} s, CLaMP 3 needs 1 s or more")
        vectors = torch.cat([self._mert_mean(part[None].to(self.device)) for part in heard])  # (T, D)
        edge = torch.zeros_like(vectors[:1])
        return in_stretches(self.model.embed_sound, torch.cat([edge, vectors, edge])).cpu()

    def _mert_mean(self, clip: Tensor) -> Tensor:
        """Return the mean over time and over all layers of MERT for a clip: (1, n) -> (1, D)."""
        states = self.mert(clip, output_hidden_states=True).hidden_states
        return torch.stack([state.mean(dim=1) for state in states]).mean(dim=0)

    def embed_text(self, text: str) -> Tensor:
        return in_stretches(self.model.embed_text, torch.tensor(self._ids(text), device=self.device)).cpu()

    def _ids(self, text: str) -> list[int]:
        """Tokenize the distinct non-empty lines of a text, with a separator between them."""
        return self.tokenize(SEPARATOR.join(line for line in dict.fromkeys(text.split("\n")) if line))


def load(places: Sequence[str], device: str) -> NamedScorer:
    (found, model), (ear, mert) = sources.build(SOURCE, places, _model), sources.build(MERT, places, build_mert, 1)
    tokenize, there = load_tokenizer(found.folder, model.text_model.config.vocab_size), choose_device(device)
    similarity = Clamp3Similarity(model.to(there), mert.to(there), tokenize, there)
    return NamedScorer(f"{found.name}, {ear.name}", AlignmentScorer(similarity.embed_sound, similarity.embed_text))


def _model(state: sources.State, _: object) -> Clamp3:
    shapes = sources.shapes_of(state)
    sizes = _sizes(shapes, "audio_model"), _sizes(shapes, "text_model")
    vocabulary = shape(shapes, "text_model.embeddings.word_embeddings.weight", 2)[0]
    text = XLMRobertaConfig(vocab_size=vocabulary, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, **sizes[1])
    model = Clamp3(BertConfig(vocab_size=1, **sizes[0]), text, shape(shapes, "audio_proj.weight", 2)[0])
    sources.fill(model, state, NEVER_READ)
    return model


def _sizes(shapes: Shapes, part: str) -> dict[str, int]:
    positions, dim = shape(shapes, f"{part}.embeddings.position_embeddings.weight", 2)
    return {
        "hidden_size": dim,
        "num_hidden_layers": depth(shapes, f"{part}.encoder.layer"),
        "num_attention_heads": dim // HEAD,
        "intermediate_size": shape(shapes, f"{part}.encoder.layer.0.intermediate.dense.weight", 2)[0],
        "max_position_embeddings": positions,
    }
