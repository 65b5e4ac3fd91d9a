"""From votes to a trained, tested and calibrated model: each command reads what the one before it wrote."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi import read_preferences
from cmi.arena.store import people, projects
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.database import open_database
from cmi.arena.store.votes import Ballot, save
from cmi.cli import app
from cmi.pairs import find_leaks
from cmi.preferences import draw_split
from cmi.reward.train.config import load_config
from cmi.reward.train.reading import read_data

SYSTEMS = {"tones": 0.5, "noise": 0.4, "quiet": 0.3}  # seconds, by which the voters know who made a take


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """The votes of ten people on takes of three systems for 24 prompts, exported by `cmi arena export`."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(1)
    for number in range(24):
        place = folder / "takes" / f"p{number:02}"
        place.mkdir(parents=True)
        (place / "prompt.txt").write_text(f"a short tune, number {number}")
        for system, seconds in SYSTEMS.items():
            time = np.arange(round(24_000 * seconds)) / 24_000
            tone = np.sin(2 * np.pi * rng.uniform(200, 800) * time)
            sound = {"tones": 0.3 * tone, "noise": 0.1 * rng.standard_normal(len(time)), "quiet": 0.01 * tone}[system]
            soundfile.write(place / f"{system}.wav", sound, 24_000)
    db = folder / "study.sqlite3"
    run("arena", "import", folder / "takes", "--db", db, "--project", "Study")
    database = open_database(str(db))
    project = projects.list_all(database)[0]
    for invite in people.invite(database, project.id, "annotator", 1, quota=12, count=10):
        person = people.join(database, invite.token, None, True).person
        while isinstance(view := next_page(database, person)[0], View):
            begin(database, person, view.key)
            better = "a" if view.a.seconds > view.b.seconds else "b"
            choice = better if rng.random() < 0.85 else "ab".replace(better, "")
            heard = {"heard_a": view.a.seconds, "heard_b": view.b.seconds}
            save(database, person, view.key, Ballot(choice, 3, choice, 4, **heard))
    database.close()
    run("arena", "export", folder / "votes", "--db", db)
    return folder


def run(*arguments, code=0) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments), "-q"], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_an_export_is_trained_on_tested_on_other_prompts_and_calibrated(study, checkpoint, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))
    votes = study / "votes"
    run("train", votes, "--model", checkpoint, "--out", "runs/votes", "--json")
    training, validation = read_data(load_config(str(votes)))
    prompts = [{one.prompt.text for part in parts for one in part.examples} for parts in (training, validation)]
    tested = {one.prompt.text for one in read_preferences(votes, "test")}
    assert all(prompts) and tested and not prompts[0] & prompts[1] and not (prompts[0] | prompts[1]) & tested
    assert {draw_split(one.prompt) for one in read_preferences(votes, "test")} == {"test"}

    models = ["--model", checkpoint, "--model", "runs/votes"]
    said = run("rewardbench", "run", "--data", votes, "--split", "test", *models, "--out", "runs/test")
    assert "votes@" in said and "generator prior" in said
    assert find_leaks(votes) == []

    run("rewardbench", "run", "--data", votes, "--split", "train", "--model", checkpoint, "--out", "runs/fresh")
    found = json.loads(run("calibrate", "runs/fresh", "--out", "offsets.json", "--json"))
    offsets = {name: one["offset"] for name, one in found["axes"]["musicality"]["offsets"].items()}
    assert max(offsets, key=offsets.get) == "tones" and min(offsets, key=offsets.get) == "quiet"
    assert found["axes"]["musicality"]["gain"]["verdict"] == "a gain"  # a random model has everything to gain

    again = ["--data", votes, "--split", "test", *models, "--calibration", "offsets.json", "--out", "runs/test"]
    said = run("rewardbench", "run", *again)
    assert "calibrated" in said
    cells = json.loads(run("rewardbench", "table", "runs/test", "--protocol", "strict", "--json"))["cells"]
    accuracy = {
        "calibrated" in cell["model"]: cell["value"]
        for cell in cells
        if not cell["is_null"]
        and not cell["model"].startswith("votes@")
        and cell["metric"] == "ACC"
        and cell["task"] == "musicality preference"
    }
    assert accuracy[True] > accuracy[False]

    run("drift", "runs/fresh", "--expect", "95", "--html", "drift.html", code=1)
    assert "<h1>" in Path("drift.html").read_text()
    run("drift", "runs/fresh", "--expect", "10")


def test_scores_and_picks_use_the_calibration_of_their_model(study, checkpoint, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))
    rows = [
        {"audio": str(study / f"takes/p{p:02}/{name}.wav"), "text": f"tune {p}", "generator": name}
        for p in range(2)
        for name in (*SYSTEMS,)
    ]
    Path("takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, {**rows[0], "generator": ""}]))
    raw = read_lines(run("score", "--manifest", "takes.jsonl", "--model", checkpoint, "--json"))
    offsets = {"tones": 50.0, "noise": 0.0, "quiet": -50.0}
    write_offsets(Path("offsets.json"), raw[0]["model"], offsets)
    given = ["--manifest", "takes.jsonl", "--model", checkpoint, "--calibration", "offsets.json", "--json"]
    scored = read_lines(run("score", *given))
    for before, after, row in zip(raw, scored, rows, strict=False):
        assert after["musicality"] == pytest.approx(before["musicality"] + offsets[row["generator"]])
        assert after["alignment"] == before["alignment"] and len(after["calibration"]) == 8
    assert scored[-1]["musicality"] == raw[-1]["musicality"] and "generator is unknown" in scored[-1]["notes"][-1]

    picked = json.loads(run("pick", *given))
    assert "calibrated" in picked["model"]
    assert [Path(one["picked"]).stem for one in picked["picks"]] == ["tones", "tones"]


def read_lines(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def write_offsets(path: Path, model: str, offsets: dict[str, float]) -> None:
    gain = dict.fromkeys(("votes", "prompts", "raters"), 30) | dict.fromkeys(
        ("accuracy_before", "accuracy_after", "gain", "low", "high", "brier_gain", "brier_low", "brier_high"), 0.1
    )
    gain |= {"null_low": 0.0, "null_high": 0.0, "p": 0.01, "verdict": "a gain"}
    systems = {name: {"offset": value, "low": value, "high": value, "votes": 10} for name, value in offsets.items()}
    axes = {"musicality": {"votes": 30, "offsets": systems, "gain": gain}}
    path.write_text(json.dumps({"model": model, "axes": axes, "fitted_on": {}, "cmi": "1", "prior": 1.0}))
