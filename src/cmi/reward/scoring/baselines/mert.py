"""MERT (Li et al., 2023) from its published checkpoint: a HuBERT of music, on transformers' module."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import HubertConfig, HubertModel

from cmi._util.errors import InputError
from cmi.reward.scoring.baselines.sources import PublishedCheckpoint, State, fill, with_weight_norm

SOURCE = PublishedCheckpoint(
    "m-a-p/MERT-v1-95M", "12af15fef9d0ac838c3f475bfbbf26d2060dd4f5", ("model.safetensors", "pytorch_model.bin")
)
RATE = 24_000
STATED = (
    "hidden_size num_hidden_layers num_attention_heads intermediate_size conv_dim conv_kernel conv_stride conv_bias "
    "num_conv_pos_embeddings num_conv_pos_embedding_groups feat_extract_norm feat_proj_layer_norm layer_norm_eps"
).split()


def load_mert(state: State, config: Mapping[str, Any]) -> HubertModel:
    """InputError for one with a constant-Q transform or a normalisation of its own, which HuBERT does not have."""
    for field in ("feature_extractor_cqt", "deepnorm", "do_stable_layer_norm"):
        if config.get(field):
            raise InputError(f"config.json states {field}, which is not supported: MERT-v1-95M is expected")
    model = HubertModel(HubertConfig(**{field: config[field] for field in STATED if field in config}))
    fill(model, with_weight_norm(state), r"masked_spec_embed$")
    return model


def mean_state(model: HubertModel, clip: Tensor) -> Tensor:
    """The mean over time and over all layers' states of a clip at 24 kHz: (1, n) -> (1, dim)."""
    states = model(clip, output_hidden_states=True).hidden_states
    return torch.stack([state.mean(dim=1) for state in states]).mean(dim=0)
