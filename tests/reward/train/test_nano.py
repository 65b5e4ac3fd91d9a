"""`checkpoint: nano`, as docs/training.md shows it: the model that comes with cmi is trained further on own votes."""

import shutil

import numpy as np
import pytest
import soundfile
import torch
from typer.testing import CliRunner

from cmi.cli import app
from cmi.reward.model.blend import BlendedHead
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.model.reward_model import RewardModel

from .conftest import burst, tone, write_rows


@pytest.fixture
def votes(tmp_path):
    """Tones against noise, a second each: nano cannot hear less than half of one."""
    rng, folder = np.random.default_rng(3), tmp_path / "votes"
    folder.mkdir()
    rows = []
    for i in range(10):
        for kind, make in (("t", tone), ("n", burst)):
            soundfile.write(folder / f"{kind}{i}.wav", make(rng, 1.0), RATE, subtype="PCM_16")
        row = {"text": f"tone {i}", "a": f"t{i}.wav", "b": f"n{i}.wav", "choice": "a"}
        rows += [{**row, "id": f"{i} {axis}", "axis": axis} for axis in ("musicality", "alignment")]
    write_rows(folder / "preferences.jsonl", rows)
    return folder


@pytest.mark.parametrize("head", ["keep", "fresh"])
def test_nano_is_trained_on_votes_and_scores(write_config, votes, tmp_path, shared_cache, wheel, head):
    shutil.copy(wheel, shared_cache)  # the cache of tests is their own
    path = write_config(
        model={"checkpoint": "nano", "head": head},
        data=[{"preferences": str(votes)}],
        validation={"share": 0.4},
        optimizer={"lr": 1e-3, "warmup": 0},
        steps=2,
        batch=4,
        validate_every=1,
    )
    shown = CliRunner().invoke(app, ["train", str(path), "--out", str(tmp_path / "out"), "--device", "cpu"])
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert "of 2 steps" in shown.stdout
    start, trained = (RewardModel.from_pretrained(name, device="cpu") for name in ("nano", tmp_path / "out"))
    assert isinstance(start.head, BlendedHead) and not isinstance(trained.head, BlendedHead)  # as the page says
    frozen, kept = start.plain().encoder.state_dict(), trained.encoder.state_dict()
    assert frozen.keys() == kept.keys()
    assert all(torch.equal(frozen[name], kept[name]) for name in frozen)
    score = ["score", str(votes / "t0.wav"), "--text", "tone", "--device", "cpu"]
    scored = CliRunner().invoke(app, [*score, "--model", str(tmp_path / "out")])
    assert scored.exit_code == 0, (scored.output, scored.exception)
