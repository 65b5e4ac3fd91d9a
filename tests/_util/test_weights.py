"""Weights out of safetensors files: aligned, finite, whole."""

import json
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import nn

from cmi._util.errors import InputError
from cmi._util.weights import in_own_memory, load_weights, read_shapes, save_weights

ALIGNED = 64  # bytes: what torch allocates, and what the widest vector instructions read at once


@pytest.fixture
def path(tmp_path):
    """Weights whose place in the file is not aligned: the header's length is made odd by a name."""
    save_file({"a": torch.randn(5, 7), "b" * 13: torch.randn(64, 33)}, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_weights_are_loaded_into_aligned_memory_wherever_the_file_has_them(path):
    assert any(tensor.data_ptr() % ALIGNED for tensor in load_file(path).values())  # else this test tells nothing
    loaded = load_weights(path)
    assert all(tensor.data_ptr() % ALIGNED == 0 for tensor in loaded.values())
    assert all(torch.equal(loaded[key], tensor) for key, tensor in load_file(path).items())


def test_a_module_that_another_library_mapped_is_moved_to_memory_of_its_own(path):
    class Mapped(nn.Module):
        def __init__(self):
            super().__init__()
            state = load_file(path)
            self.weight = nn.Parameter(state["a"])
            self.tied = self.weight
            self.register_buffer("table", state["b" * 13], persistent=False)

    module = Mapped()
    in_own_memory(module)
    assert module.weight.data_ptr() % ALIGNED == module.table.data_ptr() % ALIGNED == 0
    assert module.tied is module.weight
    assert torch.equal(module.weight, load_file(path)["a"])
    assert list(module.state_dict()) == ["weight", "tied"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2])
def test_weights_that_are_not_finite_are_refused_by_name(tmp_path, number, kind):
    weights = torch.ones(100)
    weights[50] = number
    save_file({"head.good": torch.ones(3), "head.bad": weights.to(kind)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors: head\.bad holds NaN or infinite numbers"):
        load_weights(tmp_path / "model.safetensors")
    assert list(load_weights(tmp_path / "model.safetensors", {"head.good"})) == ["head.good"]


def test_large_numbers_and_integers_are_finite(tmp_path):
    state = {
        "large": torch.full((1000,), 3e38),
        "half": torch.full((1000,), 60_000.0, dtype=torch.float16),
        "count": torch.tensor(2**62),
        "both": torch.tensor([1e308, -1e308], dtype=torch.float64),
    }
    save_file(state, tmp_path / "model.safetensors")
    assert load_weights(tmp_path / "model.safetensors").keys() == state.keys()


def with_header(path, header: bytes, rest: bytes = b"") -> None:
    path.write_bytes(struct.pack("<Q", len(header)) + header + rest)


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}},
        {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F33", "shape": [4], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [10**30], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [10**12, 0], "data_offsets": [0, 0]}},
        {"a": [1, 2]},
        [],
    ],
)
def test_a_header_that_lies_is_one_sentence(tmp_path, header):
    path = tmp_path / "model.safetensors"
    with_header(path, json.dumps(header).encode(), bytes(16))
    with pytest.raises(InputError, match=r"model\.safetensors: "):
        read_shapes(path)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_refused_or_read_but_never_crashes(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "model.safetensors"
    save_file({"a": torch.ones(5, 7), "b": torch.ones(3)}, path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    for read in (read_shapes, load_weights):
        try:
            assert isinstance(read(path), dict)
        except InputError as error:
            assert "\n" not in str(error)


def test_what_is_saved_can_be_read_by_whom_the_users_files_can(tmp_path):
    (tmp_path / "other").touch()
    save_weights({"a": torch.ones(2)}, tmp_path / "model.safetensors", {"about": "it"})
    assert (tmp_path / "model.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "other"]


def test_a_folder_that_is_missing_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"gone/model\.safetensors: No such file or directory"):
        save_weights({"a": torch.ones(2)}, tmp_path / "gone" / "model.safetensors")
