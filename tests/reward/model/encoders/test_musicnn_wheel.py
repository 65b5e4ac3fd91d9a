import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util import wheels
from cmi._util.errors import InputError
from cmi.reward.model.encoders.musicnn_wheel import (
    FILE_NAME,
    MAGIC,
    MODELS,
    find_wheel,
    read_checkpoint,
    read_variables,
)

# A writer of checkpoints, from the format's description.


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def message(*fields: tuple[int, int | bytes]) -> bytes:
    parts = []
    for number, value in fields:
        if isinstance(value, bytes):
            parts.append(varint(number << 3 | 2) + varint(len(value)) + value)
        else:
            parts.append(varint(number << 3) + varint(value))
    return b"".join(parts)


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    content, before = b"", b""
    for key, value in entries:
        shared = next(n for n in range(len(key), -1, -1) if before.startswith(key[:n]))
        content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return content + bytes(4) + (1).to_bytes(4, "little")  # one restart point, at 0


def table(blocks: list[list[tuple[bytes, bytes]]], compression: int = 0) -> bytes:
    content, handles = b"", []
    for entries in blocks:
        written = block(entries)
        handles.append((entries[-1][0], varint(len(content)) + varint(len(written))))
        content += written + bytes([compression, 0, 0, 0, 0])  # no checksum
    index = block(handles)
    footer = varint(0) + varint(0) + varint(len(content)) + varint(len(index))
    return content + index + bytes(5) + footer.ljust(40, b"\0") + MAGIC


def entry(shape: tuple[int, ...], offset: int, size: int, dtype: int = 1, shard: int = 0) -> bytes:
    dimensions = message(*((2, message((1, length))) for length in shape))
    return message((1, dtype), (2, dimensions), (3, shard), (4, offset), (5, size)) + varint(6 << 3 | 5) + b"\1\2\3\4"


def checkpoint(variables: dict[str, np.ndarray]) -> tuple[bytes, bytes]:
    """Index, in blocks of two, and data."""
    entries, data = [(b"", message((1, 1)))], b""
    for name, value in sorted(variables.items()):
        entries.append((name.encode(), entry(value.shape, len(data), value.nbytes)))
        data += value.astype("<f4").tobytes()
    return table([entries[start : start + 2] for start in range(0, len(entries), 2)]), data


VARIABLES = {
    "conv2d/bias": np.arange(3, dtype=np.float32),
    "conv2d/kernel": np.arange(24, dtype=np.float32).reshape(2, 4, 1, 3),
    "conv2d_1/bias": np.full(200, 0.5, np.float32),
    "step": np.float32(7).reshape(()),
}
INDEX, DATA = checkpoint(VARIABLES)


def test_what_was_written_is_read():
    read = read_variables(INDEX, DATA, "here")
    assert read.keys() == VARIABLES.keys()
    for name, value in VARIABLES.items():
        assert read[name].dtype == np.float32
        assert np.array_equal(read[name], value)


@given(st.integers(0, len(INDEX) - 1))
def test_a_cut_index_is_refused(length):
    with pytest.raises(InputError, match="here is not a readable checkpoint: "):
        read_variables(INDEX[:length], DATA, "here")


@given(st.lists(st.tuples(st.integers(0, len(INDEX) - 1), st.integers(0, 255)), min_size=1, max_size=5))
def test_a_changed_index_is_read_or_refused(changes):
    changed = bytearray(INDEX)
    for position, byte in changes:
        changed[position] = byte
    try:
        read_variables(bytes(changed), DATA, "here")
    except InputError as error:
        assert str(error).startswith("here is not a readable checkpoint: ")


@given(st.binary(max_size=300))
def test_any_bytes_with_a_tables_end_are_read_or_refused(content):
    try:
        read_variables(content + bytes(40) + MAGIC, DATA, "here")
    except InputError as error:
        assert str(error).startswith("here is not a readable checkpoint: ")


@given(st.binary(max_size=60))
def test_any_bytes_as_an_entry_are_read_or_refused(content):
    try:
        read_variables(table([[(b"x", content)]]), DATA, "here")
    except InputError as error:
        assert str(error).startswith("here is not a readable checkpoint: ")


def test_data_that_ends_too_early_is_refused():
    with pytest.raises(InputError, match="beyond the end of the data"):
        read_variables(INDEX, DATA[:-1], "here")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (entry((2,), 0, 12), "shape does not fit"),
        (entry((0, 1 << 62), 0, 0), "shape does not fit"),
        (entry((1,) * 65, 0, 4), "shape does not fit"),
        (entry((1,), 0, 4, dtype=2), "not float32"),
        (entry((1,), 0, 4, shard=1), "not float32 in the one data file"),
        (entry((1,), 1 << 63, 4), "beyond the end"),
    ],
)
def test_entries_that_make_no_sense_are_refused(value, reason):
    with pytest.raises(InputError, match=reason):
        read_variables(table([[(b"x", value)]]), DATA, "here")


def test_a_compressed_index_is_refused():
    snappy = table([[(b"x", entry((1,), 0, 4))]], compression=1)
    with pytest.raises(InputError, match="the index is compressed"):
        read_variables(snappy, DATA, "here")


# The wheel.


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def test_offline_the_sentence_says_what_to_do(tmp_path, offline):
    with pytest.raises(InputError) as caught:
        find_wheel(tmp_path)
    said = str(caught.value)
    assert "\n" not in said
    assert "could not be downloaded (No matching distribution found" in said
    assert "'pip download --no-deps musicnn==0.1.0'" in said
    assert said.endswith(f"put {FILE_NAME} into {tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_the_first_use_says_what_is_downloaded_and_where_to(tmp_path, offline, capfd):
    with pytest.raises(InputError):
        find_wheel(tmp_path)
    assert capfd.readouterr().err == f"cmi: downloading musicnn's weights once, 28 MB, to {tmp_path}\n"


def test_a_pip_in_the_current_folder_does_not_run(tmp_path, offline, monkeypatch):
    for name in ("pip", "runpy", "zipfile", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="No matching distribution found"):
        find_wheel(tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def test_another_file_from_the_registry_is_refused_and_not_kept(tmp_path, offline, monkeypatch):
    registry, folder = tmp_path / "registry", tmp_path / "cache"
    registry.mkdir()
    with zipfile.ZipFile(registry / FILE_NAME, "w") as fake:
        fake.writestr("musicnn-0.1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: musicnn\nVersion: 0.1.0\n")
        fake.writestr("musicnn-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        fake.writestr("musicnn-0.1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(registry))
    with pytest.raises(InputError, match=r"is not the musicnn 0\.1\.0 that was published"):
        find_wheel(folder)
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="set CMI_CACHE to a folder that can be written"):
        find_wheel(tmp_path / "file")


def test_two_at_once_both_get_the_whole_wheel(wheel, tmp_path, offline, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(find_wheel, [tmp_path, tmp_path]))
    assert found == [tmp_path / FILE_NAME] * 2
    assert list(tmp_path.iterdir()) == [tmp_path / FILE_NAME]
    assert found[0].read_bytes() == wheel.read_bytes()


def test_what_is_there_is_not_downloaded_again(wheel, monkeypatch):
    monkeypatch.setattr(wheels, "_download", pytest.fail)
    assert find_wheel(wheel.parent) == wheel


def test_a_damaged_wheel_is_refused(wheel, tmp_path):
    damaged = tmp_path / FILE_NAME
    content = bytearray(wheel.read_bytes())
    content[1_000_000] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(InputError, match="delete it, it will be downloaded again"):
        read_checkpoint(damaged, "MTT_musicnn")
    damaged.write_bytes(content[:1_000_000])
    with pytest.raises(InputError, match="delete it, it will be downloaded again"):
        read_checkpoint(damaged, "MTT_musicnn")


def test_a_wheel_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_checkpoint(tmp_path / FILE_NAME, "MTT_musicnn")


def test_an_unknown_model_is_told_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="'vgg': choose from MTT_musicnn, MSD_musicnn"):
        read_checkpoint(tmp_path / FILE_NAME, "vgg")


@pytest.mark.parametrize("model", MODELS)
def test_the_wheel_holds_the_network(wheel: Path, model):
    variables = read_checkpoint(wheel, model)
    assert variables["conv2d_1/kernel"].shape == (7, 67, 1, 204)
    assert variables["dense/kernel"].shape == (1506, 200)
    assert all(np.isfinite(value).all() for value in variables.values())
