"""Load HTS-AT (Chen et al., 2022) from checkpoints in its publishers' layout into transformers' module."""

from transformers import ClapAudioConfig

from cmi._util.weights import Shapes
from cmi.reward.model.checkpoint import depth, shape
from cmi.reward.scoring.baselines import sources

SPECTROGRAM = 256  # rows and columns that a spectrogram is folded into
ATTENTION = 8  # rows and columns that attend to each other
NAMES = {
    r"\.bn0\.": ".batch_norm.",
    r"\.norm1\.": ".layernorm_before.",
    r"\.norm2\.": ".layernorm_after.",
    r"\.attn\.relative_position_bias_table$": ".attention.self.relative_position_bias_table",
    r"\.blocks\.(\d+)\.attn\.proj\.": r".blocks.\1.attention.output.dense.",
    r"\.blocks\.(\d+)\.mlp\.fc1\.": r".blocks.\1.intermediate.dense.",
    r"\.blocks\.(\d+)\.mlp\.fc2\.": r".blocks.\1.output.dense.",
}
NEVER_READ = (
    r".*\.audio_encoder\.(spectrogram_extractor|logmel_extractor|tscam_conv|head)\."
    r"|.*\.(relative_position_index|attn_mask)$"
)


def with_our_names(state: sources.State, names: dict[str, str]) -> sources.State:
    """Rename keys by `names` and NAMES, and split the checkpoint's joint tensors of queries, keys and values."""
    found = {}
    for key, tensor in sources.renamed(state, names | NAMES).items():
        if ".attn.qkv." in key:
            for name, part in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                found[key.replace(".attn.qkv.", f".attention.self.{name}.")] = part
        else:
            found[key] = tensor
    return found


def audio_config(shapes: Shapes, ear: str, mel_bins: int) -> ClapAudioConfig:
    """The sizes of the network whose keys begin with `ear`."""
    stages = depth(shapes, f"{ear}.layers")
    tables = [
        shape(shapes, f"{ear}.layers.{i}.blocks.0.attention.self.relative_position_bias_table", 2)
        for i in range(stages)
    ]
    width, _, patch, _ = shape(shapes, f"{ear}.patch_embed.proj.weight", 4)
    return ClapAudioConfig(
        spec_size=SPECTROGRAM,
        window_size=ATTENTION,
        num_mel_bins=mel_bins,
        patch_size=patch,
        patch_stride=[patch, patch],
        patch_embeds_hidden_size=width,
        hidden_size=shape(shapes, f"{ear}.norm.weight", 1)[0],
        depths=[depth(shapes, f"{ear}.layers.{i}.blocks") for i in range(stages)],
        num_attention_heads=[table[1] for table in tables],
        enable_fusion=False,
    )
