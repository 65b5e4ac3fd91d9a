"""`cmi bench data`: what there is, and questions out of a folder, with every error in one sentence."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.cli import app

run = CliRunner()


@pytest.fixture
def ballroom(tmp_path: Path) -> Path:
    folder = tmp_path / "ballroom"
    folder.mkdir()
    for name in ("Media-1", "Media-2"):
        (folder / f"{name}.beats").write_text("0.5 1\n1.0 2\n")
    (folder / "Media-1.wav").touch()
    return folder


def test_list_shows_every_data_set_with_licence_and_counts():
    result = run.invoke(app, ["bench", "data", "list", "--json"])
    records = json.loads(result.stdout)["datasets"]
    assert [record["name"] for record in records] == list(DATASETS.corpora)
    assert all(record["licence"] and record["where"] and record["verified"] for record in records)
    assert {name: size for record in records for name, size in record["makes"].items()}["MTT"] == 5329


def test_list_as_a_table_names_them_too():
    result = run.invoke(app, ["bench", "data", "list"])
    assert result.exit_code == 0
    assert all(name in result.stdout for name in DATASETS.corpora)


def test_make_writes_questions_and_lists_what_is_missing(ballroom, tmp_path):
    out = tmp_path / "out"
    result = run.invoke(app, ["bench", "data", "make", "ballroom", str(ballroom), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "no recording of Media-2 (all in missing/CMI_ballroom_beat.txt)" in result.stdout
    (line,) = (out / "annotations" / "CMI_ballroom_beat.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (out / record["audio_path"][0]).is_file()
    assert (record["output"], record["split"], record["task_type"]["prompt"]) == ("0.5s,1.0s", ["test"], ["plain"])


def test_make_as_json(ballroom, tmp_path):
    arguments = ["make", "ballroom", str(ballroom), "--out", str(tmp_path / "out"), "--variant", "few-shot", "--json"]
    report = json.loads(run.invoke(app, ["bench", "data", *arguments]).stdout)
    assert (report["source"], report["variant"], report["split"]) == ("ballroom", "few-shot", "test")
    assert [(m["dataset"], m["questions"], m["published"], m["missing"]) for m in report["made"]] == [
        ("ballroom_beat", 1, 685, ["Media-2"]),
        ("ballroom_downbeat", 1, 685, ["Media-2"]),
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "nonesuch"}, "no data set is named 'nonesuch'"),
        ({"folder": "absent"}, "no such folder"),
        ({"--variant": "nonesuch"}, "there are plain, few-shot, brief"),
        ({"--split": "nonesuch"}, "its splits are test"),
        ({"--prompts": "absent"}, "no such folder"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence, ballroom, tmp_path):
    given = {"name": "ballroom", "folder": str(ballroom)} | change
    options = [part for name, value in change.items() if name.startswith("--") for part in (name, value)]
    command = ["make", given["name"], given["folder"], "--out", str(tmp_path / "out"), *options]
    result = run.invoke(app, ["bench", "data", *command])
    assert isinstance(result.exception, InputError)
    assert sentence in str(result.exception)
