"""The analyses as a user meets them: in a process of their own."""

import csv
import io
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from cmi.bench.scoring.one_file import BenchCell
from cmi.cli import main

SAMPLES = Path(str(files("cmi.bench"))) / "samples"
ANNOTATIONS = ["--annotations", SAMPLES / "annotations"]
COMMANDS = ("bias", "prompts", "map", "contamination", "browse")


def cmi(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "cmi", "bench", *map(str, arguments)], capture_output=True, text=True, timeout=300
    )


def sample(name, model="listener"):
    return SAMPLES / "responses" / f"{model}_{name}.jsonl"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_command_with_an_example(command):
    shown = cmi(command, "--help")
    assert shown.returncode == 0
    assert f"cmi bench {command}" in shown.stdout


def test_bias_gives_tags_contrasts_and_a_picture(tmp_path):
    plot = tmp_path / "bias.svg"
    run = cmi("bias", sample("MTT"), sample("GTZAN"), *ANNOTATIONS, "--resamples", 100, "--plot", plot, "--json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert len(result["tags"]) == 50
    assert {"roc", "roc_low", "pr", "pr_null", "positives", "family", "group"} <= set(result["tags"][0])
    (file,) = result["files"]
    assert {one["contrast"] for one in file["contrasts"]} == {"female v male", "Western v Indian"}
    assert (result["protocol"], result["seed"]) == ("strict", 0)
    assert plot.stat().st_size > 1000


def test_prompts_compares_runs_that_are_named(tmp_path):
    runs = [f"plain={sample('GTZAN')}", f"brief={sample('GTZAN', 'parrot')}"]
    renamed = tmp_path / "listener_GTZAN.jsonl"
    renamed.write_bytes(sample("GTZAN", "parrot").read_bytes())
    runs[1] = f"brief={renamed}"
    run = cmi("prompts", *runs, *ANNOTATIONS, "--resamples", 100, "--plot", tmp_path / "p.png", "--json")
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(run.stdout)["sensitivities"]
    assert [spread["variant"] for spread in found["variants"]] == ["plain", "brief"]
    assert found["verdict"].startswith("prompts move it")
    assert (tmp_path / "p.png").exists()


def test_the_map_and_the_contamination_need_nothing_but_the_published_table(tmp_path):
    run = cmi("map", "--plot", tmp_path / "map.png")
    assert run.returncode == 0, run.stderr
    assert "Audio-Flamingo" in run.stdout
    assert "chance" in run.stdout
    run = cmi("contamination", "--plot", tmp_path / "c.png", "--format", "csv")
    assert run.returncode == 0, run.stderr
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert len(rows) == 231
    assert {row["overlap"] for row in rows} == {"stated", "implied", "unknown"}
    assert (tmp_path / "map.png").exists()
    assert (tmp_path / "c.png").exists()


def test_own_scores_join_the_published_ones(tmp_path):
    scores, facts = tmp_path / "mine.json", tmp_path / "facts.toml"
    scored = cmi("score", sample("GTZAN"), sample("VocalSet_tech"), *ANNOTATIONS, "--json", "-o", scores)
    assert scored.returncode == 0, scored.stderr
    run = cmi("map", scores, "--json")
    assert run.returncode == 0, run.stderr
    assert "listener (2)" in " ".join(json.loads(run.stdout)["notes"])
    facts.write_text('[listener.GTZAN]\noverlap = "stated"\n')
    run = cmi("contamination", scores, "--facts", facts, "--json")
    assert run.returncode == 0, run.stderr
    effects = json.loads(run.stdout)["effects"]
    assert "listener" in {effect["model"] for effect in effects}


def test_a_page_is_written_and_what_it_holds_is_said(tmp_path):
    page = tmp_path / "errors.html"
    run = cmi("browse", sample("GTZAN"), sample("EMO_arousal"), *ANNOTATIONS, "--out", page, "--worst", 5, "--json")
    assert run.returncode == 0, run.stderr
    genre, emotion = sorted(json.loads(run.stdout)["files"], key=lambda file: file["dataset"], reverse=True)
    assert (genre["answers"], genre["item_metrics"]) == (5, ["Acc."])
    assert (emotion["item_metrics"], emotion["whole_set_metrics"]) == ([], ["ar", "ar^2"])
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_sounds_beside_the_annotations_are_found_without_naming_their_folder(tmp_path):
    (name,) = (SAMPLES / "annotations").glob("*_GTZAN.jsonl")
    annotations, sound = tmp_path / "annotations", tmp_path / "samples" / "GTZAN" / "00.wav"
    annotations.mkdir()
    sound.parent.mkdir(parents=True)
    (annotations / name.name).write_bytes(name.read_bytes())
    sound.touch()
    run = cmi("browse", sample("GTZAN"), "--annotations", annotations, "--out", tmp_path / "page.html", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["with_sound"] == 1


BAD = {
    "bias, nothing there": (["bias", "none"], "no such file"),
    "bias, no tags": (["bias", sample("GTZAN")], "no answers to a data set of tags"),
    "bias, no families": (["bias", sample("MTT"), "--families", "none.toml"], "none.toml"),
    "bias, no truth": (["bias", sample("MTT")], "--annotations"),
    "bias, no embedder": (["bias", sample("MTT"), *ANNOTATIONS, "--embedder", "/none"], "/none"),
    "prompts, nothing there": (["prompts", "plain=none"], "no such file"),
    "prompts, unnamed": (["prompts", sample("GTZAN"), *ANNOTATIONS], "VARIANT="),
    "map, nothing there": (["map", "none.json"], "no such file"),
    "map, protocols mixed": (["map", "--protocol", "strict"], "protocol paper"),
    "map, nothing": (["map", "--no-published"], "no scores"),
    "map, no picture": (["map", "--plot", "map.pdf"], "named .png or .svg"),
    "contamination, no facts": (["contamination", "--facts", "none.toml"], "none.toml"),
    "contamination, nothing": (["contamination", "--no-published"], "no scores"),
    "browse, nothing there": (["browse", "none", "--out", "page.html"], "no such file"),
    "browse, no page": (["browse", sample("GTZAN"), "--out", "page.txt"], "named .html"),
    "browse, no folder": (["browse", sample("GTZAN"), *ANNOTATIONS, "--out", "none/page.html"], "no such folder"),
    "browse, no truth": (["browse", sample("GTZAN"), "--out", "page.html"], "--annotations"),
}


@pytest.fixture
def refused(monkeypatch, capsys):
    """Runs a command that must end with exit code 2 and one sentence, which it returns."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["cmi", "bench", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        said = capsys.readouterr().err.strip()
        assert len(said.splitlines()) == 1
        return said

    return run


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(refused, name):
    arguments, message = BAD[name]
    assert message in refused(*arguments)


CELL = BenchCell(
    model="m", row="GTZ.", metric="Acc.", value=50.0, n=290, unparsed=0, low=None, high=None, protocol="paper"
).to_json()
WRONG = {
    "empty": b"",
    "no scores": b"[]",
    "no text": b"\xff\xfe",
    "no cell": b'{"cells": [{}]}',
    "no cells": b'{"cells": 3}',
    "hostile": b"[" * 100_000,
    "no number": json.dumps({"cells": [{**CELL, "value": "high"}]}).encode(),
    "not finite": b'{"cells": [' + json.dumps(CELL).encode().replace(b"50.0", b"NaN") + b"]}",
    "no row": json.dumps({"cells": [{**CELL, "row": "XYZ"}]}).encode(),
    "no model": json.dumps({"cells": [{**CELL, "model": 3}]}).encode(),
    "no notes": json.dumps({"cells": [{**CELL, "notes": [[1]]}]}).encode(),
    "no direction": json.dumps({"cells": [{**CELL, "better": "bigger"}]}).encode(),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_score_file_is_one_sentence(tmp_path, refused, name):
    path = tmp_path / "scores.json"
    path.write_bytes(WRONG[name])
    for command, source in (("map", path), ("contamination", path), ("prompts", f"plain={path}")):
        assert "scores.json" in refused(command, source)
