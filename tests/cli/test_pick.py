"""`cmi pick` and `cmi studio generate` as a user meets them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile

OWN = """
import numpy as np
import soundfile
from cmi.take import Score

class Loud:
    def score(self, takes):
        with open("asked.txt", "a") as asked:
            asked.writelines(f"{take.audio}\\n" for take in takes)
        return [Score(float(np.abs(soundfile.read(take.audio)[0]).mean()), 0.0) for take in takes]

class Soft:
    def score(self, takes):
        return [Score(1 - score.musicality, 0.0) for score in Loud().score(takes)]
"""


@pytest.fixture
def run(tmp_path):
    """`cmi` run to its end beside own_scorers.py and takes/: three prompts with three takes, the last the loudest."""
    (tmp_path / "own_scorers.py").write_text(OWN)
    for number in range(3):
        folder = tmp_path / "takes" / f"prompt{number}"
        folder.mkdir(parents=True)
        (folder / "prompt.json").write_text(json.dumps({"text": f"prompt number {number}"}))
        for i in range(3):
            noise = np.random.default_rng([number, i]).standard_normal(8_000)
            soundfile.write(folder / f"{i}.wav", noise * 0.02 * (i + 1), 16_000)

    def run(*arguments):
        command = [sys.executable, "-m", "cmi", *map(str, arguments)]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=200)

    return run


def test_the_best_take_of_each_prompt_is_shown_and_copied_and_a_broken_one_left_out(run, tmp_path):
    (tmp_path / "takes" / "prompt0" / "2.wav").write_text("not a sound")
    shown = run("pick", "takes", "--model", "own_scorers:Loud", "--copy-to", "best")
    assert shown.returncode == 0, shown.stderr
    assert "Picked by own_scorers:Loud@" in shown.stdout
    assert "Left out: takes/prompt0/2.wav" in shown.stdout
    taken = {path.name: path.read_bytes() for path in (tmp_path / "best").iterdir()}
    picked = {"prompt0": "1.wav", "prompt1": "2.wav", "prompt2": "2.wav"}
    assert taken == {f"{name}.wav": (tmp_path / "takes" / name / file).read_bytes() for name, file in picked.items()}


def test_a_checkpoint_picks_too_around_a_broken_file(run, tmp_path, checkpoint):
    (tmp_path / "takes" / "prompt1" / "0.wav").write_text("not a sound")
    shown = run("pick", "takes", "--model", checkpoint, "--json")
    assert shown.returncode == 0, shown.stderr
    picks = json.loads(shown.stdout)["picks"]
    assert [(len(pick["ranking"]), len(pick["broken"])) for pick in picks] == [(3, 0), (2, 1), (3, 0)]
    assert all(pick["ranking"][0]["score"] >= pick["ranking"][1]["score"] for pick in picks)


def test_a_manifest_gives_json_and_its_log_spares_a_second_run(run, tmp_path):
    rows = [{"audio": f"takes/prompt{n}/{i}.wav", "text": f"number {n}"} for i in range(3) for n in range(2)]
    (tmp_path / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("pick", "--manifest", "takes.jsonl", "--log", "scores.jsonl", "--json", "--model")
    first = run(*command, "own_scorers:Loud", "--weights", "musicality=1")
    again = run(*command, "own_scorers:Loud", "--weights", "musicality=1")
    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == len(rows)
    report = json.loads(first.stdout)
    assert report["model"].startswith("own_scorers:Loud@")
    assert report["weights"] == {"musicality": 1.0, "alignment": 0.0}
    assert [pick["picked"] for pick in report["picks"]] == ["takes/prompt0/2.wav", "takes/prompt1/2.wav"]
    assert [take["audio"][-5] for take in report["picks"][0]["ranking"]] == ["2", "1", "0"]
    assert report["picks"][0]["text"] == "number 0"


def test_a_curve_says_what_another_scorer_thinks_of_the_picks(run, tmp_path):
    command = ("pick", "takes", "--model", "own_scorers:Loud", "--second", "own_scorers:Soft", "--curve", "2,3")
    shown = run(*command, "--plot", "curve.svg", "--log", "scores.jsonl")
    assert shown.returncode == 0, shown.stderr
    assert "n = 3 prompts" in shown.stdout
    assert shown.stdout.count("own_scorers:Soft@") == 1
    assert "Diversity of the picks" in shown.stdout
    assert "<svg" in (tmp_path / "curve.svg").read_text()[:2000]
    curve = json.loads(run(*command, "--log", "scores.jsonl", "--json").stdout)["curve"]
    gains = {(point["axis"], point["n"]): point["gain"]["mean"] for point in curve["points"]}
    assert 0 == gains["musicality", 1] > gains["musicality", 2] > gains["musicality", 3]  # the loudest is worst
    assert [found["n"] for found in curve["diversity"]] == [1, 2, 3]


def test_a_curve_that_needs_more_takes_is_refused_before_any_is_scored(run, tmp_path):
    curve = ("--curve", "1,4", "--second", "own_scorers:Soft")
    refused = run("pick", "takes", "--model", "own_scorers:Loud", *curve)
    assert refused.returncode == 2
    assert "asks for 4 takes of a prompt, and none has more than 3" in refused.stderr
    assert not (tmp_path / "asked.txt").exists()


def test_if_nothing_can_be_picked_the_exit_code_is_2_and_the_reasons_are_listed(run, tmp_path):
    for path in (tmp_path / "takes").rglob("*.wav"):
        path.write_text("not a sound")
    curve = ("--curve", "3", "--second", "own_scorers:Soft", "--plot", "curve.png")
    shown = run("pick", "takes", "--model", "own_scorers:Loud", *curve)
    assert shown.returncode == 2
    assert shown.stdout.count("Left out: ") == 9
    assert shown.stderr.strip().startswith("cmi: nothing could be picked: none of 9 takes")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "expected a folder"),
        (("takes", "--manifest", "takes.jsonl"), "expected a folder"),
        (("nowhere",), "nowhere: no such folder"),
        (("takes", "--curve", "1,3"), "--curve needs --second or --arena"),
        (("takes", "--plot", "curve.png"), "--plot needs --second"),
        (("takes", "--arena", "study"), "each of them needs --curve"),
        (("takes", "--weights", "loudness=1"), "'loudness=1', expected such as"),
        (("takes", "--model", "nowhere:Scorer"), "no module 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, arguments, sentence):
    refused = run("pick", *arguments)
    assert refused.returncode == 2
    assert refused.stderr.startswith("cmi: ")
    assert sentence in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert refused.stdout == ""


def test_generated_takes_are_picked_perfectly_by_the_truth(run, tmp_path):
    made = run("studio", "generate", "made", "--prompts", 2, "--candidates", 2, "--seed", 1)
    assert made.returncode == 0, made.stderr
    assert made.stdout == "made/takes.jsonl: 4 takes for 2 prompts\n"
    (tmp_path / "same.py").write_text("from cmi.studio.generate import Truth as Same\n")
    truth, same = "cmi.studio.generate:Truth", "same:Same"
    shown = run("pick", "made", "--model", truth, "--second", same, "--curve", "2", "--json")
    assert shown.returncode == 0, shown.stderr
    overall = json.loads(shown.stdout)["curve"]["points"][1]
    assert overall["score"]["mean"] == pytest.approx(overall["oracle"])


def test_several_scorers_judge_the_picks_and_none_judges_its_own(run):
    command = ("pick", "takes", "--model", "own_scorers:Loud", "--curve", "1,3", "--second")
    refused = run(*command, "own_scorers:Loud")
    assert refused.returncode == 2 and "the model that picks cannot judge its own picks" in refused.stderr
    shown = run(*command, "own_scorers:Soft", "--second", "tags")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(run(*command, "own_scorers:Soft", "--second", "tags", "--json").stdout)
    soft, tags = found["curves"]
    assert "judged by all" in shown.stdout and shown.stdout.count("Diversity") == 1
    assert {point["axis"] for point in soft["curve"]["points"]} == {"overall", "musicality", "alignment"}
    assert {point["axis"] for point in tags["curve"]["points"]} == {"alignment"}  # all that it scores


def test_picks_of_each_n_and_ground_truths_become_pairs_by_one_command(run, tmp_path):
    for number in range(3):
        noise = np.random.default_rng(number).standard_normal(8_000) * 0.05
        soundfile.write(tmp_path / "takes" / f"prompt{number}" / "ground-truth.wav", noise, 16_000)
    command = ("pick", "takes", "--model", "own_scorers:Loud", "--curve", "1,3", "--arena", "study")
    shown = run(*command)
    assert shown.returncode == 0, shown.stderr
    assert "Pairs in study, 3 prompts" in shown.stdout
    assert "cmi arena matrix VOTES --study study" in shown.stdout
    pairs = (tmp_path / "study" / "preferences.jsonl").read_bytes()
    study = json.loads(run(*command, "--json").stdout)["study"]
    assert study["conditions"] == ["N=1", "N=3", "ground truth"]
    assert all(takes["N=3"].endswith("2.wav") for takes in study["prompts"].values())  # the loudest
    assert (tmp_path / "study" / "preferences.jsonl").read_bytes() == pairs
    refused = run(*command[:4], "--curve", "1,2", "--arena", "study")
    assert refused.returncode == 2 and "another study" in refused.stderr


def test_the_best_and_the_worst_take_of_each_prompt_become_pairs_for_trainers(run, tmp_path):
    (tmp_path / "takes" / "prompt0" / "2.wav").write_text("not a sound")
    command = ("pick", "takes", "--model", "own_scorers:Loud", "--dpo", "pairs.jsonl", "--json", "--log", "log.jsonl")
    shown = run(*command, "--dpo-margin", "0.01")
    assert shown.returncode == 0, shown.stderr
    dpo = json.loads(shown.stdout)["dpo"]
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert dpo == {"file": "pairs.jsonl", "pairs": 2, "margin": 0.01, "too_few": [], "too_close": ["prompt0"]}
    assert [(row["prompt"], row["chosen"], row["rejected"]) for row in rows] == [
        (f"prompt number {n}", f"takes/prompt{n}/2.wav", f"takes/prompt{n}/0.wav") for n in (1, 2)
    ]
    assert all(row["margin"] == row["score_chosen"] - row["score_rejected"] >= 0.01 for row in rows)
    refused = run(*command, "--dpo-margin", "nan")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--dpo-margin nan: expected a number from 0 up" in refused.stderr
