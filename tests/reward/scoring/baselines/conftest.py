"""Small random checkpoints in their publishers' layouts, and little recordings."""

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import ClapConfig, ClapFeatureExtractor, ClapModel, HubertConfig, HubertModel

from cmi.reward.model.encoders.muq_mulan import MuQ, MuQMuLanConfig, TowerConfig
from cmi.reward.scoring.baselines import muq_mulan

TOWER = TowerConfig(dim=32, depth=1, heads=4, dim_head=8, ff_hidden=85)
SIZES = MuQMuLanConfig(
    stem_channels=4, conformer_dim=32, conformer_depth=2, conformer_heads=4, conformer_ff=48, vocabulary=264,
    xlmr_dim=32, xlmr_depth=1, xlmr_heads=4, xlmr_ff=64, audio_tower=TowerConfig(32, 0, 4, 8, 85), text_tower=TOWER,
)  # fmt: skip
SIZES_DEEP = MuQMuLanConfig(stem_channels=4, conformer_dim=32, conformer_depth=7, conformer_heads=4, conformer_ff=48)
CLAMP3_WEIGHTS = (
    "weights_clamp3_saas_h_size_768_t_model_FacebookAI_xlm-roberta-base_t_length_128_a_size_768_a_layers_12_"
    "a_length_128_s_size_768_s_layers_12_p_size_64_p_length_512.pth"
)

Shapes = Mapping[str, tuple[int, ...]]


@pytest.fixture(autouse=True)
def pickles_are_allowed(monkeypatch):
    monkeypatch.setenv("CMI_READ_PICKLES", "1")


def random_state(shapes: Shapes, seed: int = 0) -> dict[str, torch.Tensor]:
    """The same numbers on any machine: gains about 1, variances positive."""
    generator = np.random.default_rng(seed)
    state = {}
    for key, shape in shapes.items():
        values = generator.standard_normal(shape).astype(np.float32)
        gain = "norm" in key or "bn0" in key or key.endswith(("grep_a", "weight_g"))
        if key.endswith("running_var"):
            values = np.abs(values) * 50 + 100
        elif key.endswith("weight") and gain:
            values = 1 + values * 0.1
        elif key.endswith(("grep_a", "weight_g")):
            values = np.abs(values) + 0.5
        elif len(shape) > 1:
            values *= 0.7 / np.sqrt(np.prod(shape[1:]))
        state[key] = torch.from_numpy(np.array(values, dtype=np.float32))
    return state


def save_tokenizer(folder: Path) -> None:
    """Bytes between <s> and </s>."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {letter: 4 + i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>"])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "eos_token": "</s>"}'
    )


# Audiobox Aesthetics: WavLM in Microsoft's layout.


def audiobox_shapes(dim: int = 32, layers: int = 2, heads: int = 4, channels: int = 16) -> Shapes:
    kernels = (10, 3, 3, 3, 3, 2, 2)
    wavlm: dict[str, tuple[int, ...]] = {"mask_emb": (dim,)}
    for i, kernel in enumerate(kernels):
        wavlm[f"feature_extractor.conv_layers.{i}.0.weight"] = (channels, channels if i else 1, kernel)
    norms = {"feature_extractor.conv_layers.0.2": channels, "layer_norm": channels, "encoder.layer_norm": dim}
    linears = {"post_extract_proj": (dim, channels)}
    for i in range(layers):
        layer = f"encoder.layers.{i}"
        norms |= {f"{layer}.self_attn_layer_norm": dim, f"{layer}.final_layer_norm": dim}
        linears |= {f"{layer}.self_attn.{part}_proj": (dim, dim) for part in ("k", "v", "q", "out")}
        linears |= {f"{layer}.self_attn.grep_linear": (8, dim // heads)}
        linears |= {f"{layer}.fc1": (2 * dim, dim), f"{layer}.fc2": (dim, 2 * dim)}
        wavlm[f"{layer}.self_attn.grep_a"] = (1, heads, 1, 1)
    wavlm["encoder.layers.0.self_attn.relative_attention_bias.weight"] = (320, heads)
    wavlm |= {"encoder.pos_conv.0.bias": (dim,), "encoder.pos_conv.0.weight_g": (1, 1, 128)}
    wavlm |= {"encoder.pos_conv.0.weight_v": (dim, dim // 16, 128)}
    shapes = {f"wavlm_model.{key}": shape for key, shape in wavlm.items()}
    for name, width in norms.items():
        shapes |= {f"wavlm_model.{name}.weight": (width,), f"wavlm_model.{name}.bias": (width,)}
    for name, (out, inside) in linears.items():
        shapes |= {f"wavlm_model.{name}.weight": (out, inside), f"wavlm_model.{name}.bias": (out,)}
    for axis in ("CE", "CU", "PC", "PQ"):  # linear, norm, GELU, dropout, linear
        shapes |= {f"proj_layer.{axis}.0.weight": (dim, dim), f"proj_layer.{axis}.0.bias": (dim,)}
        shapes |= {f"proj_layer.{axis}.1.weight": (dim,), f"proj_layer.{axis}.1.bias": (dim,)}
        shapes |= {f"proj_layer.{axis}.4.weight": (1, dim), f"proj_layer.{axis}.4.bias": (1,)}
        shapes[f"layer_weights.{axis}"] = (layers + 1,)
    return shapes


AUDIOBOX_CONFIG = {
    "proj_num_layer": 2, "proj_ln": True, "proj_act_fn": "gelu", "proj_dropout": 0.1, "nth_layer": 3,
    "use_weighted_layer_sum": True, "precision": "32", "normalize_embed": True, "output_dim": 1,
    "target_transform": {axis: {"mean": 5.0 + i, "std": 1.5} for i, axis in enumerate(("CE", "CU", "PC", "PQ"))},
}  # fmt: skip


def save_audiobox(folder: Path) -> None:
    save_file(random_state(audiobox_shapes()), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(AUDIOBOX_CONFIG))


# PAM: Microsoft's CLAP.


def pam_shapes(width: int = 8, dim: int = 32) -> Shapes:
    """HTS-AT with four stages of two blocks, GPT-2 with one layer of 64."""
    ear, shapes = "audio_encoder.base.htsat", {}
    for name in ("weight", "bias", "running_mean", "running_var"):
        shapes[f"{ear}.bn0.{name}"] = (64,)
    shapes |= {f"{ear}.logmel_extractor.melW": (513, 64), f"{ear}.patch_embed.proj.weight": (width, 1, 4, 4)}
    shapes |= {f"{ear}.patch_embed.proj.bias": (width,)}
    linears: dict[str, tuple[int, int]] = {}
    norms = {f"{ear}.patch_embed.norm": width, f"{ear}.norm": 8 * width}
    for stage in range(4):
        wide, heads = width * 2**stage, 2**stage
        for block in (0, 1):
            name = f"{ear}.layers.{stage}.blocks.{block}"
            shapes[f"{name}.attn.relative_position_bias_table"] = (225, heads)
            norms |= {f"{name}.norm1": wide, f"{name}.norm2": wide}
            linears |= {f"{name}.attn.qkv": (3 * wide, wide), f"{name}.attn.proj": (wide, wide)}
            linears |= {f"{name}.mlp.fc1": (4 * wide, wide), f"{name}.mlp.fc2": (wide, 4 * wide)}
        if stage < 3:
            shapes[f"{ear}.layers.{stage}.downsample.reduction.weight"] = (2 * wide, 4 * wide)
            norms[f"{ear}.layers.{stage}.downsample.norm"] = 4 * wide
    gpt = "caption_encoder.base"
    shapes |= {f"{gpt}.wte.weight": (264, 64), f"{gpt}.wpe.weight": (77, 64)}
    norms |= {f"{gpt}.ln_f": 64, f"{gpt}.h.0.ln_1": 64, f"{gpt}.h.0.ln_2": 64}
    for name, (inside, out) in {"attn.c_attn": (64, 192), "attn.c_proj": (64, 64), "mlp.c_fc": (64, 256)}.items():
        shapes |= {f"{gpt}.h.0.{name}.weight": (inside, out), f"{gpt}.h.0.{name}.bias": (out,)}
    shapes |= {f"{gpt}.h.0.mlp.c_proj.weight": (256, 64), f"{gpt}.h.0.mlp.c_proj.bias": (64,)}
    for name, inside in (("audio_encoder", 8 * width), ("caption_encoder", 64)):
        shapes[f"{name}.projection.linear1.weight"] = (dim, inside)
        shapes[f"{name}.projection.linear2.weight"] = (dim, dim)
        norms[f"{name}.projection.layer_norm"] = dim
    for name, (out, inside) in linears.items():
        shapes |= {f"{name}.weight": (out, inside), f"{name}.bias": (out,)}
    for name, wide in norms.items():
        shapes |= {f"{name}.weight": (wide,), f"{name}.bias": (wide,)}
    return shapes


def pam_state() -> dict[str, torch.Tensor]:
    state = random_state(pam_shapes())
    mel = "audio_encoder.base.htsat.logmel_extractor.melW"
    return {**state, mel: state[mel].abs(), "logit_scale": torch.tensor(4.6)}


def save_pam(folder: Path) -> None:
    unused = {
        "audio_encoder.base.htsat.spectrogram_extractor.stft.conv_real.weight": torch.zeros(513, 1, 1024),
        "audio_encoder.base.htsat.tscam_conv.weight": torch.zeros(5, 64, 2, 3),
        "audio_encoder.base.htsat.layers.0.blocks.1.attn_mask": torch.zeros(64, 64, 64),
        "caption_encoder.base.h.0.attn.bias": torch.zeros(1, 1, 77, 77),
    }
    torch.save({"model": pam_state() | unused}, folder / "CLAP_weights_2023.pth")
    save_tokenizer(folder)


# The others' layouts are those of modules that are tested elsewhere.


def save_muq_mulan(folder: Path) -> None:
    torch.manual_seed(0)
    state = muq_mulan.JointSpace(SIZES, 16).state_dict()
    names = {"towers.audio_module.": "mulan.audio.", "towers.text_module.": "mulan.text."}
    renamed = {}
    for key, tensor in state.items():
        new = next((key.replace(old, new) for old, new in names.items() if key.startswith(old)), f"mulan.{key}")
        renamed[new] = tensor.clone()
    torch.save(renamed | {"mulan.contrast.temperatures": torch.ones(1)}, folder / "pytorch_model.bin")
    save_tokenizer(folder)


def save_clap(folder: Path) -> None:
    torch.manual_seed(0)
    text = {"vocab_size": 264, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 48, "max_position_embeddings": 90}  # fmt: skip
    sound = {"patch_embeds_hidden_size": 8, "hidden_size": 64, "depths": [1, 1, 1, 1], "num_attention_heads": [1] * 4}
    config = ClapConfig(text_config=text, audio_config=sound, projection_dim=16)
    ClapModel(config).save_pretrained(folder)
    ClapFeatureExtractor(truncation="rand_trunc").save_pretrained(folder)
    save_tokenizer(folder)


def save_muq(folder: Path) -> None:
    torch.manual_seed(1)
    state = {f"model.{key}": tensor.clone() for key, tensor in MuQ(SIZES_DEEP).state_dict().items()}
    save_file(state | {"model.cls_token": torch.zeros(32)}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"stat": {"melspec_2048_mean": 6.768444971712967}}')


def save_songeval(folder: Path) -> None:
    linears = {"ffd.0": (64, 32), "ffd.2": (32, 64), "fc": (5, 64)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (out, inside) in linears.items():
        shapes |= {f"{name}.weight": (out, inside), f"{name}.bias": (out,)}
    for i in range(4):
        shapes |= {f"attn.{i}.in_proj_weight": (96, 32), f"attn.{i}.in_proj_bias": (96,)}
        shapes |= {f"attn.{i}.out_proj.weight": (32, 32), f"attn.{i}.out_proj.bias": (32,)}
    save_file(random_state(shapes), folder / "model.safetensors")


def save_mert(folder: Path) -> None:
    torch.manual_seed(2)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
             "conv_dim": [8] * 7, "num_conv_pos_embedding_groups": 4}  # fmt: skip
    state = HubertModel(HubertConfig(**sizes)).state_dict()
    old = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}
    for new, name in old.items():
        state[f"encoder.pos_conv_embed.conv.{name}"] = state.pop(f"encoder.pos_conv_embed.conv.{new}")
    torch.save(state, folder / "pytorch_model.bin")
    (folder / "config.json").write_text(json.dumps({**sizes, "model_type": "mert_model", "deepnorm": False}))


def save_clamp3(folder: Path) -> None:
    shapes: dict[str, tuple[int, ...]] = {"symbolic_proj.weight": (3, 3)}
    embeddings = {"text_model": {"word": 264, "position": 514, "token_type": 1},
                  "audio_model": {"word": 1, "position": 128, "token_type": 2}}  # fmt: skip
    for part, sizes in embeddings.items():
        shapes |= {f"{part}.embeddings.{name}_embeddings.weight": (size, 64) for name, size in sizes.items()}
        layer = f"{part}.encoder.layer.0"
        linears = {f"{layer}.attention.self.{name}": (64, 64) for name in ("query", "key", "value")}
        linears |= {f"{layer}.attention.output.dense": (64, 64), f"{layer}.intermediate.dense": (96, 64)}
        linears |= {f"{layer}.output.dense": (64, 96), f"{part}.pooler.dense": (64, 64)}
        linears[part.replace("model", "proj")] = (16, 64)
        norms = [f"{part}.embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name, shape in linears.items():
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        for name in norms:
            shapes |= {f"{name}.weight": (64,), f"{name}.bias": (64,)}
    torch.save({"model": random_state(shapes), "epoch": 3, "min_eval_loss": 0.5}, folder / CLAMP3_WEIGHTS)
    save_tokenizer(folder)


# TuneJury: heads on LAION's CLAP, in LAION's layout, and on MERT-v1-330M, which is a HuBERT that normalises first.

LAION_NAMES = {
    "audio_model.audio_encoder.": "module.audio_branch.",
    "text_model.": "module.text_branch.",
    "audio_projection.linear1.": "module.audio_projection.0.",
    "audio_projection.linear2.": "module.audio_projection.2.",
    "text_projection.linear1.": "module.text_projection.0.",
    "text_projection.linear2.": "module.text_projection.2.",
    ".batch_norm.": ".bn0.",
    ".layernorm_before.": ".norm1.",
    ".layernorm_after.": ".norm2.",
}


def laion_clap() -> ClapModel:
    torch.manual_seed(3)
    text = {"vocab_size": 264, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1,
            "intermediate_size": 48, "max_position_embeddings": 90}  # fmt: skip
    sound = {"patch_embeds_hidden_size": 8, "hidden_size": 64, "depths": [1, 1, 1, 1], "num_attention_heads": [1] * 4}
    model = ClapModel(ClapConfig(text_config=text, audio_config=sound, projection_dim=16)).eval()
    model.load_state_dict(random_state({k: tuple(v.shape) for k, v in model.state_dict().items() if v.dim()}), False)
    return model


def save_laion_clap(folder: Path) -> None:
    state = {}
    for key, tensor in laion_clap().state_dict().items():
        for ours, theirs in LAION_NAMES.items():
            key = key.replace(ours, theirs)
        if "audio_branch" in key:
            for ours, theirs in ((".attention.output.dense.", ".attn.proj."), (".intermediate.dense.", ".mlp.fc1."),
                                 (".output.dense.", ".mlp.fc2."), (".attention.self.rel", ".attn.rel")):  # fmt: skip
                key = key.replace(ours, theirs)
        state[key] = tensor
    for key in [key for key in state if key.endswith(("self.query.weight", "self.query.bias")) and "audio" in key]:
        parts = [state.pop(key.replace("query", part)) for part in ("query", "key", "value")]
        state[key.replace("attention.self.query", "attn.qkv")] = torch.cat(parts)
    unused = {
        "module.audio_branch.tscam_conv.weight": torch.zeros(2),
        "module.audio_transform.sequential.0.bias": torch.zeros(2),
    }
    torch.save(
        {"epoch": 15, "state_dict": state | unused, "best": np.float64(0.9)},
        folder / "music_audioset_epoch_15_esc_90.14.pt",
    )
    save_tokenizer(folder)


def save_large_mert(folder: Path) -> None:
    torch.manual_seed(4)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
             "conv_dim": [8] * 7, "num_conv_pos_embedding_groups": 4, "do_stable_layer_norm": True,
             "feat_extract_norm": "layer", "conv_bias": True}  # fmt: skip
    save_file(HubertModel(HubertConfig(**sizes)).state_dict(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({**sizes, "model_type": "mert_model", "attention_relax": 32.0}))
    (folder / "preprocessor_config.json").write_text('{"do_normalize": false}')


def tunejury_shapes(*widths: int) -> Shapes:
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (inside, outside) in enumerate(pairwise(widths)):
        shapes |= {f"net.{4 * i}.weight": (outside, inside), f"net.{4 * i}.bias": (outside,)}
        if outside > 1:
            shapes |= {
                f"net.{4 * i + 1}.{name}": (outside,) for name in ("weight", "bias", "running_mean", "running_var")
            }
    return shapes


def save_tunejury(folder: Path) -> None:
    torch.save(random_state(tunejury_shapes(16 + 64 + 16, 12, 8, 1)), folder / "tunejury.pt")


def save_tunejury_clap(folder: Path) -> None:
    (folder / "input_ablation").mkdir()
    torch.save(random_state(tunejury_shapes(16, 12, 8, 1)), folder / "input_ablation" / "A1_clap_audio_only.pt")


SAVERS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "tunejury": (save_tunejury, save_laion_clap, save_large_mert),
    "tunejury-no-prompt": (save_tunejury, save_laion_clap, save_large_mert),
    "tunejury-clap": (save_tunejury_clap, save_laion_clap),
    "muq-mulan": (save_muq_mulan,),
    "muq-mulan-all": (save_muq_mulan,),
    "clap": (save_clap,),
    "clap-music": (save_clap,),
    "clamp3": (save_clamp3, save_mert),
    **{f"audiobox-{axis}": (save_audiobox,) for axis in ("ce", "cu", "pc", "pq")},
    **{
        f"songeval{end}": (save_songeval, save_muq)
        for end in ("", "-coherence", "-memorability", "-clarity", "-naturalness")
    },
    "pam": (save_pam,),
}


@pytest.fixture(scope="session")
def savers() -> dict[str, tuple[Callable[[Path], None], ...]]:
    return SAVERS


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    """The folders of a baseline's small checkpoints, written once."""
    made: dict[Callable[[Path], None], Path] = {}

    def folders(name: str) -> list[Path]:
        for save in SAVERS[name]:
            if save not in made:
                made[save] = tmp_path_factory.mktemp(save.__name__)
                save(made[save])
        return [made[save] for save in SAVERS[name]]

    return folders


@pytest.fixture(scope="session")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A short tone and a longer one with noise, in stereo."""
    folder = tmp_path_factory.mktemp("sounds")
    found = {}
    for name, seconds, pitch, noise in (("short", 2.5, 220.0, 0.0), ("long", 12.0, 330.0, 0.1)):
        time = np.arange(int(seconds * 22_050)) / 22_050
        tone = np.sin(2 * np.pi * pitch * time) * (0.2 + 0.1 * np.sin(2 * np.pi * time))
        hiss = np.random.default_rng(0).standard_normal((len(time), 2)) * noise
        found[name] = folder / f"{name}.wav"
        soundfile.write(found[name], tone[:, None] + hiss, 22_050)
    return found


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Small tensors are slower on several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
