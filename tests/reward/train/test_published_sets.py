"""The bundled configurations as they are, on small sets in the published layouts."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import pytest
import torch
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.train.config import load_config
from cmi.reward.train.loop import train
from cmi.reward.train.reading import read_data
from cmi.reward.train.setup import load_model

from ...rewardbench.data.conftest import clips, lines, musiceval, vote
from ..scoring.baselines.conftest import save_muq_mulan

REVISION = "0123456789abcdef0123456789abcdef01234567"
LYRICS, REFERENCE = {"lyrics": "la la"}, {"ref-audio-path": ""}
MODALITIES = ({}, LYRICS, REFERENCE, LYRICS | REFERENCE)


def pairs(name: str, count: int, prompts: int, first: int = 0, sounds: int = 12) -> list[dict]:
    """Rows of CMI-Pref or CMI-Pref-Pseudo about a few recordings, of all modalities."""
    rows = []
    for i in range(count):
        better = "model_a" if (i % sounds) % 2 else "model_b"
        changes = {"prompt": f"{name} prompt {first + i % prompts}", **MODALITIES[i % prompts % 4]}
        changes |= {"audio-path": f"{name}/gen-audio/{i % sounds}.wav"}
        changes |= {"audio2": f"{name}/gen-audio/{(i + 1 + i // sounds % (sounds - 1)) % sounds}.wav"}
        changes |= {"preference-musicality": better, "preference-alignment": better, "user id": str(i)}
        if "ref-audio-path" in changes:
            changes["ref-audio-path"] = f"{name}/ref-audio/r.wav"
        rows.append(vote(**changes))
    return rows


@pytest.fixture
def data(tmp_path, monkeypatch, music):
    """$CMI_DATA, as `cmi data get` leaves it."""
    folder = tmp_path / "data"
    for name in ("cmi-pref", "cmi-pref-pseudo"):
        for i in range(12):
            (folder / name / "gen-audio").mkdir(parents=True, exist_ok=True)
            shutil.copy(music / f"{'tn'[i % 2]}{i}.wav", folder / name / "gen-audio" / f"{i}.wav")
        (folder / name / "ref-audio").mkdir()
        shutil.copy(music / "t20.wav", folder / name / "ref-audio" / "r.wav")
    lines(folder / "cmi-pref-pseudo" / "cmi_pseudo_train.jsonl", *pairs("cmi-pref-pseudo", 300, 150))
    lines(folder / "cmi-pref" / "cmi_train.jsonl", *pairs("cmi-pref", 120, 80))
    lines(folder / "cmi-pref" / "cmi_test.jsonl", *pairs("cmi-pref", 20, 20, first=9000))
    sounds = clips(*range(9))
    for i, sound in enumerate(sounds):
        sound["bytes"] = (music / f"t{i}.wav").read_bytes()
    musiceval(folder / "musiceval", "train", audio=sounds, **{"overall quality": [1.0 + i % 5 for i in range(9)]})
    musiceval(folder / "musiceval", "test", audio=clips(90), **{"overall quality": [2.0]})
    monkeypatch.setenv("CMI_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def published_model(checkpoint, tmp_path, monkeypatch):
    """A small CMI-RM in the hub client's cache, where the published one would be."""
    model = tmp_path / "hub" / "models--HaiwenXia--CMI-RM"
    shutil.copytree(checkpoint, model / "snapshots" / REVISION)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(REVISION)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def shortened(name: str):
    return replace(load_config(name), steps=4, batch=6, validate_every=2, window="first10")


@pytest.mark.slow
def test_both_stages_run_as_they_are_but_for_their_length(data, published_model, tmp_path):
    one = train(shortened("paper-stage1"), tmp_path / "runs" / "paper-stage1", "cpu")
    assert (one.steps, one.unheard) == (4, 0)
    assert [*one.best["sources"]] == ["cmi-pref-pseudo (valid)"]
    assert load_model(load_config("paper-stage2").model).head.config.prompt_depth == 4
    two = train(shortened("paper-stage2"), tmp_path / "runs" / "paper-stage2", "cpu")
    assert two.before["pairs"]["musicality"]["n"] == two.best["pairs"]["musicality"]["n"] > 3
    card = (tmp_path / "runs" / "paper-stage2" / "README.md").read_text()
    assert "| training | cmi-pref (train) | pairs |" in card
    assert "| training | musiceval (train+valid) | ratings | 9 |" in card


@pytest.mark.slow
def test_a_fresh_head_is_trained_on_muq_mulan(data, tmp_path, monkeypatch):
    """The layout of the published checkpoint: other names, no layers on top of MuQ, and no head."""
    monkeypatch.setenv("CMI_READ_PICKLES", "1")
    (tmp_path / "mulan").mkdir()
    save_muq_mulan(tmp_path / "mulan")
    config = shortened("paper-stage1")
    config = replace(config, model=replace(config.model, checkpoint=f"muq-mulan={tmp_path / 'mulan'}"))
    outcome = train(config, tmp_path / "out", "cpu")
    assert outcome.steps == 4
    model = RewardModel.from_pretrained(tmp_path / "out", device="cpu")
    assert (model.head.config.prompt_depth, model.head.config.joint_depth) == (4, 1)
    source = torch.load(tmp_path / "mulan" / "pytorch_model.bin", weights_only=True)
    assert torch.equal(model.encoder.audio_module.proj.weight, source["mulan.audio.proj.weight"])
    assert model.encoder.config.audio_tower.depth == 0


def test_muq_mulan_has_no_head_to_keep(write_config):
    with pytest.raises(InputError, match="'model' starts from 'muq-mulan', which has no head to keep: set 'head'"):
        load_config(str(write_config(model={"checkpoint": "muq-mulan"})))


def test_stage_1_draws_64000_examples_and_validates_on_other_prompts(data):
    config = load_config("paper-stage1")
    assert (config.data[0].limit, config.data[0].split) == (64_000, "train")
    drawn = replace(config, data=(replace(config.data[0], limit=100),))
    (training,), (validation,) = read_data(drawn)
    assert len(training.examples) == 100
    assert training.unused["beyond the limit"] + len(validation.examples) == 200
    assert training.examples == read_data(drawn)[0][0].examples
    assert not {e.prompt for e in training.examples} & {e.prompt for e in validation.examples}
    other = read_data(replace(config, data=(replace(config.data[0], limit=100, seed=1),)))[0][0]
    assert other.examples != training.examples


@pytest.mark.slow
def test_the_dry_run_of_stage_2_counts_by_split_modality_and_source(data, published_model, tmp_path):
    lines(data / "cmi-pref" / "cmi_train.jsonl", *pairs("cmi-pref", 3527, 2400))
    lines(data / "cmi-pref" / "cmi_test.jsonl", *pairs("cmi-pref", 500, 388, first=9000))
    (tmp_path / "runs").mkdir()
    shutil.copytree(tmp_path / "hub/models--HaiwenXia--CMI-RM/snapshots" / REVISION, tmp_path / "runs/paper-stage1")
    shown = CliRunner().invoke(app, ["train", "paper-stage2", "--dry-run", "--json", "--device", "cpu"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    pref, rated = found["data"]
    (valid,) = found["validation"]
    assert (pref["source"], rated["source"]) == ("cmi-pref (train)", "musiceval (train+valid)")
    assert rated["examples"] == 9
    assert valid["source"] == "cmi-pref (valid)"
    assert pref["examples"] + valid["examples"] == 3527
    assert pref["unused"] == {"test": 500}
    total = Counter(pref["modalities"]) + Counter(valid["modalities"])
    assert set(total) == {"text", "text+lyrics", "text+audio", "text+lyrics+audio"}
    assert total.total() == 3527
    assert found["unreadable"]["recordings"] == 0


def test_the_dry_run_counts_data_without_the_model(data):
    shown = CliRunner().invoke(app, ["train", "paper-stage2", "--dry-run"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "cmi-pref (train)" in shown.output
    assert "Costs are unknown without the model: " in shown.output
    assert "Not used of cmi-pref: test 20." in shown.output


def test_a_set_that_is_not_there_says_how_to_get_it(tmp_path, monkeypatch, write_config):
    monkeypatch.setenv("CMI_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"cmi-pref-pseudo: not at .*; cmi data get cmi-pref-pseudo"):
        read_data(load_config("paper-stage1"))


def test_a_set_without_the_split_names_those_it_has(write_config, tmp_path):
    lines(tmp_path / "own.jsonl", {"audio": "a.wav", "musicality": 3, "split": "test"})
    with pytest.raises(InputError, match=r"own.jsonl: no example of split 'train' to learn from; its splits are test"):
        read_data(load_config(str(write_config(data=["own.jsonl"], validation=[]))))
