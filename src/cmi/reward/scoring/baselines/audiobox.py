"""Audiobox Aesthetics (Tjandra et al., 2025): four scores of a recording, from about 1 to 10.

    CE content enjoyment    CU content usefulness    PC production complexity    PQ production quality

    10 s, 16 kHz -> WavLM -> its 13 states, mixed for each number -> mean over time -> unit length -> a small network

Windows are 10 s, the last padded with masked zeros. A score is the mean over the windows, weighted by duration. WavLM
is that of transformers; the parameter names of the checkpoint, in Microsoft's layout, are mapped.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import WavLMConfig, WavLMModel

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi._util.weights import Shapes
from cmi.audio import windows
from cmi.reward.engine.batching import stack
from cmi.reward.model.checkpoint import depth, shape
from cmi.reward.model.head import mask_of
from cmi.reward.scoring.baselines import BOTH, BaselineVariant, sources
from cmi.reward.scoring.baselines.listening import AT_ONCE, MusicalityScorer, load_audio
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Audio

SOURCE = sources.PublishedCheckpoint(
    "facebook/audiobox-aesthetics", "9b1dd8e5df9af7216e836a98974fe3b82c56ded6", ("model.safetensors",)
)
SOURCES = (SOURCE,)
AXES = ("CE", "CU", "PC", "PQ")
# The paper gives these four numbers on both axes (its tables 2 and 21), and no other metric's.
VARIANTS = {f"audiobox-{axis.lower()}": BaselineVariant(BOTH, {"axis": axis}) for axis in AXES}
RATE = 16_000
WINDOW = 10 * RATE
STRIDES = (5, 2, 2, 2, 2, 2, 2)
FRAME = 320  # samples: the product of the strides
FARTHEST = 800  # frames; larger distances share one position embedding

_LAYER = r"wavlm\.encoder\.layers\.(\d+)\."
NAMES = {
    r"^wavlm_model\.": "wavlm.",
    r"^wavlm\.feature_extractor\.conv_layers\.(\d+)\.0\.": r"wavlm.feature_extractor.conv_layers.\1.conv.",
    r"^wavlm\.feature_extractor\.conv_layers\.0\.2\.": "wavlm.feature_extractor.conv_layers.0.layer_norm.",
    r"^wavlm\.layer_norm\.": "wavlm.feature_projection.layer_norm.",
    r"^wavlm\.post_extract_proj\.": "wavlm.feature_projection.projection.",
    r"^wavlm\.mask_emb$": "wavlm.masked_spec_embed",
    r"^wavlm\.encoder\.pos_conv\.0\.": "wavlm.encoder.pos_conv_embed.conv.",
    rf"^{_LAYER}self_attn\.grep_a$": r"wavlm.encoder.layers.\1.attention.gru_rel_pos_const",
    rf"^{_LAYER}self_attn\.grep_linear\.": r"wavlm.encoder.layers.\1.attention.gru_rel_pos_linear.",
    rf"^{_LAYER}self_attn\.relative_attention_bias\.": r"wavlm.encoder.layers.\1.attention.rel_attn_embed.",
    rf"^{_LAYER}self_attn\.": r"wavlm.encoder.layers.\1.attention.",
    rf"^{_LAYER}self_attn_layer_norm\.": r"wavlm.encoder.layers.\1.layer_norm.",
    rf"^{_LAYER}fc1\.": r"wavlm.encoder.layers.\1.feed_forward.intermediate_dense.",
    rf"^{_LAYER}fc2\.": r"wavlm.encoder.layers.\1.feed_forward.output_dense.",
}


class Scale(NamedTuple):
    """Mean and standard deviation by which the network's output is rescaled."""

    mean: float
    std: float


class Aesthetics(nn.Module):
    def __init__(self, wavlm: WavLMConfig, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.wavlm = WavLMModel(wavlm)
        dim, states = wavlm.hidden_size, wavlm.num_hidden_layers + 1
        self.proj_layer = nn.ModuleDict({axis: _network(dim, config) for axis in AXES})
        self.layer_weights = nn.ParameterDict({axis: torch.zeros(states) for axis in AXES})
        self.unit_length = bool(config.get("normalize_embed", True))

    def forward(self, windows: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Windows (B, n), of which the first `lengths` (B,) samples are sound: (B, 4)."""
        features = self.wavlm.feature_extractor(windows).transpose(1, 2)
        x = self.wavlm.feature_projection(features)[0]  # (B, T, dim)
        mask = mask_of(None if lengths is None else -(-lengths // FRAME), x.shape[1])
        states = self._states(x, mask)  # (L, B, T, dim)
        there = torch.ones(x.shape[:2], device=x.device) if mask is None else mask.float()
        pooled = (states * there[None, :, :, None]).sum(dim=2) / there.sum(dim=1)[None, :, None]  # (L, B, dim)
        return torch.cat([self._number(axis, pooled) for axis in AXES], dim=1)

    def _states(self, x: Tensor, mask: Tensor | None) -> Tensor:
        encoder = self.wavlm.encoder
        x = x if mask is None else x * mask[:, :, None]
        x = encoder.layer_norm(x + encoder.pos_conv_embed(x))
        states, bias = [x], None
        with warnings.catch_warnings(category=UserWarning, action="ignore"):  # on two kinds of masks, by torch
            for i, layer in enumerate(encoder.layers):
                x, bias = layer(x, attention_mask=mask, position_bias=bias, index=i)[:2]
                states.append(x)
        return torch.stack(states)

    def _number(self, axis: str, pooled: Tensor) -> Tensor:
        mixed = (pooled * self.layer_weights[axis].softmax(dim=0)[:, None, None]).sum(dim=0)
        mixed = functional.normalize(mixed, dim=-1) if self.unit_length else mixed
        return self.proj_layer[axis](mixed)  # (B, 1)


def _network(dim: int, config: Mapping[str, Any]) -> nn.Sequential:
    """Linear layers with GELU between them; the places of normalisations and dropouts keep the checkpoint's names."""
    layers: list[nn.Module] = []
    for _ in range(int(config.get("proj_num_layer", 1)) - 1):
        layers += [nn.Linear(dim, dim), *([nn.LayerNorm(dim)] if config.get("proj_ln") else []), nn.GELU()]
        layers += [nn.Identity()] if config.get("proj_dropout") else []
    return nn.Sequential(*layers, nn.Linear(dim, 1))


class Audiobox(NamedTuple):
    model: Aesthetics
    scales: Mapping[str, Scale]
    device: torch.device

    def judge(self, sound: Audio) -> dict[str, float]:
        """A recording's four numbers."""
        samples = load_audio(sound, RATE)
        parts = [samples[part] for part in windows(len(samples), WINDOW)]
        calls = [stack(parts[start : start + AT_ONCE], WINDOW, self.device) for start in range(0, len(parts), AT_ONCE)]
        numbers = torch.cat([self.model(*call) for call in calls]).cpu()  # (N, 4)
        seconds = torch.tensor([len(part) / WINDOW for part in parts])
        means = (numbers * seconds[:, None]).sum(dim=0) / seconds.sum()
        return {
            axis: float(mean) * self.scales[axis].std + self.scales[axis].mean
            for axis, mean in zip(AXES, means, strict=True)
        }


def load(places: Sequence[str], device: str, axis: str) -> NamedScorer:
    found, (model, scales) = sources.build(SOURCE, places, _model)
    there = choose_device(device)
    audiobox = Audiobox(model.to(there), scales, there)
    return NamedScorer(found.name, MusicalityScorer(lambda sound: audiobox.judge(sound)[axis], on_both=True))


def _model(state: sources.State, config: Mapping[str, Any]) -> tuple[Aesthetics, dict[str, Scale]]:
    state = sources.with_weight_norm(sources.renamed(state, NAMES))
    if not config.get("use_weighted_layer_sum", True) or int(config.get("output_dim", 1)) != 1:
        raise InputError("config.json states an unknown head, expected a weighted sum of layers and one output")
    model = Aesthetics(_wavlm_config(sources.shapes_of(state)), config)
    sources.fill(model, state, r"wavlm\.masked_spec_embed$")
    return model, _scales(config)


def _scales(config: Mapping[str, Any]) -> dict[str, Scale]:
    try:
        stated = config["target_transform"]
        return {axis: Scale(float(stated[axis]["mean"]), float(stated[axis]["std"])) for axis in AXES}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("config.json lacks 'target_transform' with the mean and std of CE, CU, PC and PQ") from error


def _wavlm_config(shapes: Shapes) -> WavLMConfig:
    """Derive the configuration from the shapes of the weights."""
    layer = "wavlm.encoder.layers.0"
    convolutions = [
        shape(shapes, f"wavlm.feature_extractor.conv_layers.{i}.conv.weight", 3) for i in range(len(STRIDES))
    ]
    dim, grouped, positions = shape(shapes, "wavlm.encoder.pos_conv_embed.conv.parametrizations.weight.original1", 3)
    buckets, heads = shape(shapes, f"{layer}.attention.rel_attn_embed.weight", 2)
    return WavLMConfig(
        hidden_size=dim,
        num_hidden_layers=depth(shapes, "wavlm.encoder.layers"),
        num_attention_heads=heads,
        intermediate_size=shape(shapes, f"{layer}.feed_forward.intermediate_dense.weight", 2)[0],
        conv_dim=[size[0] for size in convolutions],
        conv_kernel=[size[2] for size in convolutions],
        conv_stride=list(STRIDES),
        num_conv_pos_embeddings=positions,
        num_conv_pos_embedding_groups=dim // grouped,
        num_buckets=buckets,
        max_bucket_distance=FARTHEST,
        feat_extract_norm="group",
        do_stable_layer_norm=False,
    )
