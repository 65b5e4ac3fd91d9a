import pytest
import torch
from safetensors.torch import load_file, save_file

from cmi._util.errors import InputError
from cmi.reward.model.checkpoint import read_config
from cmi.reward.model.head import PromptTokens
from cmi.reward.model.reward_model import RewardModel


@pytest.fixture
def folder(tiny, tmp_path):
    tiny.save_pretrained(tmp_path)
    return tmp_path


@torch.inference_mode()
def test_what_is_saved_loads_and_scores_the_same(tiny, folder):
    loaded = RewardModel.from_pretrained(folder)
    samples, ids = torch.randn(1, 24_000), torch.tensor([[0, 5, 9, 2]])
    scores = []
    for model in (tiny, loaded):
        text, lyrics = model.encoder.encode_text(ids), model.encoder.encode_text(ids[:, [0, 3]])
        scores.append(model(PromptTokens(text, lyrics), model.encoder.encode_sound(samples)))
    assert torch.equal(*scores)
    assert loaded.encoder.config == tiny.encoder.config
    assert loaded.head.config == tiny.head.config


IMPORTANT = [
    "score_projector.3.weight",
    "prompt_transformer.layers.1.0.to_q.weight",
    "audio_module.model.model.conv.linear.bias",
    "audio_module.model.model.conformer.layers.1.self_attn.linear_v.weight",
    "text_module.model.encoder.layer.1.output.dense.weight",
]


def change(folder, edit):
    state = load_file(folder / "model.safetensors")
    edit(state)
    save_file(state, folder / "model.safetensors")


@pytest.mark.parametrize("key", IMPORTANT)
def test_a_missing_key_is_refused_by_name(folder, key):
    change(folder, lambda state: state.pop(key))
    with pytest.raises(InputError, match=f"{key} is missing"):
        RewardModel.from_pretrained(folder)


@pytest.mark.parametrize("key", IMPORTANT)
def test_a_renamed_key_is_refused_by_both_names(folder, key):
    change(folder, lambda state: state.update({f"{key}_renamed": state.pop(key)}))
    with pytest.raises(InputError) as caught:
        RewardModel.from_pretrained(folder)
    assert f"{key} is missing" in str(caught.value)
    assert f"{key}_renamed is not known" in str(caught.value)


def test_a_wrong_shape_is_refused_with_both_shapes(folder):
    change(folder, lambda state: state.update({"score_projector.3.weight": torch.zeros(3, 16)}))
    with pytest.raises(InputError, match=r"score_projector\.3\.weight is 3 x 16, expected 2 x 16"):
        RewardModel.from_pretrained(folder)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    save_file({"weight": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="is it another model's"):
        RewardModel.from_pretrained(tmp_path)


@torch.inference_mode()
def test_what_the_score_never_reads_may_be_there_or_not(tiny, folder):
    extra = {
        "null_text_embedding": torch.zeros(1, 10, 32),
        "alignment_head.0.weight": torch.zeros(32),
        "audio_module.aggregator.weight": torch.zeros(1, 25, 1),
        "audio_module.model.model.rvq.quantizers.0.codebook.weight": torch.zeros(4, 4),
        "audio_module.model.model.conformer.pos_conv_embed.conv.weight_g": torch.zeros(1, 1, 128),
        "text_module.model.pooler.dense.weight": torch.zeros(32, 32),
    }
    change(folder, lambda state: state.update(extra))
    RewardModel.from_pretrained(folder)
    counters = [key for key in tiny.checkpoint_state() if key.endswith("num_batches_tracked")]
    assert counters
    change(folder, lambda state: [state.pop(key) for key in counters])
    loaded = RewardModel.from_pretrained(folder)
    assert loaded.head.config == tiny.head.config
    assert not any(tensor.is_meta for tensor in (*loaded.parameters(), *loaded.buffers()))


@torch.inference_mode()
def test_a_half_precision_checkpoint_is_heard_in_full_precision(folder):
    change(folder, lambda state: state.update({k: v.bfloat16() for k, v in state.items() if v.is_floating_point()}))
    loaded = RewardModel.from_pretrained(folder)
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
    assert loaded.hear(torch.randn(24_000)).isfinite().all()


def test_files_that_are_no_checkpoint_are_bad_input(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        RewardModel.from_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(InputError, match="not a safetensors file"):
        RewardModel.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: [", "not YAML"),
        ("- 1", "expected a table of named fields"),
    ],
)
def test_a_broken_configuration_is_bad_input(folder, text, message):
    (folder / "config.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        RewardModel.from_pretrained(folder)


@pytest.mark.parametrize("layout", ["model:\n  downsample: {}\n", "downsample: {}\n"])
def test_the_configuration_may_be_flat_nested_or_one_folder_up(tmp_path, layout):
    inner = tmp_path / "inner"
    inner.mkdir()
    spec = "{configs: {none: {kind: none}, a: {kind: mean, factor: 4}}, eval: a, text: none}"
    (tmp_path / "config.yaml").write_text(layout.format(spec))
    assert read_config(inner).downsample.eval == "a"


@pytest.mark.parametrize(
    "downsample", ["{configs: {a: {kind: mean, factor: 4}}, eval: b}", "{configs: {none: {kind: magic}}, eval: none}"]
)
def test_a_downsampler_that_is_not_there_is_named(folder, downsample):
    (folder / "config.yaml").write_text(f"downsample: {downsample}")
    with pytest.raises(InputError, match=r"config\.yaml: 'downsample"):
        RewardModel.from_pretrained(folder)
