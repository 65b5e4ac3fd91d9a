"""`cmi rewardbench` as a user meets it: in a process of its own."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cmi.testing.chat_endpoint import fake_endpoint, sounds_of
from cmi.testing.probe_listener import answer_probe, is_probe

SCORERS = """
import soundfile
from cmi.take import Score

class Ear:
    def score(self, takes):
        levels = [float(abs(soundfile.read(take.audio)[0]).max()) for take in takes]
        return [Score(10 * level, -level) for level in levels]

class Deaf:
    def score(self, takes):
        return [Score(0.0, 0.0) for _ in takes]
"""


def cmi(folder: Path, *arguments: object, code: int = 0) -> str:
    command = [sys.executable, "-m", "cmi", "rewardbench", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty pairs in which the louder take wins nine times out of ten, of which one has lost a file; run by two."""
    place = tmp_path_factory.mktemp("rewardbench")
    (place / "scorers.py").write_text(SCORERS)
    rng = np.random.default_rng(0)
    rows = []
    for i in range(30):
        for side, level in zip("ab", (0.5, 0.25) if i % 2 else (0.25, 0.5), strict=True):
            soundfile.write(place / f"{i}{side}.wav", level * rng.uniform(-1, 1, 4000), 8000)
        prompt = {"text": f"p{i}", "lyrics": "la" if i % 2 else ""}
        for axis in ("musicality", "alignment"):
            louder, softer = "ab" if i % 2 else "ba"
            choice = softer if i % 10 == 0 else louder
            row = {"a": f"{i}a.wav", "b": f"{i}b.wav", "axis": axis, "choice": choice, "confidence": 1 + i % 5}
            rows.append({**prompt, **row, "rater": "r", "month": f"2025-{1 + i % 2:02d}"})
    (place / "3a.wav").unlink()
    (place / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = ("--model", "scorers:Ear", "--model", "scorers:Deaf")
    (place / "first.txt").write_text(cmi(place, "run", *models, "--data", "mine.jsonl", "--out", "out"))
    cmi(place, "run", "--model", "scorers:Ear", "--without-prompt", "--data", "mine.jsonl", "--out", "out")
    return place


def test_a_run_ends_with_what_failed_and_where_each_model_stands(folder):
    shown = (folder / "first.txt").read_text()
    assert "3a.wav" in shown and "scorers:Ear@" in shown and "null: louder" in shown
    start = shown.index("own: musicality preference")
    line = next(line for line in shown[start:].splitlines() if "scorers:Ear" in line)
    assert " 89.66 " in line and " 29 " in line and " louder " in line  # 26 of 29; the null does just as well


def test_numbers_go_to_tensorboard_with_their_n_interval_and_null(folder):
    models = ("--model", "scorers:Ear", "--model", "scorers:Deaf")
    cmi(folder, "run", *models, "--data", "mine.jsonl", "--out", "out", "--log-to", "tensorboard:curves")
    ears = [str(one) for one in (folder / "curves").iterdir() if one.name.startswith("out-scorers-Ear@")]
    events = EventAccumulator(min(ears, key=len))  # the other one has no prompts
    events.Reload()
    name = "own/musicality preference ACC"
    found = {part: events.Scalars(name + part)[0].value for part in ("", " low", " high", " n", " best null")}
    assert found[""] == pytest.approx(26 / 29) and found[" n"] == 29 and found[" low"] < found[""] < found[" high"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("table",), "no plot: reliability plots need preferences, --protocol strict and the folder of a run"),
        (("analyse", "out", "--only", "context"), "no plot: only accuracies by group are drawn, and there are none"),
    ],
)
def test_no_picture_is_drawn_of_nothing(folder, tmp_path, arguments, said):
    command = [sys.executable, "-m", "cmi", "rewardbench", *arguments, "--plots", str(tmp_path / "pictures")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and list((tmp_path / "pictures").iterdir()) == []
    assert done.stderr == f"cmi: {tmp_path / 'pictures'}: {said}\n"


def test_the_tables_hold_the_published_rows_in_every_format(folder):
    published = cmi(folder, "table")
    assert "SongEval-RM" in published and "as published" in published
    assert all(f"Table {number}" in published for number in (2, 3, 4, 5, 9, 10, 11, 14, 15, 16, 17, 20, 21))
    assert "Tables 18, 19" in published
    for form, mark in (
        ("markdown", "| model |"),
        ("latex", r"\begin{tabular}"),
        ("table", "Models against each other"),
    ):
        shown = cmi(folder, "table", "out", "--format", form)
        assert mark in shown and "SongEval-RM" in shown and "73.88" in shown
    cells = json.loads(cmi(folder, "table", "out", "--json", "--protocol", "strict"))
    assert cells["protocol"] == "strict" and cells["resamples"] == 2000 and cells["calibration"] and cells["versus"]
    rows = list(csv.DictReader(io.StringIO(cmi(folder, "table", "out", "--format", "csv"))))
    deaf = next(r for r in rows if r["model"].startswith("scorers:Deaf") and r["group"] == "all")
    assert float(deaf["value"]) == pytest.approx(12 / 30)  # under `paper` all ties go to b
    strict = next(c for c in cells["cells"] if c["model"].startswith("scorers:Deaf") and c["metric"] == "ACC")
    assert (strict["value"], strict["n"], strict["unscored"]) == (0.5, 30, 0)


def test_analyses_and_their_pictures(folder):
    found = json.loads(cmi(folder, "analyse", "out", "--json", "--plots", "pictures"))
    assert {one["analysis"] for one in found["records"]} >= {"modality", "kind", "month", "confidence", "context"}
    silent = {"duration", "windows", "aggregate", "predictors", "question", "best-of-k"}
    assert set(found["not_in_the_data"]) == silent
    assert (folder / "pictures" / "confidence.png").stat().st_size > 1000
    cmi(folder, "table", "out", "--protocol", "strict", "--plots", "pictures", "--format", "csv")
    assert (folder / "pictures" / "reliability.png").stat().st_size > 1000
    only = cmi(folder, "analyse", "out", "--only", "context")
    assert "no prompt" not in only and "Table 14" in only and "+0.00" in only  # this ear reads no prompts


def test_the_authors_evaluator_writes_their_two_files(folder):
    row = {"source": "PAM", "split": "test", "audio-path": "x", "musicality": 1, "predicted_musicality": 2}
    (folder / "results.jsonl").write_text("".join(json.dumps(row | {"musicality": i}) + "\n" for i in range(3)))
    cmi(folder, "released", "results.jsonl", "--out", "metrics")
    assert (folder / "metrics" / "metrics_summary.csv").read_text().startswith("dataset,task,n,SRCC,LCC,K-Tau,ACC\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("table", "nowhere"), "nowhere: no such file or folder"),
        (("analyse", "out", "--only", "mood"), "--only mood: unknown analysis, expected one of modality"),
        (("run", "--model", "scorers:Ear", "--data", "nothing", "--out", "x"), "neither a file nor a data set"),
        (("run", "--model", "scorers:None", "--data", "mine.jsonl", "--out", "x"), "has no class"),
        (("run", "--model", "scorers:Ear", "--window", "first10", "--data", "mine.jsonl", "--out", "x"), "--window"),
        (("run", "--model", "x", "--out", "x", "--log-to", "paper:p"), "--log-to 'paper:p': expected tensorboard:"),
        (("released", "mine.jsonl", "--out", "x"), "expected the authors' results"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(folder, arguments, sentence):
    said = cmi(folder, *arguments, code=2)
    assert sentence in said and said.count("\n") == 1


def test_every_command_has_an_example(folder):
    for command in ("run", "table", "analyse", "released"):
        assert f"cmi rewardbench {command}" in cmi(folder, command, "--help")


JUDGES = """
import soundfile
from cmi._util.errors import InputError
from cmi.judge.verdict import Opinion, Verdict

class Louder:
    def judge(self, pairs):
        return [Verdict({axis: Opinion(self.choice(pair)) for axis in ("musicality", "alignment")}) for pair in pairs]

    def choice(self, pair):
        try:
            a, b = (float(abs(soundfile.read(sound)[0]).max()) for sound in (pair.a, pair.b))
        except RuntimeError as error:
            raise InputError(str(error)) from error
        return "a" if a > b else "b"
"""


def test_a_judge_stands_beside_the_models(folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "copy")
    (place / "judges.py").write_text(JUDGES)
    for _ in range(2):  # the second time all is there
        said = cmi(place, "judge", "out", "--model", "judges:Louder")
        assert "judges:Louder" in said
    rows = json.loads(cmi(place, "table", "out", "--protocol", "strict", "--json"))["cells"]
    whole = [row for row in rows if row["metric"] == "ACC" and row["group"] == "all"]
    by_judge, by_ear = (
        {row["task"]: row for row in whole if row["model"].startswith(name) and "no prompt" not in row["model"]}
        for name in ("judges:Louder", "scorers:Ear")
    )
    music, text = "musicality preference", "text alignment preference"
    assert (by_judge[music]["n"], by_judge[music]["unscored"]) == (29, 1)
    assert by_judge[music]["value"] == by_ear[music]["value"]
    assert by_judge[text]["value"] == pytest.approx(1 - by_ear[text]["value"])


def test_a_judge_needs_pairs(tmp_path):
    soundfile.write(tmp_path / "x.wav", np.random.default_rng(0).uniform(-1, 1, 4000), 8000)
    (tmp_path / "scorers.py").write_text(SCORERS)
    (tmp_path / "rated.jsonl").write_text(json.dumps({"audio": "x.wav", "musicality": 3}) + "\n")
    cmi(tmp_path, "run", "--model", "scorers:Ear", "--data", "rated.jsonl", "--out", "out")
    said = cmi(tmp_path, "judge", "out", "--model", "judges:Louder", code=2)
    assert "no items for this judge" in said and "rate-musicality" in said


def answer_by_loudness(body: dict) -> str:
    """Choose the louder take, mark a take by its level, and write nonsense about every fifth prompt's music."""
    levels = [float(abs(sound.samples).max()) for sound in sounds_of(body)]
    text = json.dumps(body)
    if "model_a" not in text:
        return json.dumps({"score": 1 + 4 * levels[0]})
    if "as music" in text and any(f"\\np{i}\\n" in text for i in (0, 5, 10, 15, 20, 25)):
        return "A lovely tune."
    return json.dumps(
        {"overall_preference": "model_a" if levels[0] > levels[1] else "model_b", "score_a": 3, "score_b": 3}
    )


def test_one_prompt_for_each_task_fills_the_row_of_a_language_model(folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "copy")
    rng = np.random.default_rng(1)
    rows = []
    for i in range(12):
        level = 0.05 + 0.07 * i
        sound = rng.uniform(-1, 1, 16_000)
        soundfile.write(place / f"rated{i}.wav", level * sound / abs(sound).max(), 8000)
        rows.append(
            {
                "id": f"r{i}",
                "audio": f"rated{i}.wav",
                "text": f"r{i}",
                "musicality": 1 + 4 * level,
                "alignment": 5 - 4 * level,
            }
        )
    (place / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cmi(place, "run", "--model", "scorers:Ear", "--data", "mine.jsonl", "--data", "rated.jsonl", "--out", "both")
    prompts = ("strict-musicality", "strict-text-alignment", "rate-musicality", "rate-alignment")
    options = [word for name in prompts for word in ("--prompt", name)]
    with fake_endpoint(answer_by_loudness) as server:
        command = ("judge", "both", "--url", server.url, "--model", "m", "--audio-from", ".", *options)
        shown = cmi(place, *command)
        asked = sum(server.calls.values())
        cmi(place, *command)
        assert sum(server.calls.values()) == asked  # nothing is asked twice
    assert "Marks" in shown and "answers are not a verdict" in shown
    for protocol, expected in (("paper", (29, 23 / 29)), ("strict", (23, 1.0))):
        rows = json.loads(cmi(place, "table", "both", "--protocol", protocol, "--json"))["cells"]
        [name] = {row["model"] for row in rows if row["model"].startswith("m, prompts")}
        own = {(row["task"], row["metric"]): row for row in rows if row["model"] == name and row["group"] == "all"}
        music = own["musicality preference", "ACC"]
        assert (music["unparsed"], music["unscored"]) == (6, 1)
        assert (music["n"], music["value"]) == (expected[0], pytest.approx(expected[1]))
        assert own["text alignment preference", "ACC"]["unparsed"] == 0
        assert own["musicality regression", "SRCC"]["value"] > 0.9
        assert own["text alignment regression", "SRCC"]["value"] < -0.9
    assert "unparsed" in cmi(place, "table", "both") and "such a pair is wrong" in cmi(place, "table", "both")


def test_an_endpoint_is_sent_recordings_of_the_data_only(folder):
    endpoint = ("--url", "http://127.0.0.1:9/v1", "--model", "m")
    refused = cmi(folder, "judge", "out", *endpoint, code=2)
    assert f"is not in {(folder / 'out').resolve()} or " in refused and "--audio-from" in refused
    assert "Connection refused" in cmi(folder, "judge", "out", *endpoint, "--audio-from", ".", code=2)


def test_how_much_a_judge_hears_is_asked_once_for_all_prompts_and_stands_below_the_table(tmp_path):
    (tmp_path / "scorers.py").write_text(SCORERS)
    rows = []
    for i in range(4):
        for side, level in zip("ab", (0.5, 0.25), strict=True):
            soundfile.write(tmp_path / f"{i}{side}.wav", level * np.ones(13 * 8000), 8000)
        pair = {"text": f"t{i}", "a": f"{i}a.wav", "b": f"{i}b.wav", "choice": "a", "rater": "r"}
        rows += [pair | {"axis": axis} for axis in ("musicality", "alignment")]
    (tmp_path / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cmi(tmp_path, "run", "--model", "scorers:Ear", "--data", "long.jsonl", "--out", "out")
    prompts = ("--prompt", "strict-musicality", "--prompt", "strict-text-alignment")
    note = "this server hears 20 s of a clip"

    def answer(body: dict) -> str:
        return answer_probe(body, 20) if is_probe(body) else answer_by_loudness(body)

    with fake_endpoint(answer) as server:
        judge = (
            "judge",
            "out",
            "--url",
            server.url,
            "--model",
            "listens",
            *prompts,
            "--one-order",
            "--audio-from",
            ".",
        )
        assert note in " ".join(cmi(tmp_path, *judge).split())
        assert server.calls.total() == 7 + 2 * 4
        assert note in " ".join(cmi(tmp_path, *judge).split())
        assert server.calls.total() == 7 + 2 * 4
    assert note in " ".join(cmi(tmp_path, "table", "out").split())
