"""`cmi train` takes a fold of `cmi mirex folds` as it is, and `cmi mirex cost` compares what came of it."""

import json

import numpy as np
import pytest

from cmi.cli.mirex import cost as cost_command
from cmi.cli.options import ShowOptions
from cmi.reward.train.config import load_config
from cmi.reward.train.loop import train
from cmi.rewardbench.mirex.folds import make_folds, read_fold_rows, write_folds


@pytest.fixture
def folds(music, write_config, tmp_path):
    """Tones and bursts by three makers, in folds of two parts, with the smallest configuration that learns."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(24):
        a, b = (str(name) for name in rng.permutation(["x", "y", "z"])[:2])
        about = {"text": f"p{i}", "a": str(music / f"t{i}.wav"), "b": str(music / f"n{i}.wav"), "axis": "musicality"}
        rows.append({**about, "choice": "a", "generator_a": a, "generator_b": b})
    votes = tmp_path / "votes.jsonl"
    votes.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = write_config(steps=2, validate_every=2)
    found, _ = read_fold_rows(str(votes))
    write_folds(found, make_folds(found, ordinary=2), tmp_path / "folds", str(config))
    return tmp_path / "folds"


def test_every_fold_is_trained_as_it_is_and_compared(folds, capsys):
    names = sorted(path.parent.name for path in folds.glob("*/train.yaml"))
    assert names == ["ordinary-1", "ordinary-2", "without-x", "without-y", "without-z"]
    for name in names:
        config = load_config(str(folds / name / "train.yaml"))
        assert config.data[0].preferences == folds / name / "preferences.jsonl"
        outcome = train(config, folds / name / "model", "cpu", lambda *_: None)
        assert outcome is not None
    cost_command(folds, device="cpu", resamples=100, how=ShowOptions(as_json=True))
    found = json.loads(capsys.readouterr().out)["folds"]
    assert [one["generator"] for one in found] == ["x", "y", "z", "all generators"]
    assert found[-1]["held_out"]["n"] == 48
    assert found[-1]["ordinary"]["n"] == 48
    assert found[-1]["cost"]["n"] == 48
    assert all(one["held_out"]["best_null"] for one in found)
