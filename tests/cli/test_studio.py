"""`cmi studio` as a user meets it."""

import json
import os
import subprocess
import sys

import pytest

UNSUNG = 28  # a seed whose first pairs have no lyrics: they need no vocals extra


@pytest.fixture
def run(tmp_path):
    """`cmi studio` run to its end in a folder of its own, where `taken` is a file."""
    (tmp_path / "taken").write_text("")

    def run(*arguments):
        command = [sys.executable, "-m", "cmi", "studio", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=200)

    return run


def test_make_writes_a_set_and_says_what_is_in_it(run, tmp_path):
    made = run("make", "set", "--pairs", 2, "--seed", UNSUNG, "--workers", 1, "--hold-out", "performance")
    assert made.returncode == 0, made.stderr
    about = json.loads((tmp_path / "set" / "about.json").read_text())
    assert about["held_out"] == ["performance"]
    rows = (tmp_path / "set" / "preferences.jsonl").read_text().splitlines()
    assert len(rows) == about["kept"] > 0
    assert f"{about['kept']} pairs" in made.stdout
    assert "Held out of all splits but heldout: performance." in made.stdout


def test_show_writes_a_page_of_one_flaw_of_each_family_and_says_where_it_is(run, tmp_path):
    shown = run("show", "page", "--seed", 2, "--style", "piano ballad", "--strength", 0.8)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip() == "page/index.html"
    html = (tmp_path / "page" / "index.html").read_text()
    assert "piano ballad" in html
    assert html.count("Strength 0.8") == 3
    versions = {"clean", "noise", "wrong-notes", "bars-shuffled"}
    assert {path.stem for path in (tmp_path / "page").glob("audio/*.flac")} == versions
    assert {path.stem for path in (tmp_path / "page").glob("pictures/*.png")} == versions


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("show", "page", "--flaw", "wobble"), "unknown flaw or family 'wobble'"),
        (("show", "page", "--style", "polka"), "style 'polka' is not one of"),
        (("show", "taken"), "taken: Not a directory"),
        (("make", "set", "--hold-out", "wobble"), "unknown flaw or family 'wobble'"),
        (("make", "taken"), "taken: Not a directory"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, tmp_path, arguments, sentence):
    refused = run(*arguments)
    assert refused.returncode == 2
    assert sentence in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert refused.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]  # nothing was begun


def test_mir_writes_instructions_that_bench_reads(run, tmp_path):
    made = run("mir", "mir", "--clips", 2)
    assert made.returncode == 0, made.stderr
    assert "mir/annotations/CMI_GS_key.jsonl: 2 instructions" in made.stdout
    assert len(list((tmp_path / "mir" / "audio").glob("*.flac"))) == 4
    assert run("mir", "taken/mir").returncode == 2
