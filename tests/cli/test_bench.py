"""The command as a user meets it: in a process of its own."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

SAMPLES = Path(str(files("cmi.bench"))) / "samples"


def cmi(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "cmi", *map(str, arguments)], capture_output=True, text=True, timeout=300, **more
    )


def lines(path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:  # not there yet, or finished and renamed just now
        return 0


def answers(tmp_path, *names, model="listener"):
    """A folder with some of the sample answers."""
    folder = tmp_path / "answers"
    folder.mkdir(exist_ok=True)
    for name in names:
        source = SAMPLES / "responses" / f"{model}_{name}.jsonl"
        (folder / source.name).write_bytes(source.read_bytes())
    return folder


def test_help_names_every_command_with_an_example():
    assert "bench" in cmi("--help").stdout
    listing = cmi("bench", "--help").stdout
    for command in ("score", "table", "check"):
        assert command in listing
        shown = cmi("bench", command, "--help")
        assert shown.returncode == 0
        assert f"cmi bench {command}" in shown.stdout


def test_help_imports_nothing_heavy():
    code = "import sys, cmi.cli; print([m for m in ('numpy', 'torch', 'scipy', 'nltk') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_scores_are_one_json_object_with_published_names(tmp_path):
    folder = answers(tmp_path, "GTZAN", "gtzan_beat", "Guzheng_Tech", "EMO_arousal")
    run = cmi("bench", "score", folder, "--annotations", SAMPLES / "annotations", "--protocol", "paper", "--json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    cells = {(cell["row"], cell["metric"]): cell for cell in result["cells"] if cell["model"] == "listener"}
    assert set(cells) == {("GTZ.", "Acc."), ("G-B", "FM."), ("GZ", "maF1"), ("GZ", "miF1"), ("EMO", "aR2")}
    assert set(cells["GTZ.", "Acc."]) >= {"model", "row", "metric", "value", "n", "unparsed", "low", "high", "protocol"}
    assert (cells["GTZ.", "Acc."]["value"], cells["GTZ.", "Acc."]["n"]) == (pytest.approx(250 / 3), 24)
    assert result["protocols"] == ["paper"]
    assert result["embedder"] == "minilm"


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv"])
def test_every_format_shows_n_interval_and_nulls(tmp_path, form):
    folder = answers(tmp_path, "GTZAN")
    out = tmp_path / "out.txt"
    run = cmi("bench", "score", folder, "--annotations", SAMPLES / "annotations", "--format", form, "-o", out)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    text = out.read_text()
    assert "unparsed" in text
    assert "majority class" in text
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["protocol"] for row in rows} == {"paper", "strict"}
    else:
        assert "83.33" in text
        assert "64.15" in text


def test_the_table_stands_beside_the_published_one(tmp_path):
    folder = answers(tmp_path, "GTZAN", "DSing")
    scores = tmp_path / "mine.json"
    assert (
        cmi("bench", "score", folder, "--annotations", SAMPLES / "annotations", "--json", "-o", scores).returncode == 0
    )
    run = cmi("bench", "table", scores, "--format", "csv")
    assert "listener" in run.stdout
    run = cmi("bench", "table", scores, "--format", "markdown")
    lines = [line for line in run.stdout.splitlines() if line.startswith("| ")]
    header = [cell.strip() for cell in lines[0].split("|")[1:-1]]
    assert header[2:4] == ["listener", "best null"]
    assert header[4:] == [
        "Qwen2-Audio", "Qwen-Audio", "SALMONN", "MusiLingo", "LTU", "LTU-AS", "MU-LLaMA", "Audio-Flamingo", "GAMA",
        "GAMA-IT", "Pengi", "SOTA",
    ]  # fmt: skip
    genre = next(line for line in lines if line.startswith("| GTZ. | Acc. ↑ |"))
    assert "83.33 [64.15, 93.32]" in genre
    assert "| 72.07 |" in genre
    assert genre.endswith("| 83.9 |")
    assert "DS | WE. ↓" in run.stdout
    strict = cmi("bench", "table", scores, "--protocol", "strict", "--format", "markdown").stdout
    assert "WE.cap" in strict
    assert "Pengi" not in strict


def test_without_a_source_the_table_is_what_was_published():
    run = cmi("bench", "table", "--format", "markdown")
    assert run.returncode == 0, run.stderr
    assert len([line for line in run.stdout.splitlines() if line.startswith("| ")]) == 36


def test_check_says_what_is_missing(tmp_path):
    folder = answers(tmp_path, "GTZAN", model="parrot")
    run = cmi("bench", "check", folder, "--annotations", SAMPLES / "annotations")
    assert run.returncode == 0
    assert "no file for GS_key" in run.stdout
    report = json.loads(cmi("bench", "check", folder, "--annotations", SAMPLES / "annotations", "--json").stdout)
    (file,) = report["files"]
    assert (file["expected"], file["answered"]) == (24, 23)
    assert len(report["absent"]["parrot"]) == 20


BAD = {
    "nothing there": (None, "no such file"),
    "empty": (b"", "empty"),
    "not JSON": (b"blues\n", "line 1: not JSON"),
    "cut off": (b'[{"question": "q", "response": "a", "correct_answer": "blues", "audioid": "x"}, {"quest', "record 2"),
    "wrong encoding": ('{"response": "été"}'.encode("latin-1"), "not UTF-8"),
    "broken gzip": (gzip.compress(b"[]" * 500)[:-9], "broken gzip"),
    "no answers": (b'{"question": "q"}\n', "neither 'correct_answer'"),
    "hostile": (b'[{"response": ' + b"[" * 200_000, "not JSON"),
    "bad truth": (b'[{"question": "", "response": "a", "correct_answer": "polka", "audioid": "x"}]', "polka"),
}


@pytest.mark.parametrize(
    ("command", "name"),
    # whether a truth makes sense is for its task to say, when it is scored
    [("score", name) for name in BAD] + [("check", name) for name in BAD if name != "bad truth"],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, command, name):
    content, message = BAD[name]
    path = tmp_path / "m_GTZAN.jsonl"
    if content is not None:
        path.write_bytes(content)
    run = cmi("bench", command, path)
    assert run.returncode == 2
    assert message in run.stderr
    assert "m_GTZAN.jsonl" in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_an_unknown_embedder_and_an_unwritable_output_are_bad_input(tmp_path):
    folder = answers(tmp_path, "GTZAN")
    base = ["bench", "score", folder, "--annotations", SAMPLES / "annotations"]
    for more in (["--embedder", tmp_path / "nowhere"], ["-o", tmp_path / "no" / "such" / "folder.txt"]):
        run = cmi(*base, *more, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        assert run.returncode == 2, run.stderr
        assert "Traceback" not in run.stderr


def test_a_killed_run_resumes_from_its_log(tmp_path):
    folder = answers(tmp_path, "GTZAN", "VocalSet_tech", "Nsynth_pitch", "DSing", "gtzan_beat", "GS_key")
    command = ["bench", "score", folder, "--annotations", SAMPLES / "annotations", "--json"]
    whole = json.loads(cmi(*command).stdout)
    log = tmp_path / "scores.jsonl"
    partial = log.with_name("scores.jsonl.partial")
    process = subprocess.Popen(
        [sys.executable, "-m", "cmi", *map(str, command), "--log", str(log)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and lines(partial) < 2:
        time.sleep(0.005)
    process.kill()
    process.wait()
    run = cmi(*command, "--log", log)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["cells"] == whole["cells"]
    assert len(log.read_text().splitlines()) == 12


def test_a_reader_that_leaves_is_no_error(tmp_path):
    run = subprocess.run(
        f"{sys.executable} -m cmi bench table | head -1", shell=True, capture_output=True, text=True, timeout=120
    )
    assert run.stderr == ""


def test_the_demo_runs_offline(tmp_path):
    run = cmi("bench", "demo", env={**os.environ, "HF_HUB_OFFLINE": "1", "CMI_CACHE": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    for row in ("GS-K", "EMO", "MTT", "M-50", "GTZ.", "SDD", "MC", "DS", "G-B", "BR-D", "MDB", "GZ"):
        assert row in run.stdout
    assert "Null baselines, protocol strict" in run.stdout
