"""Training as a whole: it learns, it can be killed, and it does not matter how many processes there are."""

import contextlib
import itertools
import json
import math
import shutil
import socket
import time

import pytest
import soundfile
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from typer.testing import CliRunner

from cmi import Prompt, RewardModel, Take
from cmi._util.errors import InputError
from cmi.cli import app
from cmi.reward.train import loop
from cmi.reward.train.config import Optimizer, load_config
from cmi.reward.train.forward import objective, score
from cmi.reward.train.journal import Journal
from cmi.reward.train.loop import learning_rate, train
from cmi.reward.train.outcome import outcome_table

from .conftest import write_rows


def curve(out) -> list[dict]:
    return [json.loads(line) for line in (out / "training" / "curve.jsonl").read_text().splitlines()]


def losses(out) -> list[float]:
    return [record["loss"] for record in curve(out) if record["id"].startswith("step")]


def trained(path, out):
    outcome = train(load_config(str(path)), out, "cpu")
    assert outcome is not None
    return outcome


def test_it_learns_what_is_better_and_what_was_asked_for(write_config, music, tmp_path, checkpoint):
    outcome = trained(write_config(steps=80, batch=16, validate_every=20), tmp_path / "out")
    before, after = outcome.before, outcome.best
    assert 0.3 < before["value"] < 0.7
    for axis in ("musicality", "alignment"):
        assert after["pairs"][axis]["accuracy"] > 0.9
        assert after["pairs"][axis]["n"] == 40
        assert after["pairs"][axis]["low"] < after["pairs"][axis]["accuracy"] <= after["pairs"][axis]["high"]

    model = RewardModel.from_pretrained(tmp_path / "out", device="cpu")
    takes = [Take(Prompt("tone"), music / name) for name in ("t60.wav", "n60.wav")]
    better, worse = model.score(takes, window="first10")
    assert better.musicality > worse.musicality
    assert better.alignment > worse.alignment
    encoders = [load_file(folder / "model.safetensors") for folder in (checkpoint, tmp_path / "out")]
    for key in encoders[0]:
        if key.startswith(("audio_module.", "text_module.")):
            assert torch.equal(encoders[0][key], encoders[1][key])

    card = (tmp_path / "out" / "README.md").read_text()
    assert "| training | pairs.jsonl (train) | pairs | 28 |" in card
    assert '"label_smoothing": 0.2' in card
    assert str(music) not in card
    assert "| musicality, accuracy | 40 |" in card
    assert list((tmp_path / "out" / "training" / "tensorboard").iterdir())
    assert (tmp_path / "out" / "training" / "curve.svg").read_text().count("pairs.jsonl (valid): musicality") == 2
    assert "Training did not help" not in card


@pytest.mark.parametrize("mapping", ["tanh", "linear", "none", "ordinal"])
def test_it_learns_from_ratings_alone(write_config, music, tmp_path, mapping):
    ratings = {"ratings": str(music / "ratings.jsonl")}
    path = write_config(
        data=[{**ratings, "split": "train"}],
        validation=[{**ratings, "split": "valid"}],
        loss={"mapping": mapping},
        steps=70,
        validate_every=70,
    )
    best = trained(path, tmp_path / "out").best
    assert best["ratings"]["musicality"]["n"] == 16
    assert best["ratings"]["musicality"]["spearman"] > 0.8
    assert losses(tmp_path / "out")[-1] < losses(tmp_path / "out")[0]


def test_bf16_learns_too_and_compares_exact_scores(write_config, tmp_path, monkeypatch):
    kinds = set()

    def watched(*given):
        found = score(*given)
        kinds.update(column.dtype for column in found.values())
        return found

    monkeypatch.setattr(loop, "score", watched)
    outcome = trained(write_config(precision="bf16", steps=40, validate_every=40), tmp_path / "out")
    assert kinds == {torch.float32}
    assert outcome.best["value"] > outcome.before["value"] + 0.1
    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values() if tensor.is_floating_point()} == {torch.float32}


def test_a_second_stage_begins_where_the_first_ended(write_config, music, tmp_path):
    one = trained(write_config(steps=30, batch=16, validate_every=15), tmp_path / "one")
    mixed = [
        {"preferences": str(music / "pairs.jsonl"), "split": "train"},
        {"ratings": str(music / "ratings.jsonl"), "split": "train", "weight": 0.5},
    ]
    path = write_config(
        "two.yaml",
        model={"checkpoint": str(tmp_path / "one"), "head": "keep"},
        data=mixed,
        loss={"label_smoothing": 0.0, "confidence_weighting": True},
        modality_dropout={"text": 0.2, "lyrics": 0.2, "reference": 0.2},
    )
    two = trained(path, tmp_path / "two")
    assert two.before["value"] == pytest.approx(one.best["value"])
    assert two.best["value"] >= two.before["value"]


MIXED = {"modality_dropout": {"text": 0.3, "lyrics": 0.3, "reference": 0.3}, "loss": {"confidence_weighting": True}}


def mixed(music) -> dict:
    pairs = {"preferences": str(music / "pairs.jsonl"), "split": "train"}
    return {**MIXED, "data": [pairs, {"ratings": str(music / "ratings.jsonl"), "weight": 0.4}], "steps": 16}


def test_a_killed_run_ends_as_if_it_had_not_been(write_config, music, tmp_path, command):
    path = write_config(**mixed(music) | {"steps": 40, "validate_every": 10, "batch": 6})
    partial = tmp_path / "killed" / "training" / "curve.jsonl.partial"
    process = command(path, "--out", tmp_path / "killed", "--device", "cpu")
    while process.poll() is None and not (partial.exists() and partial.read_text().count("\n") >= 16):
        time.sleep(0.002)
    process.kill()
    process.communicate()
    trained(path, tmp_path / "whole")
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    assert list((tmp_path / "killed" / "training").glob("state-*"))  # it does not begin again
    (tmp_path / "killed" / "training" / "unfinished-state-00000020").mkdir()
    trained(path, tmp_path / "killed")
    assert curve(tmp_path / "killed") == curve(tmp_path / "whole")
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_what_a_resumed_run_repeats_is_written_elsewhere_once(tmp_path):
    class Elsewhere:
        def __init__(self):
            self.steps = []

        def write(self, step, values):
            self.steps.append((step, values["train/loss"]))

        def close(self): ...

    elsewhere = Elsewhere()
    for first, steps in ((0, (1, 2, 3)), (2, (3, 4))):  # stopped after 3, resumed from the state of 2
        with contextlib.closing(Journal(tmp_path, first, True, elsewhere)) as journal:
            for step in steps:
                journal.step(step, step / 2, 1.0, 0.1)
    assert elsewhere.steps == [(1, 0.5), (2, 1.0), (3, 1.5), (4, 2.0)]


def test_two_processes_learn_what_one_does(write_config, music, tmp_path, command):
    path = write_config(**mixed(music), batch=5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    arguments = (path, "--out", tmp_path / "two", "--device", "cpu", "--json")
    processes = [command(*arguments, launched={**meet, "RANK": rank, "LOCAL_RANK": rank}) for rank in "01"]
    trained(path, tmp_path / "one")
    for rank, process in enumerate(processes):
        shown, problems = process.communicate(timeout=120)
        assert process.returncode == 0, problems
        assert bool(shown) == (rank == 0)  # one process speaks
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    values = [[r["value"] for r in curve(tmp_path / name) if "value" in r] for name in ("one", "two")]
    assert values[0] == pytest.approx(values[1])


def test_a_batch_in_parts_is_the_same_batch(write_config, music, tmp_path):
    trained(write_config(**mixed(music)), tmp_path / "whole")
    trained(write_config(**mixed(music), micro_batch=3), tmp_path / "parts")
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), abs=1e-5)


def test_a_complete_run_is_not_repeated_and_another_one_is_refused(write_config, tmp_path):
    path, out = write_config(steps=4), tmp_path / "out"
    outcome = trained(path, out)
    stamp = (out / "model.safetensors").stat().st_mtime_ns
    assert trained(path, out) == outcome
    assert (out / "model.safetensors").stat().st_mtime_ns == stamp
    weights = (out / "model.safetensors").read_bytes()
    for name in ("training/outcome.json", "model.safetensors"):  # killed just before the end
        (out / name).unlink()
    assert trained(path, out) == outcome
    assert (out / "model.safetensors").read_bytes() == weights
    with pytest.raises(InputError, match=r"out: holds a run with another 'seed' \(0, now 1\)"):
        trained(write_config(steps=4, seed=1), out)
    settings = json.loads((out / "training" / "settings.json").read_text())
    del settings["settings"]["axes"], settings["settings"]["data"][0]["fraction"]  # as an earlier version wrote it
    (out / "training" / "settings.json").write_text(json.dumps(settings))
    assert trained(write_config(steps=4), out) == outcome
    with pytest.raises(InputError, match="out: holds a run with other data"):
        trained(write_config(steps=4, axes=["musicality"]), out)
    shutil.rmtree(out / "training")
    with pytest.raises(InputError, match="holds a model already"):
        trained(path, out)


def test_other_labels_are_another_run(write_config, music, tmp_path):
    for name in ("t0.wav", "n0.wav"):
        shutil.copy(music / name, tmp_path / name)
    row = {"text": "tone", "a": "t0.wav", "b": "n0.wav", "axis": "musicality"}
    for choice in "ab":
        write_rows(tmp_path / "own.jsonl", [{**row, "choice": choice}])
        path = write_config(data=[{"preferences": "own.jsonl"}], validation=[], steps=1)
        path.write_text(path.read_text().replace("validation: []\n", ""))
        if choice == "a":
            assert trained(path, tmp_path / "out").best is None
        else:
            with pytest.raises(InputError, match="other data"):
                trained(path, tmp_path / "out")


def test_it_stops_when_validation_gets_no_better(write_config, tmp_path):
    path = write_config(steps=200, validate_every=2, early_stop=3, optimizer={"lr": 0, "warmup": 0})
    outcome = trained(path, tmp_path / "out")
    assert (outcome.best_step, outcome.steps) == (0, 6)
    assert outcome_table(outcome).notes[0].startswith("Training did not help: step 0 was best")
    assert "Training did not help" in (tmp_path / "out" / "README.md").read_text()


def test_each_source_of_validation_has_its_curve(write_config, music, tmp_path):
    pairs, ratings = {"preferences": str(music / "pairs.jsonl")}, {"ratings": str(music / "ratings.jsonl")}
    sources = [{**pairs, "split": "valid"}, {**ratings, "split": "valid"}]
    outcome = trained(write_config(validation=sources, steps=4), tmp_path / "out")
    first, last = (record for record in curve(tmp_path / "out") if record["id"].startswith("validation"))
    assert set(first["sources"]) == {"pairs.jsonl (valid)", "ratings.jsonl (valid)"}
    own = last["sources"]["pairs.jsonl (valid)"]["pairs"]["musicality"]
    assert own == last["pairs"]["musicality"]
    assert 0.2 < own["cross_entropy"] < 2
    shown = [row[0] for row in outcome_table(outcome).rows]
    assert "pairs.jsonl (valid): alignment, cross-entropy" in shown
    assert "ratings.jsonl (valid): musicality, rank correlation" in shown


def test_what_can_not_be_heard_is_left_out_and_said(write_config, music, tmp_path):
    soundfile.write(tmp_path / "silent.wav", [0.0] * 24_000, 24_000)
    for name in ("t0.wav", "n0.wav"):
        shutil.copy(music / name, tmp_path / name)
    row = {"text": "tone", "a": "t0.wav", "b": "n0.wav", "axis": "musicality", "choice": "a"}
    rows = [row, {**row, "b": "silent.wav"}, {**row, "reference": "nowhere.wav"}]
    write_rows(tmp_path / "own.jsonl", rows)
    outcome = trained(write_config(data=[{"preferences": "own.jsonl"}], steps=1), tmp_path / "out")
    assert outcome.unheard == 2
    assert any("silent.wav: silent" in reason for reason in outcome.reasons)
    assert any("nowhere.wav" in reason for reason in outcome.reasons)
    write_rows(tmp_path / "own.jsonl", rows[1:])
    with pytest.raises(InputError, match=r"own.jsonl: none of its examples can be read"):
        trained(write_config(data=[{"preferences": "own.jsonl"}], steps=1), tmp_path / "other")


def test_a_loss_that_explodes_is_one_sentence(write_config, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "objective", lambda *given: objective(*given) * math.inf)
    with pytest.raises(InputError, match=r"the loss is inf at step 1, expected a number: lower optimizer.lr"):
        trained(write_config(), tmp_path / "out")
    assert not (tmp_path / "out" / "model.safetensors").exists()


def damage(path, edit):
    content = bytearray(path.read_bytes())
    edit(content)
    path.write_bytes(content)


def flip_last(content):
    content[-1] ^= 1


def zero_the_end(content):
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)


def step_back(content):
    content[:] = content.replace(b'"step": 4', b'"step": 3')


FILES = ["weights.safetensors", "optimizer.safetensors", "best.safetensors"]


@pytest.mark.parametrize(
    ("file", "edit"),
    [*((file, edit) for file in FILES for edit in (flip_last, zero_the_end)), ("state.json", step_back)],
)
def test_a_damaged_state_is_passed_over_for_the_one_before(write_config, tmp_path, file, edit):
    """A flipped bit in a weight would otherwise be trained on from."""
    path = write_config(steps=4, validate_every=2)
    whole = trained(path, tmp_path / "out")
    before = load_file(tmp_path / "out" / "model.safetensors")
    (tmp_path / "out" / "training" / "outcome.json").unlink()
    first, last = sorted((tmp_path / "out" / "training").glob("state-*"))
    assert (first.name, last.name) == ("state-00000002", "state-00000004")
    damage(last / file, edit)
    with pytest.warns(UserWarning, match="state-00000004: damaged; resuming from the previous state"):
        again = trained(path, tmp_path / "out")
    assert again == whole
    after = load_file(tmp_path / "out" / "model.safetensors")
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_states_that_are_all_damaged_are_one_sentence(write_config, tmp_path):
    path = write_config(steps=4)
    trained(path, tmp_path / "out")
    (tmp_path / "out" / "training" / "outcome.json").unlink()
    for state in (tmp_path / "out" / "training").glob("state-*"):
        damage(state / "weights.safetensors", flip_last)
    with pytest.warns(UserWarning), pytest.raises(InputError, match="damaged, or not a state of this run; delete"):
        trained(path, tmp_path / "out")


def test_the_rate_rises_and_falls():
    settings = Optimizer(lr=1.0, warmup=4)
    rates = [learning_rate(settings, step, 20) for step in range(20)]
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert all(a > b for a, b in itertools.pairwise(rates[4:]))
    assert rates[12] == pytest.approx(0.5)
    assert math.isclose(learning_rate(Optimizer(lr=1.0, warmup=0), 0, 1), 1.0)


def test_the_command_scores_with_what_it_trained(write_config, music, tmp_path):
    out, runner = str(tmp_path / "out"), CliRunner()
    place = f"tensorboard:{tmp_path / 'curves'}"
    arguments = ["train", str(write_config(steps=2)), "--out", out, "--device", "cpu", "--log-to", place]
    shown = runner.invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "musicality, accuracy" in shown.output
    events = EventAccumulator(str(tmp_path / "curves" / "out"))
    events.Reload()
    assert [one.value for one in events.Scalars("train/loss")] == pytest.approx(losses(tmp_path / "out"))
    assert [one.step for one in events.Scalars("validation/musicality accuracy")] == [0, 2]
    scored = runner.invoke(app, ["score", str(music / "t0.wav"), "--model", out, "--device", "cpu", "--json"])
    assert "musicality" in json.loads(scored.stdout)
