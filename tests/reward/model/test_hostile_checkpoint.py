"""Checkpoint folders made by mistake or malice: one sentence for each, within moments, before anything is allocated."""

import json
import struct

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from cmi._util.errors import InputError
from cmi._util.weights import read_shapes
from cmi.audio import Waveform
from cmi.reward.model.checkpoint import encoder_config, head_config, read_config
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.model.tokenizer import load_tokenizer
from cmi.take import Prompt, Take

DOWNSAMPLE = {
    "configs": {
        "none": {"kind": "none"},
        "mean": {"kind": "mean", "factor": 4},
        "mlp": {"kind": "b1", "factor": 2, "mlp_ratio": 2.0, "pre_mlp": False},
        "conv": {"kind": "conv*2", "factor": 4, "kernel_size": 5, "use_layernorm": True, "stage": 1},
    },
    "eval": "none",
    "ref": "mean",
    "text": "none",
}
CONFIG = {"model": {"name": "reward", "dim": 32, "mode": "concat_text_late", "downsample": DOWNSAMPLE}}


@pytest.fixture(scope="module")
def saved(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    tiny.save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    (tmp_path / "model.safetensors").write_bytes((saved / "model.safetensors").read_bytes())
    return tmp_path


def places(value, at=()):
    """The path to each value in nested mappings."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*at, key))


def changed(value, at, new):
    if not at:
        return new
    return {**value, at[0]: changed(value[at[0]], at[1:], new)}


odd = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.sampled_from(["mean", "conv*2", "b1", "none"])
    | st.integers(-5, 5) | st.sampled_from([10**9, 10**18, -(10**18), 10**40, 2**63, 1e308, 4097, 10_000_019]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_configuration_with_any_value_in_any_place_is_refused_or_read(tmp_path_factory, saved, data):
    config = CONFIG
    for _ in range(data.draw(st.integers(1, 3))):
        config = changed(config, data.draw(st.sampled_from(list(places(config)))), data.draw(odd))
    folder = tmp_path_factory.mktemp("config")
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    try:
        assert head_config(read_shapes(saved / "model.safetensors"), read_config(folder)).dim == 32
    except InputError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: 3", "3, expected a table of named fields"),
        ("model: [a, b]", "a list of 2, expected a table of named fields"),
        ("mode: sideways", "'mode' is 'sideways', expected one of concat_text_late, "),
        ("mode: [text_only]", "'mode' is a list of 1, expected"),
        ("downsample: yes", "'downsample' is True, expected a table"),
        ("downsample: {configs: 3}", "'downsample.configs' is 3, expected a table"),
        (
            "downsample: {configs: {a: {kind: mean}}, eval: [a], text: a}",
            "downsample.eval' is a list of 1, expected",
        ),
        ("downsample: {configs: {a: 3}, eval: a, text: a}", "configs.a' is 3, expected a table"),
        ("downsample: {configs: {a: {kind: [mean]}}, eval: a, text: a}", "kind' is a list of 1, expected text"),
        ("downsample: {configs: {a: {kind: mean, factor: 0}}, eval: a, text: a}", "factor' is 0, expected at least 1"),
        (
            "downsample: {configs: {a: {kind: mean, factor: true}}, eval: a, text: a}",
            "factor' is True, expected",
        ),
        ("downsample: {configs: {a: {kind: mean, factor: 2.5}}, eval: a, text: a}", "factor' is 2.5, expected a whole"),
        ("downsample: {configs: {a: {kind: b2, factor: 1000000007}}, eval: a, text: a}", "factor' is 1000000007, exp"),
        ("downsample: {configs: {a: {kind: b1, mlp_ratio: .nan}}, eval: a, text: a}", "mlp_ratio' is nan, expected"),
        (
            "downsample: {configs: {a: {kind: b1, mlp_ratio: 1e300}}, eval: a, text: a}",
            "mlp_ratio' is ",
        ),
        ("downsample: {configs: {a: {kind: b1, pre_mlp: 1}}, eval: a, text: a}", "pre_mlp' is 1, expected true or"),
        ("downsample: {configs: {a: {kind: conv, factor: 2, stage: -1}}, eval: a, text: a}", "stage' is -1, expected"),
        ("mode: 2001-99-99", "not YAML"),
        ("mode: !!timestamp soon", "not YAML"),
        ("mode: !!bool maybe", "not YAML"),
        ("[" * 5000, "line 1: nested deeper than 50 levels"),
        ("{a: " * 5000, "line 1: nested deeper than 50 levels"),
        ("mode: text_only\nmode: text_only", "line 2: the key 'mode' occurs twice, first in line 1"),
        ("a: " + "9" * 5000, "not YAML"),
        ("\x00", "not YAML"),
        ("#" + "x" * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_each_bad_field_is_named(folder, text, message):
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        RewardModel.from_pretrained(folder)
    assert str(folder / "config.yaml") in str(caught.value)


def test_a_downsampler_that_the_weights_do_not_have_is_refused(folder):
    (folder / "config.yaml").write_text("downsample: {configs: {a: {kind: b1, factor: 2}}, eval: a, text: a}")
    with pytest.raises(InputError, match=r"eval_downsampler\.mlp\.0\.weight is missing"):
        RewardModel.from_pretrained(folder)


STRUCTURE = [
    "prompt_transformer.layers.0.0.q_scale",
    "prompt_transformer.layers.0.0.to_q.weight",
    "prompt_transformer.layers.0.1.4.weight",
    "score_projector.1.weight",
    "audio_module.model.model.conformer.layer_norm.weight",
    "audio_module.model.model.conformer.embed_positions.inv_freq",
    "audio_module.model.model.conformer.layers.0.conv_module.depthwise_conv.weight",
    "audio_module.model.model.conv.conv.0.conv1.weight",
    "audio_module.transformer.layers.0.0.q_scale",
    "text_module.model.embeddings.word_embeddings.weight",
    "text_module.model.embeddings.position_embeddings.weight",
    "text_module.transformer.layers.0.0.q_scale",
]


SHAPES = [(), (1,), (3,), (5, 3), (2, 2), (2, 3, 4), (1, 1, 1, 1)]
# A shorter rotary table is no error: it means more heads.
MISFITS = [(key, shape) for key in STRUCTURE for shape in SHAPES if not (key.endswith("inv_freq") and len(shape) == 1)]


@pytest.mark.parametrize(("key", "shape"), MISFITS)
def test_a_tensor_that_tells_the_sizes_may_have_any_shape(saved, folder, key, shape):
    state = load_file(saved / "model.safetensors")
    assert tuple(state[key].shape) != shape
    state[key] = torch.zeros(shape)
    save_file(state, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors: ") as caught:
        RewardModel.from_pretrained(folder)
    assert "\n" not in str(caught.value)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_sizes_in_the_header_are_refused_or_consistent(saved, data):
    """Sizes are read from shapes before a tensor is loaded: nothing is divided by zero, nothing built that is huge."""
    shapes = read_shapes(saved / "model.safetensors")
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from(STRUCTURE))
        shapes[key] = tuple(data.draw(st.lists(st.integers(1, 70), max_size=4)))
    for read in (encoder_config, head_config):
        try:
            read(shapes)
        except InputError as error:
            assert "\n" not in str(error)


def test_thousands_of_layers_are_refused(folder):
    header = {"prompt_transformer.layers.0.0.q_scale": (8,), "prompt_transformer.layers.0.0.to_q.weight": (32, 32)}
    header |= {f"prompt_transformer.layers.{i}.1.4.weight": (32, 85) for i in range(5000)}
    sizes = {key: 4 * torch.Size(shape).numel() for key, shape in header.items()}
    described, begin = {}, 0
    for key, shape in header.items():
        described[key] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, begin + sizes[key]]}
        begin += sizes[key]
    text = json.dumps(described).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + begin)
    with pytest.raises(InputError, match="has 5000 layers, expected at most 200"):
        head_config(read_shapes(folder / "model.safetensors"))


@pytest.mark.parametrize("kind", [torch.int32, torch.bool, torch.uint8])
def test_whole_numbers_in_place_of_weights_are_refused(saved, folder, kind):
    state = load_file(saved / "model.safetensors")
    state["score_projector.3.weight"] = state["score_projector.3.weight"].to(kind)
    save_file(state, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"score_projector\.3\.weight is torch\..*, expected floating-point numbers"):
        RewardModel.from_pretrained(folder)


@pytest.mark.parametrize("key", ["score_projector.3.bias", "audio_module.proj.weight"])
def test_weights_that_are_nan_are_refused_by_name(saved, folder, key):
    state = load_file(saved / "model.safetensors")
    state[key].view(-1)[0] = float("nan")
    save_file(state, folder / "model.safetensors")
    with pytest.raises(InputError, match=rf"{key} holds NaN or infinite numbers"):
        RewardModel.from_pretrained(folder)


def test_nan_in_what_is_never_read_is_of_no_account(saved, folder):
    state = {**load_file(saved / "model.safetensors"), "null_text_embedding": torch.full((1, 10, 32), float("nan"))}
    save_file(state, folder / "model.safetensors")
    assert RewardModel.from_pretrained(folder).name


def test_a_score_that_is_not_finite_is_an_error_of_that_take(saved, monkeypatch, tiny):
    """Weights can be finite and still overflow."""
    model = RewardModel.from_pretrained(saved)
    model._tokenize = tiny.tokenize
    sound = Waveform(torch.randn(24_000).numpy(), 24_000)
    model.head.score_projector[3].weight.data *= 3e38
    model.head.score_projector[1].weight.data *= 1e30
    (judged,) = model.scorer(cache=None).judge([Take(Prompt("a"), sound)])
    assert isinstance(judged, InputError)
    assert "a waveform in memory: the model gave " in str(judged)
    with pytest.raises(InputError, match="not finite numbers"):
        model.score(Take(Prompt("a"), sound), cache=None)


TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "model": {"type": "WordLevel", "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}, "unk_token": "<unk>"},
    "post_processor": {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": False,
    },
    "pre_tokenizer": {"type": "Whitespace"},
}


def test_a_tokenizer_beside_the_weights_is_used(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    assert load_tokenizer(tmp_path, 4)("la la") == [0, 3, 3, 2]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"model": 3}', '{"model": {"type": "magic"}}', "[" * 20_000, "\x00\x01"]
)
def test_a_damaged_tokenizer_is_one_sentence(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=r"tokenizer\.json: not a") as caught:
        load_tokenizer(tmp_path, 100)("la")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "3", '{"tokenizer_class": 3}', '{"model_max_length": "x"}'])
def test_damaged_settings_of_a_tokenizer_are_one_sentence_or_of_no_account(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    (tmp_path / "tokenizer_config.json").write_text(content)
    try:
        assert load_tokenizer(tmp_path, 4)("la") == [0, 3, 2]
    except InputError as error:
        assert "\n" not in str(error)


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    with pytest.raises(InputError, match="not this model's tokenizer: expected ids below 3"):
        load_tokenizer(tmp_path, 3)("la")
    (tmp_path / "tokenizer.json").write_text(json.dumps({**TOKENIZER, "post_processor": None}))
    with pytest.raises(InputError, match="not this model's tokenizer"):
        load_tokenizer(tmp_path, 10)("")
