"""Reading a CMI-RM checkpoint: what it is made of is told by its keys and shapes, and every key is accounted for.

A checkpoint is a folder with `model.safetensors` and, beside it or one folder up, `config.yaml`. The configuration is
asked only for what the weights can't tell: the mode, and the factors of downsamplers.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from cmi._util.config import check_config, read_table
from cmi._util.errors import InputError
from cmi._util.weights import Shapes
from cmi.reward.model.encoders import DEFAULT_ENCODER
from cmi.reward.model.encoders.muq_mulan import TEXT_TOKENS, MuQMuLanConfig, TowerConfig
from cmi.reward.model.head import Downsampling, HeadConfig

WEIGHTS, CONFIG = "model.safetensors", "config.yaml"
MUQ = "audio_module.model.model"
HEAD = re.compile(
    r"(prompt_transformer|joint_transformer|score_projector|(eval|ref|text|lyrics)_downsampler)\.|null_|bank_"
)

# What the official scoring never reads: changing these does not move a score, so that they may be missing or differ.
HARMLESS = re.compile(
    r"null_(text|lyrics|audio)_embedding$|(alignment_head|quality_head|single_score_projector)\."
    r"|audio_module\.(aggregator\.|model\.model\.(linear\.|cls_token$|mask_emb|rvq\.|quantizer_|recon_proj\."
    r"|conformer\.(pos_conv_embed\.|embed_positions\.)))|text_module\.model\.(pooler\.|embeddings\.position_ids$)"
    r"|.*num_batches_tracked$"
)

MOST_LAYERS = 200  # of one transformer


@dataclass(frozen=True)
class Downsamplings:
    """What the configuration has under `downsample`: each by its name, and which the take, reference and texts have."""

    configs: dict[str, Downsampling | None] | None = None
    eval: str = "none"
    ref: str | None = None
    text: str = "none"

    def __post_init__(self) -> None:
        for name in (self.eval, self.ref or self.eval, self.text):
            if self.configs and name not in self.configs:
                raise ValueError(f"names {name[:60]!r}, expected one of {', '.join(self.configs)[:60]!r}")

    def named(self, name: str) -> Downsampling:
        return (self.configs or {}).get(name) or Downsampling()


@dataclass(frozen=True)
class CheckpointConfig:
    """What config.yaml states and the weights can't tell."""

    encoder: Any = DEFAULT_ENCODER
    mode: Literal["concat_text_late", "concat_text_early", "text_only"] = "concat_text_late"
    downsample: Downsamplings | None = None


def read_config(folder: Path) -> CheckpointConfig:
    """The model's section of config.yaml, of which the rest is not looked at."""
    for path in (folder / CONFIG, folder.parent / CONFIG):
        if path.is_file():
            content = read_table(path)
            return check_config(content.get("model", content) or {}, CheckpointConfig, str(path), extra="ignore")
    return CheckpointConfig()


def head_config(shapes: Shapes, config: CheckpointConfig = CheckpointConfig()) -> HeadConfig:  # noqa: B008
    crosses = any(key.startswith("joint_transformer.0.cross_attn") for key in shapes)
    tower = tower_config(shapes, "prompt_transformer.layers")
    downsample = config.downsample or Downsamplings()
    return HeadConfig(
        dim=tower.dim,
        heads=tower.heads,
        dim_head=tower.dim_head,
        ff_hidden=tower.ff_hidden,
        prompt_depth=tower.depth,
        joint_depth=depth(shapes, "joint_transformer" if crosses else "joint_transformer.layers"),
        attention="CA" if crosses else "SA",
        mode="text_only" if config.mode == "text_only" else "concat_text_late",
        mlp_dim=shape(shapes, "score_projector.1.weight", 2)[0],
        take=downsample.named(downsample.eval),
        reference=downsample.named(downsample.ref or downsample.eval),  # the take's unless it has its own
        text=downsample.named(downsample.text),
    )


def config_of(head: HeadConfig) -> dict[str, Any]:
    """What `head_config` reads, under the authors' names."""
    kinds = {"take": head.take, "reference": head.reference, "text": head.text}
    return {
        "name": "reward",
        "dim": head.dim,
        "mode": head.mode,
        "attention_mode": head.attention,
        "mlp_dim": head.mlp_dim,
        "output_dim": 2,
        "heads": head.heads,
        "dim_head": head.dim_head,
        "prompt_tf_depth": head.prompt_depth,
        "joint_tf_depth": head.joint_depth,
        "downsample": {
            "configs": {name: asdict(spec) for name, spec in kinds.items()},
            "eval": "take",
            "ref": "reference",
            "text": "text",
        },
    }


def tower_config(shapes: Shapes, layers: str) -> TowerConfig:
    dim_head = shape(shapes, f"{layers}.0.0.q_scale", 1)[0]
    rows, dim = shape(shapes, f"{layers}.0.0.to_q.weight", 2)
    ff_hidden = shape(shapes, f"{layers}.0.1.4.weight", 2)[1]
    return TowerConfig(dim, depth(shapes, layers), _heads(rows, dim_head, layers), dim_head, ff_hidden)


def muq_config(shapes: Shapes) -> MuQMuLanConfig:
    """The sizes of MuQ, the audio tower's model; those of other parts are not read."""
    conformer = f"{MUQ}.conformer"
    dim = shape(shapes, f"{conformer}.layer_norm.weight", 1)[0]
    kernel = shape(shapes, f"{conformer}.layers.0.conv_module.depthwise_conv.weight", 3)[2]
    if kernel % 2 == 0:
        raise InputError(f"{conformer} has kernels of {kernel} frames, expected an odd number")
    # Heads leave no trace in a shape: the conformer's show in its rotary table.
    table = f"{conformer}.embed_positions.inv_freq"
    rotary = shape(shapes, table, 1)[0] if table in shapes else 32
    return MuQMuLanConfig(
        stem_channels=shape(shapes, f"{MUQ}.conv.conv.0.conv1.weight", 4)[0],
        conformer_dim=dim,
        conformer_depth=depth(shapes, f"{conformer}.layers"),
        conformer_heads=_heads(dim, 2 * rotary, conformer),
        conformer_ff=shape(shapes, f"{conformer}.layers.0.ffn1.intermediate_dense.weight", 2)[0],
        conformer_kernel=kernel,
    )


def encoder_config(shapes: Shapes) -> MuQMuLanConfig:
    xlmr = "text_module.model"
    text_tower = tower_config(shapes, "text_module.transformer.layers")
    audio_layers = "audio_module.transformer.layers"
    if any(key.startswith(audio_layers) for key in shapes):
        audio_tower = tower_config(shapes, audio_layers)
    else:  # as MuQ-MuLan was published: nothing but a projection is on top of MuQ
        audio_tower = replace(text_tower, depth=0, dim=shape(shapes, "audio_module.proj.weight", 2)[0])
    vocabulary, xlmr_dim = shape(shapes, f"{xlmr}.embeddings.word_embeddings.weight", 2)
    positions = shape(shapes, f"{xlmr}.embeddings.position_embeddings.weight", 2)[0]
    if positions < TEXT_TOKENS + 2:
        raise InputError(f"{xlmr} has {positions} positions, expected {TEXT_TOKENS + 2} for {TEXT_TOKENS} tokens")
    if text_tower.dim != xlmr_dim:
        raise InputError(f"{xlmr} is {xlmr_dim} wide, the transformer on it {text_tower.dim}")
    return replace(
        muq_config(shapes),
        vocabulary=vocabulary,
        xlmr_dim=xlmr_dim,
        xlmr_depth=depth(shapes, f"{xlmr}.encoder.layer"),
        xlmr_heads=_heads(xlmr_dim, text_tower.dim_head, xlmr),  # as wide as the tower's
        xlmr_ff=shape(shapes, f"{xlmr}.encoder.layer.0.intermediate.dense.weight", 2)[0],
        xlmr_positions=positions,
        audio_tower=audio_tower,
        text_tower=text_tower,
    )


def shape(shapes: Shapes, key: str, dimensions: int) -> tuple[int, ...]:
    if key not in shapes:
        raise InputError(f"the checkpoint lacks {key}: is it another model's?")
    if len(shapes[key]) != dimensions:
        raise InputError(f"{key} is {_times(shapes[key])}, expected {dimensions} dimensions")
    return shapes[key]


def _heads(width: int, dim_head: int, name: str) -> int:
    if width % dim_head:
        raise InputError(f"{name} is {width} wide, which is no multiple of its heads' {dim_head}")
    return width // dim_head


def depth(shapes: Shapes, prefix: str) -> int:
    """How many layers are numbered after `prefix`."""
    pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.")
    numbers = {int(match[1]) for key in shapes if (match := pattern.match(key)) and len(match[1]) < 9}
    if len(numbers) > MOST_LAYERS:
        raise InputError(f"{prefix} has {len(numbers)} layers, expected at most {MOST_LAYERS}")
    if numbers != set(range(len(numbers))) or not numbers:
        raise InputError(f"the checkpoint lacks a layer of {prefix}: it has {sorted(numbers)}")
    return len(numbers)


def split_state(state: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The checkpoint's tensors by the module of ours that they belong to."""
    parts: dict[str, dict[str, Tensor]] = {"encoder": {}, "head": {}}
    for key, tensor in state.items():
        parts["head" if HEAD.match(key) else "encoder"][key] = tensor
    return parts


def check_keys(expected: Shapes, found: Shapes) -> None:
    """Every key that matters is there, with its shape, and no other: else one sentence that names them."""
    problems = [
        *(f"{key} is missing" for key in expected if key not in found and not HARMLESS.match(key)),
        *(f"{key} is not known" for key in found if key not in expected and not HARMLESS.match(key)),
        *(
            f"{key} is {_times(found[key])}, expected {_times(expected[key])}"
            for key in expected
            if key in found and found[key] != expected[key]
        ),
    ]
    if problems:
        more = f" (and {len(problems) - 10} more)" if len(problems) > 10 else ""
        raise InputError("the checkpoint does not fit: " + "; ".join(problems[:10]) + more)


def _times(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape)) or "a single number"
