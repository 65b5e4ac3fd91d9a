"""The labels of the studio's study: each pair is somebody's, and `cmi ablate` runs on what is written."""

import json
from pathlib import Path

import make_labels
import numpy as np
import pytest
import soundfile
from simulated_labels import Experts
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.testing.simulated_judge import Hearing, NoisyJudge

from ...reward.train.conftest import burst, tone, write_rows

SPLITS = {"train": 80, "valid": 12, "test": 40, "heldout": 40}
RIGHT = Hearing(1.0, 1.0, 0.0)
CLEAR = NoisyJudge(0, RIGHT, RIGHT, first=0.0, deaf=0.0)
EXPERTS = Experts(0, wrong=0.0, noise=0.1)


@pytest.fixture(scope="session")
def studio(tmp_path_factory) -> Path:
    """As `cmi studio make` leaves it: tones, spoilt by noise; prompts that ask for a tone or for noise."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / "audio").mkdir()
    rng = np.random.default_rng(11)
    rows = []
    for split, count in SPLITS.items():
        for kind, make in (("tone", tone), ("noise", burst)):
            for i in range(10):
                path = folder / "audio" / f"{split}-{kind}{i}.flac"
                soundfile.write(path, make(rng, rng.uniform(0.3, 0.5)), RATE, subtype="PCM_16")
        for i, takes in enumerate(rng.permutation(100)[:count]):
            t, n = f"audio/{split}-tone{takes // 10}.flac", f"audio/{split}-noise{takes % 10}.flac"
            axis = ("musicality", "alignment")[i % 2]
            asked = ("tone", "noise")[int(rng.integers(2))]
            better, worse = (n, t) if axis == "alignment" and asked == "noise" else (t, n)
            a_better = bool(rng.integers(2))
            a, b = (better, worse) if a_better else (worse, better)
            strength = float(rng.choice([0.4, 0.7, 1.0])) if axis == "musicality" else 0.0
            truth = {
                "kind": "across" if strength else "style",
                "flaw": "noise" if strength else "",
                "strength": strength,
            }
            row = {"id": f"{split}-{i}", "text": asked, "lyrics": "", "reference": "", "a": a, "b": b, "axis": axis}
            label = {"choice": "a" if a_better else "b", "confidence": 1 + round(4 * (strength or 0.75))}
            rows.append({**row, **label, "rater": "studio", "split": split, "truth": truth})
    write_rows(folder / "preferences.jsonl", rows)
    return folder


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_label_is_somebodys(studio, tmp_path):
    counts = make_labels.make_labels(studio, tmp_path, CLEAR, EXPERTS)
    rows = {name: read(tmp_path / f"{name}.jsonl") for name in ("pseudo", "experts", "ratings", "truth")}
    ids = {name: {row["id"] for row in rows[name] if row["split"] == "train"} for name in ("pseudo", "experts")}
    ids["ratings"] = {row["id"][:-2] for row in rows["ratings"] if row["split"] == "train"}
    assert {name: len(some) for name, some in ids.items()} == {"pseudo": 68, "experts": 8, "ratings": 4}
    assert len(set.union(*ids.values())) == 80
    assert {row["split"] for row in rows["ratings"]} == {"train", "test", "heldout"}
    assert [row["split"] for row in rows["truth"]] == ["test"] * 40 + ["heldout"] * 40
    assert counts["judge"]["musicality"]["right"] == counts["judge"]["musicality"]["asked"]
    before = (tmp_path / "pseudo.jsonl").read_bytes()
    make_labels.make_labels(studio, tmp_path, CLEAR, EXPERTS)
    assert (tmp_path / "pseudo.jsonl").read_bytes() == before


def test_the_matrix_beside_the_labels_runs(studio, write_config, tmp_path, capsys):
    make_labels.main([str(studio), str(tmp_path / "labels")])
    assert "Simulated labels" in capsys.readouterr().out
    config, out = str(write_config(steps=2, validation=[])), str(tmp_path / "out")
    command = ["ablate", config, "--matrix", str(tmp_path / "labels" / "matrix.toml"), "--out", out, "--device", "cpu"]
    planned = CliRunner().invoke(app, [*command, "--dry-run", "--json"])
    assert planned.exit_code == 0, planned.output
    examples = {one["id"]: one["counts"]["data"][0]["examples"] for one in map(json.loads, planned.stdout.splitlines())}
    assert len(examples) == 16
    assert examples["quarter"] == pytest.approx(examples["distil"] / 4, abs=1)
    shown = CliRunner().invoke(app, [*command, "--only", "no-prompt", "--only", "scratch"], env={"COLUMNS": "300"})
    assert shown.exit_code == 0, shown.output
    for line in (
        "Training sets (table 4): accuracy on truth.jsonl (heldout)",
        "distillation is a better start than none",
    ):
        assert line in shown.stdout


def test_a_folder_that_is_no_studios_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"preferences.jsonl: no such file; expected a folder made by cmi studio make"):
        make_labels.make_labels(tmp_path, tmp_path / "out", CLEAR, EXPERTS)
    write_rows(tmp_path / "preferences.jsonl", [{"a": "x", "b": "y", "axis": "alignment", "choice": "a"}])
    with pytest.raises(InputError, match="no pair of split 'train'"):
        make_labels.make_labels(tmp_path, tmp_path / "out", CLEAR, EXPERTS)
