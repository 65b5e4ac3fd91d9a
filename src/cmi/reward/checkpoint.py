"""Reading a CMI-RM checkpoint: what it is made of is told by its keys and shapes, and every key is accounted for.

A checkpoint is a folder with `model.safetensors` and, beside it or one folder up, `config.yaml`. The configuration is
asked only for what the weights can't tell: the mode, and the factors of downsamplers.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor

from cmi.errors import InputError
from cmi.reward.encoders.muq_mulan import MuQMuLanConfig, TowerConfig
from cmi.reward.model import DOWNSAMPLERS, Downsampling, HeadConfig

WEIGHTS, CONFIG = "model.safetensors", "config.yaml"
MUQ_MULAN, NANO = ("audio_module.", "text_module."), ("ear.", "music.", "heard.", "answered.", "tag_")
ENCODER_PREFIXES = MUQ_MULAN + NANO

# What the official scoring never reads: changing these does not move a score, so that they may be missing or differ.
HARMLESS = re.compile(
    r"null_(text|lyrics|audio)_embedding$|(alignment_head|quality_head|single_score_projector)\."
    r"|audio_module\.(aggregator\.|model\.model\.(linear\.|cls_token$|mask_emb|rvq\.|quantizer_|recon_proj\."
    r"|conformer\.(pos_conv_embed\.|embed_positions\.)))|text_module\.model\.(pooler\.|embeddings\.position_ids$)"
    r"|.*num_batches_tracked$"
)

Shapes = Mapping[str, tuple[int, ...]]


def read_config(folder: Path) -> dict[str, Any]:
    """The model's section of config.yaml; empty if there is none."""
    for path in (folder / CONFIG, folder.parent / CONFIG):
        if path.is_file():
            try:
                content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise InputError(f"{path}: not YAML ({str(error).splitlines()[0]})") from error
            if not isinstance(content, dict):
                raise InputError(f"{path}: expected a mapping")
            section = content.get("model", content)
            return section if isinstance(section, dict) else {}
    return {}


def head_config(shapes: Shapes, config: Mapping[str, Any]) -> HeadConfig:
    prompt = "prompt_transformer.layers"
    crosses = any(key.startswith("joint_transformer.0.cross_attn") for key in shapes)
    tower = tower_config(shapes, prompt)
    take, reference, text = _downsamplings(config.get("downsample") or {})
    mode = config.get("mode", "concat_text_late")
    return HeadConfig(
        dim=tower.dim,
        heads=tower.heads,
        dim_head=tower.dim_head,
        ff_hidden=tower.ff_hidden,
        prompt_depth=tower.depth,
        joint_depth=_depth(shapes, "joint_transformer" if crosses else "joint_transformer.layers"),
        attention="CA" if crosses else "SA",
        mode="text_only" if mode == "text_only" else "concat_text_late",
        mlp_dim=_shape(shapes, "score_projector.1.weight")[0],
        take=take,
        reference=reference,
        text=text,
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
    dim_head = _shape(shapes, f"{layers}.0.0.q_scale")[0]
    rows, dim = _shape(shapes, f"{layers}.0.0.to_q.weight")
    ff_hidden = _shape(shapes, f"{layers}.0.1.4.weight")[1]
    return TowerConfig(dim, _depth(shapes, layers), rows // dim_head, dim_head, ff_hidden)


def encoder_config(shapes: Shapes) -> MuQMuLanConfig:
    muq, conformer = "audio_module.model.model", "audio_module.model.model.conformer"
    xlmr = "text_module.model"
    text_tower = tower_config(shapes, "text_module.transformer.layers")
    dim = _shape(shapes, f"{conformer}.layer_norm.weight")[0]
    vocabulary, xlmr_dim = _shape(shapes, f"{xlmr}.embeddings.word_embeddings.weight")
    # Heads leave no trace in a shape: the conformer's show in its rotary table, XLM-R's are as wide as the tower's.
    rotary = shapes.get(f"{conformer}.embed_positions.inv_freq", (32,))[0]
    return MuQMuLanConfig(
        stem_channels=_shape(shapes, f"{muq}.conv.conv.0.conv1.weight")[0],
        conformer_dim=dim,
        conformer_depth=_depth(shapes, f"{conformer}.layers"),
        conformer_heads=dim // (2 * rotary),
        conformer_ff=_shape(shapes, f"{conformer}.layers.0.ffn1.intermediate_dense.weight")[0],
        conformer_kernel=_shape(shapes, f"{conformer}.layers.0.conv_module.depthwise_conv.weight")[2],
        vocabulary=vocabulary,
        xlmr_dim=xlmr_dim,
        xlmr_depth=_depth(shapes, f"{xlmr}.encoder.layer"),
        xlmr_heads=xlmr_dim // text_tower.dim_head,
        xlmr_ff=_shape(shapes, f"{xlmr}.encoder.layer.0.intermediate.dense.weight")[0],
        xlmr_positions=_shape(shapes, f"{xlmr}.embeddings.position_embeddings.weight")[0],
        audio_tower=tower_config(shapes, "audio_module.transformer.layers"),
        text_tower=text_tower,
    )


def _shape(shapes: Shapes, key: str) -> tuple[int, ...]:
    try:
        return shapes[key]
    except KeyError:
        raise InputError(f"the checkpoint lacks {key}: is it a CMI-RM checkpoint?") from None


def _depth(shapes: Shapes, prefix: str) -> int:
    pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.")
    numbers = {int(match[1]) for key in shapes if (match := pattern.match(key))}
    if numbers != set(range(len(numbers))) or not numbers:
        raise InputError(f"the checkpoint lacks a layer of {prefix}: it has {sorted(numbers)}")
    return len(numbers)


def _downsamplings(section: Mapping[str, Any]) -> tuple[Downsampling, Downsampling, Downsampling]:
    """Of the take, the reference (the take's unless it has its own) and the texts."""
    known = section.get("configs") or {}
    take = section.get("eval", "none")
    names = (take, section.get("ref") or take, section.get("text", "none"))
    for name in names:
        if known and name not in known:
            raise InputError(f"config.yaml: downsample names {name!r}, which is none of {', '.join(known)}")
    specs = [_downsampling(known.get(name) or {"kind": "none"}) for name in names]
    return specs[0], specs[1], specs[2]


def _downsampling(spec: Mapping[str, Any]) -> Downsampling:
    kind = str(spec.get("kind", "none")).lower()
    if kind != "none" and kind not in DOWNSAMPLERS:
        raise InputError(f"config.yaml: downsample kind {kind!r} is none of none, {', '.join(DOWNSAMPLERS)}")
    fields = {name: spec[name] for name in Downsampling.__dataclass_fields__ if name in spec}
    return Downsampling(**{**fields, "kind": kind})


def split_state(state: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The checkpoint's tensors by the module of ours that they belong to."""
    parts: dict[str, dict[str, Tensor]] = {"encoder": {}, "head": {}}
    for key, tensor in state.items():
        parts["encoder" if key.startswith(ENCODER_PREFIXES) else "head"][key] = tensor
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
