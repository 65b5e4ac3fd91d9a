"""`cmi score` as a user meets it, with a small random checkpoint."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import soundfile
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from cmi.reward.encoders.muq_mulan import MuQMuLan, MuQMuLanConfig, TowerConfig
from cmi.reward.model import HeadConfig, RewardHead
from cmi.reward.reward_model import RewardModel

TOWER = TowerConfig(dim=32, depth=1, heads=4, dim_head=8, ff_hidden=85)
ENCODER = MuQMuLanConfig(
    stem_channels=8, conformer_dim=48, conformer_depth=1, conformer_heads=4, conformer_ff=96, vocabulary=264,
    xlmr_dim=32, xlmr_depth=1, xlmr_heads=4, xlmr_ff=64, audio_tower=TOWER, text_tower=TOWER,
)  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(0)
    head = RewardHead(HeadConfig(dim=32, heads=4, dim_head=8, ff_hidden=85, prompt_depth=1, joint_depth=1, mlp_dim=16))
    RewardModel(MuQMuLan(ENCODER), head).save_pretrained(folder)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {letter: 4 + i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>"}'
    )
    return folder


@pytest.fixture
def takes(tmp_path):
    """Six takes in a manifest; two of them can't be heard."""
    for i in range(4):
        noise = np.random.default_rng(i).standard_normal(24_000 * (i + 1)) / 10
        soundfile.write(tmp_path / f"take{i}.flac", noise, 24_000)
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    rows = [{"id": f"t{i}", "audio": f"take{i}.flac", "text": f"prompt {i % 2}"} for i in range(4)]
    rows += [{"id": "bad", "audio": "broken.wav"}, {"id": "gone", "audio": "nowhere.wav", "lyrics": "la"}]
    (tmp_path / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "cmi", "score", *map(str, arguments)]


def run(*arguments):
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=300, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )


def lines(path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:  # not there yet, or finished and renamed just now
        return 0


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def test_takes_of_one_prompt_are_shown_in_a_table(checkpoint, takes):
    shown = run(
        takes / "take0.flac",
        takes / "take1.flac",
        "--text",
        "slow piano",
        "--reference",
        takes / "take2.flac",
        "--model",
        checkpoint,
    )
    assert shown.returncode == 0, shown.stderr
    assert "musicality" in shown.stdout
    assert "take1.flac" in shown.stdout
    assert "2.0" in shown.stdout
    assert f"Scored by {checkpoint.name}@" in shown.stdout


def test_broken_files_are_listed_and_the_rest_is_scored(checkpoint, takes):
    scored = run("--manifest", takes / "takes.jsonl", "--model", checkpoint, "--json")
    assert scored.returncode == 2
    assert scored.stderr.strip().splitlines()[-1] == (
        "cmi: 2 of 6 takes could not be heard; the reasons are listed with the scores"
    )
    found = records(scored.stdout)
    assert [record["id"] for record in found] == ["t0", "t1", "t2", "t3", "bad", "gone"]
    assert all({"musicality", "alignment", "seconds", "model"} <= set(record) for record in found[:4])
    assert "broken.wav" in found[4]["error"]
    assert "nowhere.wav" in found[5]["error"]
    alone = run(takes / "take1.flac", "--text", "prompt 1", "--model", checkpoint, "--json")
    for name in ("musicality", "alignment"):
        assert records(alone.stdout)[0][name] == pytest.approx(found[1][name], abs=1e-6)


def test_a_killed_run_resumes_to_the_same_result(checkpoint, takes):
    log = takes / "scores.jsonl"
    whole = run("--manifest", takes / "takes.jsonl", "--model", checkpoint, "--json").stdout
    arguments = ["--manifest", takes / "takes.jsonl", "--model", checkpoint, "--json", "--log", log]
    process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    partial = log.with_name("scores.jsonl.partial")
    while process.poll() is None and lines(partial) < 1:
        time.sleep(0.005)
    process.kill()
    process.wait()
    resumed = run(*arguments)
    for record, wanted in zip(records(resumed.stdout), records(whole), strict=True):
        assert record == pytest.approx(wanted, abs=1e-6)
    assert log.read_text().count("\n") == 4  # what could not be heard is tried again next time


def test_a_take_that_is_named_twice_is_scored_once(checkpoint, takes):
    log = takes / "scores.jsonl"
    twice = run(takes / "take0.flac", takes / "take0.flac", "--model", checkpoint, "--json", "--log", log)
    assert twice.returncode == 0, twice.stderr
    first, second = records(twice.stdout)
    assert first == second
    assert log.read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to score"),
        (["take0.flac", "--model", "."], "no such file; expected a folder with model.safetensors"),
        (["--manifest", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(takes, monkeypatch, arguments, message):
    monkeypatch.chdir(takes)
    failed = run(*arguments)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


def test_help_has_examples():
    shown = run("--help")
    assert "cmi score take1.wav" in shown.stdout
