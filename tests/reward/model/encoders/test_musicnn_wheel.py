import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cmi._util import wheels
from cmi._util.errors import InputError
from cmi.reward.model.encoders.musicnn import MODELS, WHEEL, read_checkpoint

FILE_NAME = WHEEL.file_name
find_wheel = partial(wheels.find_wheel, WHEEL)


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


@pytest.mark.parametrize("model", MODELS)
def test_the_wheel_holds_the_network(wheel: Path, model):
    variables = read_checkpoint(wheel, model)
    assert variables["conv2d_1/kernel"].shape == (7, 67, 1, 204)
    assert variables["dense/kernel"].shape == (1506, 200)
    assert all(np.isfinite(value).all() for value in variables.values())
