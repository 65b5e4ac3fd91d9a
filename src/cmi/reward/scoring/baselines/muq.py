"""MuQ from its published checkpoint (OpenMuQ/MuQ-large-msd-iter), on our own modules."""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from cmi._util.errors import InputError
from cmi.reward.model.checkpoint import check_keys
from cmi.reward.model.encoders.muq_mulan import MEL_MEAN, MEL_STD, LogMel, MuQ, MuQMuLanConfig, RotaryPositions
from cmi.reward.scoring.baselines.sources import PublishedCheckpoint, State, depth, shape, shapes_of

SOURCE = PublishedCheckpoint(
    "OpenMuQ/MuQ-large-msd-iter",
    "0562a57814f6f8bbd9fdea0a25921a2fce1a841a",
    ("model.safetensors", "pytorch_model.bin"),
)
OWN = "audio_module.model.model."  # MuQ's place in our towers, whose keys that are never read are known


def load_muq(state: State, config: Mapping[str, Any]) -> MuQ:
    """From a checkpoint whose keys begin with `model.`; its configuration must state the spectrogram's statistics
    that our modules have, if any."""
    stated = config.get("stat") or {}
    for key, ours in (("melspec_2048_mean", MEL_MEAN), ("melspec_2048_std", MEL_STD)):
        if abs(float(stated.get(key, ours)) - ours) > 1e-6:
            raise InputError(f"config.json states {key} {stated[key]}, and only {ours} is known")
    found = {re.sub(r"^model\.", OWN, key): tensor for key, tensor in state.items()}
    built = muq_config(state)
    with torch.device("meta"):
        muq = MuQ(built)
    check_keys({OWN + key: size for key, size in shapes_of(muq.state_dict()).items()}, shapes_of(found))
    muq.load_state_dict({key.removeprefix(OWN): tensor.float() for key, tensor in found.items()}, False, True)
    muq.mel = LogMel()
    muq.conformer.embed_positions = RotaryPositions(built.conformer_dim // built.conformer_heads)
    return muq.requires_grad_(False).eval()


def muq_config(state: State) -> MuQMuLanConfig:
    """MuQ's sizes, told by its shapes; those of other parts are not."""
    shapes, conformer = shapes_of(state), "model.conformer"
    dim = shape(shapes, f"{conformer}.layer_norm.weight")[0]
    rotary = shapes.get(f"{conformer}.embed_positions.inv_freq", (32,))[0]  # heads are 64 wide where it is not kept
    return MuQMuLanConfig(
        stem_channels=shape(shapes, "model.conv.conv.0.conv1.weight")[0],
        conformer_dim=dim,
        conformer_depth=depth(shapes, f"{conformer}.layers"),
        conformer_heads=dim // (2 * rotary),
        conformer_ff=shape(shapes, f"{conformer}.layers.0.ffn1.intermediate_dense.weight")[0],
        conformer_kernel=shape(shapes, f"{conformer}.layers.0.conv_module.depthwise_conv.weight")[2],
    )


def hidden_state(muq: MuQ, samples: Tensor, layers: int) -> Tensor:
    """What the first `layers` of the conformer make of clips at 24 kHz: (B, n) -> (B, T, dim), 25 a second."""
    x = muq.conv(muq.mel(samples))
    turns = muq.conformer.embed_positions(x)
    for layer in muq.conformer.layers[:layers]:
        x = layer(x, turns, None)
    return x
