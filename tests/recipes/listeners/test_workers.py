"""Each worker runs as a process of `cmi bench run`, against a stand-in for its model's repository.

A stand-in has the functions that the worker calls, in the same files and with the same parameters (test_check_calls.py
compares them with clones, where there are some). What it was given is in a log.
"""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.bench.instruction import Instruction
from cmi.bench.scoring.tables import MODELS
from cmi.cli import app

from ..stand_ins import RECIPES, make_clone, read_log, use_packages

LISTENERS = RECIPES / "listeners"
GENRE = "Which genre? Choose from {blues, jazz}."
DIMENSIONS = [f"n_{part}_{size}" for part in ("audio", "text") for size in ("ctx", "state", "head", "layer")]
OPTIONS = {
    "salmonn": ["--checkpoint", "weights.pt", "--beats", "beats.pt", "--vicuna", "lmsys/vicuna-13b-v1.1"],
    "ltu": ["--checkpoint", "weights.pt", "--base", "base"],
    "ltu_as": ["--checkpoint", "weights.pt", "--base", "base", "--whisper", "whisper.pt"],
    "mullama": ["--checkpoint", "weights.pt", "--llama", "base"],
    "flamingo": ["--checkpoint", "weights.pt", "--clap", "clap.pt"],
    "gama": ["--checkpoint", "weights.pt", "--base", "base"],
    "pengi": [],
}


class Runs:
    """Runs `cmi bench run` with a worker in a folder, and reads what came of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log.jsonl"
        soundfile.write(folder / "a.wav", np.random.default_rng(0).uniform(-0.1, 0.1, (20 * 8000, 2)), 8000)
        (folder / "base").mkdir()
        for name in ("beats.pt", "clap.pt"):
            (folder / name).touch()
        torch.save({"lora_A": torch.zeros(1)}, folder / "weights.pt")
        torch.save(
            {"dims": dict.fromkeys(["n_mels", "n_vocab", *DIMENSIONS], 80), "model_state_dict": {}},
            folder / "whisper.pt",
        )

    def run(self, system: str, *more: str, questions: tuple[str, ...] = (GENRE,), words: tuple[str, ...] = ()):
        """Ask about seconds 2 to 14 of a recording; `more` are options of the worker, `words` of the command."""
        clone = make_clone(system, self.folder / "clone" / system)
        records = [Instruction(text, "blues", "a.wav", 2.0, 14.0).to_record() for text in questions]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (self.folder / "CMI_GTZAN.jsonl").write_text(lines)
        options = [str(self.folder / word) if (self.folder / word).exists() else word for word in OPTIONS[system]]
        worker = [sys.executable, str(LISTENERS / system / "worker.py"), "--clone", str(clone), *options, *more]
        command = ["bench", "run", "--listener", " ".join(worker), "--name", system, "--out", str(self.folder / "out")]
        return CliRunner().invoke(app, [*command, "--data", str(self.folder / "CMI_GTZAN.jsonl"), *words])

    def answers(self, name: str) -> list[str | None]:
        lines = (self.folder / "out" / f"{name}_GTZAN.jsonl").read_text().splitlines()
        return [json.loads(line)["response"] for line in lines]

    def given(self, function: str) -> list[dict]:
        return read_log(self.log, function)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    made = Runs(tmp_path)
    use_packages(monkeypatch, made.log)
    return made


def test_salmonn_is_given_the_published_prompt_and_keeps_its_special_tokens(runs):
    done = runs.run("salmonn")
    assert done.exit_code == 0, done.output
    assert runs.answers("salmonn") == ["<s> Blues</s>"]
    (loaded,) = runs.given("from_config")
    assert loaded["llama_path"] == "lmsys/vicuna-13b-v1.1" and loaded["whisper_path"] == "openai/whisper-large-v2"
    assert loaded["ckpt"] == str(runs.folder / "weights.pt") and loaded["beats_path"] == str(runs.folder / "beats.pt")
    (asked,) = runs.given("generate")
    assert asked["prompts"] == [f"USER: <Speech><SpeechHere></Speech>{GENRE}\nASSISTANT:"]
    assert (asked["rate"], asked["length"], asked["settings"]) == (16_000, 12 * 16_000, {"num_beams": 4})


@pytest.mark.parametrize(("system", "dropout"), [("ltu", 0.05), ("gama", 0.0)])
def test_ltu_and_gama_hear_ten_seconds_and_answer_by_the_short_template(runs, system, dropout):
    done = runs.run(system, questions=(GENRE, "broken", GENRE))
    assert "1 of 3 questions failed" in done.output, done.output
    first, failed, last = runs.answers(system)
    assert first == last and first.startswith("Blues ") and failed is None  # seeded anew for each question
    (loaded,) = runs.given("from_pretrained")
    assert (loaded["name"], loaded["torch_dtype"]) == (str(runs.folder / "base"), "torch.float32")
    (adapters,) = runs.given("get_peft_model")
    assert (adapters["r"], adapters["lora_alpha"], adapters["lora_dropout"]) == (8, 16, dropout)
    assert runs.given("load_state_dict")[0]["names"] == ["lora_A"]
    bank = runs.given("fbank")[0]
    assert (bank["sample_frequency"], bank["num_mel_bins"], bank["window_type"]) == (16_000, 128, "hanning")
    asked = runs.given("generate")[0]
    assert asked["heard"] == [[1, 1024, 128], round(5.081 / 4.4849, 3)]
    settings = {"temperature": 0.1, "top_p": 0.95, "max_new_tokens": 400, "pad_token_id": 0, "eos_token_id": 2}
    assert asked["settings"].items() >= settings.items() and "top_k" not in asked["settings"]


def test_another_trial_is_another_sample(runs):
    runs.run("ltu", words=("--trials", "2"))
    assert runs.answers("ltu") != runs.answers("ltu-t2")


def test_ltu_as_is_given_a_transcript_and_the_layers_of_whisper(runs):
    done = runs.run("ltu_as")
    assert done.exit_code == 0, done.output
    assert runs.answers("ltu_as")[0].startswith("Blues ")
    assert runs.given("whisper_at") == [{"function": "whisper_at", "name": "large-v2"}]
    (asked,) = runs.given("generate")
    assert asked["heard"] == [[1, 32, 25, 8], 16.5]  # layers 1 to 32, 500 frames in blocks of 20
    assert asked["settings"].items() >= {"top_k": 500, "repetition_penalty": 1.1, "max_new_tokens": 500}.items()


def test_mullama_is_given_the_settings_of_its_script(runs):
    done = runs.run("mullama", questions=(GENRE, GENRE))
    assert done.exit_code == 0, done.output
    first, last = runs.answers("mullama")
    assert first == last and first.endswith("at 0.6, 0.8, 1024.")
    (loaded,) = runs.given("load")
    assert (loaded["mert_path"], loaded["knn"], loaded["knn_dir"]) == ("m-a-p/MERT-v1-330M", True, str(runs.folder))
    asked = runs.given("generate")[0]
    assert asked["prompt"] == f"### Instruction:\n{GENRE}\n\n### Response:"
    assert (asked["shape"], asked["weight"], asked["cache_weight"]) == ([1, 12 * 24_000], 1, 0.0)


def test_flamingo_is_given_its_files_and_the_published_prefix(runs):
    done = runs.run("flamingo")
    assert done.exit_code == 0, done.output
    assert runs.answers("flamingo") == ["blues"]
    (loaded,) = runs.given("prepare_model")
    assert loaded["checkpoint_path"] == str(runs.folder / "weights.pt")
    assert loaded["lang_encoder_path"] == "facebook/opt-iml-max-1.3b" and loaded["cache_dir"] is None
    (processor,) = runs.given("AudioTextDataProcessor")
    assert (processor["max_tokens"], processor["checkpoint"]) == (1024, str(runs.folder / "clap.pt"))
    assert processor["config_root"].endswith("inference/my_ms_clap/src/configs")
    (item,) = runs.given("process")
    assert (item["prefix"], item["prompt"]) == ("The task is audio QA.", GENRE)
    (asked,) = runs.given("inference")
    assert (asked["rate"], asked["top_k"], asked["top_p"]) == (44_100, 30, 0.95)


def test_pengi_describes_as_published_and_is_asked_on_request(runs):
    done = runs.run("pengi")
    assert done.exit_code == 0, done.output
    assert runs.answers("pengi") == ["a guitar is playing. this audio contains sound events: music."]
    (asked,) = runs.given("describe")
    assert (asked["rate"], asked["max_len"], asked["stop_token"]) == (44_100, 30, " <|endoftext|>")
    runs.run("pengi", "--ask", words=("--name", "pengi-asked"))
    assert runs.answers("pengi-asked") == ["blues"]
    assert runs.given("generate")[0]["prompts"] == [GENRE]


def test_pengi_without_its_weights_does_not_start(runs):
    make_clone("pengi", runs.folder / "half")
    (runs.folder / "half" / "configs" / "base.pth").unlink()
    done = runs.run("pengi", "--clone", str(runs.folder / "half"))
    assert isinstance(done.exception, InputError)
    assert "has no base.pth: download it from https://zenodo.org/record/8387083" in str(done.exception)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--clone", "no/such/folder"], "is not a folder: clone the model's repository there"),
        (["--checkpoint", "no/such/file"], "no/such/file does not exist"),
    ],
)
def test_what_is_missing_is_named(runs, more, why):
    done = runs.run("ltu", *more)
    assert isinstance(done.exception, InputError) and why in str(done.exception)


@pytest.mark.parametrize("script", sorted(LISTENERS.glob("*/worker.py")), ids=lambda path: path.parent.name)
def test_a_worker_is_written_for_old_pythons(script):
    for path in (script, RECIPES / "worker_common.py", LISTENERS / "lora_listener.py"):
        source = path.read_text()
        ast.parse(source, feature_version=(3, 8))
        assert "from __future__ import annotations" in source


def test_answers_have_the_name_of_the_worker_s_folder_unless_one_is_given(runs):
    runs.run("pengi", words=("--name", ""))
    assert runs.answers("pengi")


def test_workers_have_the_names_of_the_published_table():
    assert {path.parent.name for path in LISTENERS.glob("*/worker.py")} <= set(MODELS)
