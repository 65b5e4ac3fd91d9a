"""Folders of models that are damaged or hostile: none of their code runs, nothing is built that they do not hold."""

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file, save_file

import cmi
from cmi._util.errors import InputError
from cmi.bench.ask.registry import Options, load_listener
from cmi.bench.metrics.encoder import load_encoder
from cmi.llm import load_model

from ..bench.ask import tiny_models

LOADERS: dict[str, Callable[[Path], object]] = {
    "judge": lambda folder: load_model(str(folder), device="cpu"),
    "listener": lambda folder: load_listener("qwen2-audio", Options(model=str(folder), device="cpu")),
    "encoder": load_encoder,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save("qwen2-audio", tmp_path_factory.mktemp("whole"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    place = tmp_path / "model"
    place.mkdir()
    for path in whole.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


@pytest.fixture
def no_large_tensor(monkeypatch: pytest.MonkeyPatch):
    """Building a model of more than a few megabytes fails."""
    plain = torch.empty
    with torch.device("meta"):
        plain(1)  # torch notes now which functions make tensors: the one below is not among them

    def empty(*sizes: object, **how: object) -> object:
        made = plain(*sizes, **how | {"device": "meta"})
        is_meta = torch.device(how.get("device") or torch.get_default_device()).type == "meta"
        if not is_meta and made.numel() > 2_000_000:
            raise MemoryError(f"a tensor of {made.numel():,} numbers")
        return plain(*sizes, **how)

    monkeypatch.setattr(torch, "empty", empty)


def config_of(folder: Path) -> dict:
    return json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize("loader", ["judge", "listener"])
@pytest.mark.parametrize("left_out", ["all", "text", "sound"])
def test_a_configuration_without_sizes_does_not_build_the_default(
    folder: Path, no_large_tensor: None, loader: str, left_out: str
):
    config = {"model_type": "qwen2_audio"}
    if left_out != "all":
        config |= config_of(folder)
        part = "text_config" if left_out == "text" else "audio_config"
        config[part] = {"model_type": config[part]["model_type"]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"config.json describes a model of [\d,]+ numbers, but the weights hold"):
        LOADERS[loader](folder)


@pytest.mark.parametrize("loader", ["judge", "listener"])
def test_missing_weights_are_named_and_not_made_up(folder: Path, loader: str):
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if "layernorm" in name.lower()][:4]:
        del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"4 of the model's weights are missing \(\S+, \S+, \S+, \.\.\.\)"):
        LOADERS[loader](folder)


@pytest.mark.parametrize("loader", ["judge", "listener"])
def test_pickled_weights_are_not_opened(folder: Path, loader: str):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"no \.safetensors file in it"):
        LOADERS[loader](folder)


@pytest.mark.parametrize("loader", LOADERS)
def test_code_that_comes_with_a_model_is_not_run(folder: Path, loader: str):
    (folder / "evil.py").write_text("raise SystemExit('its code ran')\n")
    names = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoModelForMultimodalLM": "evil.Model"}
    remote = {**names, "AutoProcessor": "evil.Processor", "AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]}
    config = config_of(folder) | {"auto_map": remote, "model_type": "evil"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError):
        LOADERS[loader](folder)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"model_type": 7}',
        '{"model_type": "qwen2_audio", "text_config": {"num_hidden_layers": 1000000000}}',
        '{"model_type": "qwen2_audio", "text_config": []}',
        '{"model_type": "qwen2_audio", "text_config": {"hidden_size": -1}}',
    ],
)
@pytest.mark.parametrize("loader", LOADERS)
def test_a_configuration_of_any_kind_is_one_sentence(folder: Path, no_large_tensor: None, loader: str, content: str):
    (folder / "config.json").write_text(content)
    with pytest.raises(InputError):
        LOADERS[loader](folder)


def test_every_call_of_from_pretrained_is_safe():
    """Each passes SAFE, or says trust_remote_code=False itself; our own models have a `from_pretrained` too."""
    unsafe = []
    for path in Path(cmi.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "from_pretrained":
                owner = ast.unparse(node.func).removesuffix(".from_pretrained")
                said = ast.unparse(node)
                is_safe = "**SAFE" in said or "trust_remote_code=False" in said or "**how" in said
                if not is_safe and owner not in ("RewardModel", "super()"):
                    unsafe.append(f"{path.name}: {said}")
    # what brings its own code runs only with the user's two words (test_remote_code)
    assert all(line.startswith("remote_code.py: ") and "allowed" in line for line in unsafe), unsafe
