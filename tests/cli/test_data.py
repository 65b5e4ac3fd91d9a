"""`cmi data` as a user meets it, without a network."""

import json
import os
import subprocess
import sys

import pytest

SCORES = "Model,File Name,Text,OVL,REL\nreal,1,a tango,4,5\nmusicldm,1,a tango,2,nan\nmusicldm,2,a waltz,,\n"


@pytest.fixture
def run(tmp_path):
    """`cmi data` with PAM on disk, of which one recording is missing."""
    music = tmp_path / "data" / "pam" / "human_eval" / "music"
    (music / "real").mkdir(parents=True)
    (music / "scores.csv").write_text(SCORES)
    (music / "real" / "1.wav").write_bytes(b"RIFF")

    def run(*arguments):
        command = [sys.executable, "-m", "cmi", "data", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "150", "CMI_DATA": str(tmp_path / "data")}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=100)

    return run


def test_list_says_sizes_licences_and_what_is_on_disk(run, tmp_path):
    (tmp_path / "data" / "cmi-pref.partial").mkdir()
    listed = run("list")
    assert listed.returncode == 0, listed.stderr
    rows = {line.split()[0]: line for line in listed.stdout.splitlines() if line.startswith(" ") and line.strip()}
    assert "CC BY-NC-SA 4.0" in rows["cmi-pref"] and "begun" in rows["cmi-pref"] and "15.0 GB" in rows["cmi-pref"]
    assert " yes " in rows["pam"] and " no " in rows["musiceval"]
    records = json.loads(run("list", "--json").stdout)["datasets"]
    assert {record["name"]: record["on_disk"] for record in records}["pam"] == "yes"


def test_check_counts_rows_beside_the_papers_and_records_checksums(run, tmp_path):
    first = run("check")
    assert first.returncode == 0, first.stderr
    assert "left out: no rating" in first.stdout
    assert "1 of those kept name a recording that is missing." in first.stdout
    assert "2 files, 98 B: checksums recorded now" in first.stdout
    assert "2 of 2 files, 98 B, are as recorded." in run("check", "pam").stdout
    (tmp_path / "data/pam/human_eval/music/real/1.wav").write_bytes(b"RIFX")
    changed = run("check", "pam")
    assert changed.returncode == 2
    assert "kept" in changed.stdout
    assert changed.stderr.strip().endswith("human_eval/music/real/1.wav: changed since it was recorded")


def test_check_reads_a_file_of_yours(run, tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"audio": "x.wav", "musicality": 3}\n')
    checked = run("check", "mine.jsonl", "--json")
    assert checked.returncode == 0, checked.stderr
    (record,) = json.loads(checked.stdout)["datasets"]
    assert (record["kept"], record["absent_audio"]) == (1, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "mine.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("get", "nothing"), "cmi: no data set is called 'nothing', expected one of pam, musiceval"),
        (("get", "own"), "cmi: own cannot be downloaded; name the file: mine.jsonl"),
        (("check", "musiceval"), "musiceval: not at "),
        (("check", "musiceval=data/pam"), "cmi: data/pam: no data/*.parquet in it, expected a data set as it was"),
        (("check", "--folder", "empty"), "cmi: empty: no data set is there; cmi data list names them"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, arguments, sentence):
    refused = run(*arguments)
    assert refused.returncode == 2
    assert sentence in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_get_of_what_is_there_asks_nobody(run):
    got = run("get", "pam")
    assert got.returncode == 0, got.stderr
    assert "kept" in got.stdout
