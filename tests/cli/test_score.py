"""`cmi score` as a user meets it, with a small random checkpoint."""

import json
import shutil
import subprocess
import time

import numpy as np
import pytest
import soundfile
from safetensors.torch import load_file, save_file


@pytest.fixture
def run(score_command):
    """`cmi score` run to its end."""

    def run(*arguments):
        process = score_command(*arguments)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run


@pytest.fixture
def takes(tmp_path):
    """Six takes in a manifest; two of them can't be heard."""
    for i in range(4):
        noise = np.random.default_rng(i).standard_normal(24_000 * (i + 1)) / 10
        soundfile.write(tmp_path / f"take{i}.flac", noise, 24_000)
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    rows = [{"id": f"t{i}", "audio": f"take{i}.flac", "text": f"prompt {i % 2}"} for i in range(4)]
    rows += [{"id": "bad", "audio": "broken.wav"}, {"id": "gone", "audio": "nowhere.wav", "lyrics": "la"}]
    (tmp_path / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def lines(path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:  # not there yet, or finished and renamed just now
        return 0


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def test_takes_of_one_prompt_are_shown_in_a_table(run, checkpoint, takes):
    shown = run(
        takes / "take0.flac",
        takes / "take1.flac",
        "--text",
        "slow piano",
        "--reference",
        takes / "take2.flac",
        "--model",
        checkpoint,
    )
    assert shown.returncode == 0, shown.stderr
    assert "musicality" in shown.stdout
    assert "take1.flac" in shown.stdout
    assert "2.0" in shown.stdout
    assert f"Scored by {checkpoint.name}@" in shown.stdout


def test_broken_files_are_listed_and_the_rest_is_scored(run, checkpoint, takes):
    scored = run("--manifest", takes / "takes.jsonl", "--model", checkpoint, "--json")
    assert scored.returncode == 2
    assert scored.stderr.strip().splitlines()[-1] == (
        "cmi: 2 of 6 takes could not be scored; the reasons are listed with the scores"
    )
    found = records(scored.stdout)
    assert [record["id"] for record in found] == ["t0", "t1", "t2", "t3", "bad", "gone"]
    assert all({"musicality", "alignment", "seconds", "model"} <= set(record) for record in found[:4])
    assert "broken.wav" in found[4]["error"]
    assert "nowhere.wav" in found[5]["error"]
    alone = run(takes / "take1.flac", "--text", "prompt 1", "--model", checkpoint, "--json")
    for name in ("musicality", "alignment"):
        assert records(alone.stdout)[0][name] == pytest.approx(found[1][name], abs=1e-6)


def test_a_killed_run_resumes_to_the_same_result(run, score_command, checkpoint, takes):
    log = takes / "scores.jsonl"
    whole = run("--manifest", takes / "takes.jsonl", "--model", checkpoint, "--json").stdout
    arguments = ["--manifest", takes / "takes.jsonl", "--model", checkpoint, "--json", "--log", log]
    process = score_command(*arguments)
    partial = log.with_name("scores.jsonl.partial")
    while process.poll() is None and lines(partial) < 1:
        time.sleep(0.005)
    process.kill()
    process.wait()
    resumed = run(*arguments)
    for record, wanted in zip(records(resumed.stdout), records(whole), strict=True):
        assert record == pytest.approx(wanted, abs=1e-6)
    assert log.read_text().count("\n") == 4  # what could not be heard is tried again next time


def test_a_take_that_is_named_twice_is_scored_once(run, checkpoint, takes):
    log = takes / "scores.jsonl"
    twice = run(takes / "take0.flac", takes / "take0.flac", "--model", checkpoint, "--json", "--log", log)
    assert twice.returncode == 0, twice.stderr
    first, second = records(twice.stdout)
    assert first == second
    assert log.read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to score"),
        (["take0.flac", "--model", "."], "no such file; expected a folder with model.safetensors"),
        (["--manifest", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, takes, monkeypatch, arguments, message):
    monkeypatch.chdir(takes)
    failed = run(*arguments)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


def test_help_has_examples(run):
    shown = run("--help")
    assert "cmi score take1.wav" in shown.stdout


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_scores_over_time_are_drawn_and_named(run, checkpoint, takes, suffix):
    noise = np.random.default_rng(9).standard_normal(24_000 * 25) / 10
    noise[: 24_000 * 10] /= 50
    soundfile.write(takes / "long.flac", noise, 24_000)
    picture = takes / f"long{suffix}"
    shown = run(takes / "long.flac", takes / "take0.flac", "--explain", picture, "--model", checkpoint, "--json")
    assert shown.returncode == 0, shown.stderr
    long, short = records(shown.stdout)
    assert [(section["start"], section["end"]) for section in long["explained"]["sections"]] == [
        (0, 10),
        (10, 20),
        (20, 25),
    ]
    scores = [section["musicality"] for section in long["explained"]["sections"]]
    extremes = long["explained"]["musicality"]
    assert (scores[extremes["weakest"]], scores[extremes["strongest"]]) == (min(scores), max(scores))
    clock = ["0:00-0:10", "0:10-0:20", "0:20-0:25"]
    assert f"musicality is strongest at {clock[extremes['strongest']]}" in long["notes"][0]
    assert short["notes"] == ["too short to compare its parts"]
    assert picture.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--explain", "takes.pdf"], "a picture is a file named .png or .svg"),
        (["--explain", "nowhere/takes.png"], "nowhere: no such folder"),
        (["--window", "all"], "expected one of first10, mean10, first120, full"),
        (["--device", "abacus"], "device 'abacus' is not available"),
    ],
)
def test_a_wrong_option_is_found_before_anything_is_scored(run, checkpoint, takes, monkeypatch, arguments, message):
    monkeypatch.chdir(takes)
    failed = run("take0.flac", "--model", checkpoint, *arguments)
    assert failed.returncode == 2
    assert message in failed.stderr


OWN = """
from cmi.take import Score

class Words:
    def score(self, takes):
        with open("asked.txt", "a") as asked:
            asked.writelines(f"{take.audio}\\n" for take in takes)
        return [Score(take.audio.stat().st_size, len(take.prompt.text.split())) for take in takes]
"""


def test_a_class_of_your_own_scores_too_around_a_missing_file_and_resumes(run, takes, monkeypatch):
    monkeypatch.chdir(takes)
    (takes / "own_scorers.py").write_text(OWN)
    command = ("--manifest", "takes.jsonl", "--model", "own_scorers:Words", "--log", "scores.jsonl", "--json")
    shown = run(*command)
    assert shown.returncode == 2
    assert "1 of 6 takes could not be scored" in shown.stderr
    first, *_, gone = records(shown.stdout)
    assert first["model"].startswith("own_scorers:Words@")
    assert (first["musicality"], first["alignment"]) == ((takes / "take0.flac").stat().st_size, 2)
    assert "window" not in first
    assert "nowhere.wav" in gone["error"]
    (takes / "asked.txt").unlink()
    assert run(*command).stdout == shown.stdout
    assert set((takes / "asked.txt").read_text().split()) == {"nowhere.wav"}


def test_options_of_checkpoints_are_refused_for_a_class_of_your_own(run, takes, monkeypatch):
    monkeypatch.chdir(takes)
    refused = run("take0.flac", "--model", "own_scorers:Words", "--window", "mean10")
    assert refused.returncode == 2
    assert "--window and --all-words are for reward models alone" in refused.stderr


def test_a_recording_that_is_cut_off_is_scored_with_a_note(run, checkpoint, takes):
    """Also one whose codec library has its own warnings: the terminal has ours alone."""
    noise = np.random.default_rng(9).standard_normal(10 * 44_100) / 10
    soundfile.write(takes / "cut.mp3", noise, 44_100, format="MP3")
    content = (takes / "cut.mp3").read_bytes()
    (takes / "cut.mp3").write_bytes(content[: len(content) // 3])
    asked = (takes / "cut.mp3", takes / "take1.flac", "--model", checkpoint)
    shown, scored = run(*asked), run(*asked, "--json")  # the second time from the cache
    assert shown.returncode == scored.returncode == 0, shown.stderr
    assert "Xing" not in shown.stderr
    cut, whole = records(scored.stdout)
    (note,) = cut["notes"]
    assert note == f"cut off: {cut['seconds']:.1f} of 10.0 s"
    assert "notes" not in whole
    assert f"cut.mp3: {note}." in " ".join(shown.stdout.split())


def test_weights_that_are_nan_are_one_sentence(run, checkpoint, takes):
    state = load_file(checkpoint / "model.safetensors")
    state["score_projector.3.bias"][0] = float("nan")
    damaged = takes / "damaged"
    shutil.copytree(checkpoint, damaged)
    save_file(state, damaged / "model.safetensors")
    scored = run(takes / "take0.flac", "--model", damaged, "--json")
    assert scored.returncode == 2
    assert scored.stdout == ""
    assert scored.stderr.splitlines()[-1].startswith(
        f"cmi: {damaged}/model.safetensors: score_projector.3.bias holds NaN"
    )
