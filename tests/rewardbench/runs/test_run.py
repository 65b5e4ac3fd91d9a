"""A run goes to its end whatever the files are like, keeps what it has, and does nothing twice."""

import gc
import json
import signal
import subprocess
import sys
import time
import weakref
from contextlib import contextmanager
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs import run as running
from cmi.rewardbench.runs.run_folder import About, question, read_items, read_run, write_items
from cmi.rewardbench.runs.sources import read_sources
from cmi.take import Prompt, Score


class Counting:
    """Hears how loud a file is said to be by its name; refuses what is no sound."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score(self, takes):
        for take in takes:
            if not take.audio.is_file() or take.audio.stat().st_size < 100:
                raise InputError(f"{take.audio}: not a recording")
        self.asked += [take.audio.name for take in takes]
        return [Score(float(take.audio.stem.split("-")[1]), len(take.prompt.text)) for take in takes]


@pytest.fixture
def preferences(tmp_path, recording) -> Path:
    """100 pairs of files 'i-loudness.wav'; the louder wins. Two of a hundred takes are broken or missing."""
    folder = tmp_path / "set"
    rows = []
    for i in range(100):
        a, b = (recording(folder / f"{i}-{level}.wav", level / 10) for level in ((1, 2) if i % 2 else (2, 1)))
        winner = "b" if i % 2 else "a"
        row = {"text": f"p{i // 2}", "a": a.name, "b": b.name, "axis": "musicality", "choice": winner}
        rows.append({"id": str(i), **row, "confidence": 1 + i % 5, "month": f"2025-{1 + i % 3:02d}"})
    for i in range(0, 8, 4):
        (folder / f"{i}-2.wav").write_bytes(b"no sound")
        (folder / f"{i + 1}-2.wav").unlink()
    path = folder / "preferences.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run_once(preferences, out, scorer=None, prompt=True):
    questions = running.prepare([str(preferences)], out)
    scorer = scorer or Counting()
    about = About("counting", prompt=prompt)
    return running.score_questions(questions, about, NamedScorer("counting", scorer), out, lambda done: None), scorer


def test_two_percent_broken_audio_costs_two_percent_and_is_told(preferences, tmp_path):
    out = tmp_path / "out"
    outcome, _ = run_once(preferences, out)
    assert (outcome.takes, len(outcome.failures)) == (200, 4)
    source = read_sources([out])[0]
    cells = source.evaluate("strict", 200).cells
    assert [(c.n, c.unscored) for c in cells if c.model == "counting" and c.metric == "ACC"] == [(96, 4)]
    assert next(c.value for c in cells if c.model == "counting") == 1.0
    [kept] = (out / "models").glob("*/failures.jsonl")
    assert all("not a recording" in json.loads(line)["error"] for line in kept.read_text().splitlines())
    table = running.outcome_table([outcome], out)
    assert table.rows[0][1:] == ["200", "196", "4"] and len(table.notes) == 4


def test_nulls_hear_what_can_be_heard(preferences, tmp_path):
    out = tmp_path / "out"
    run_once(preferences, out)
    running.measure_takes(running.prepare([str(preferences)], out), out, lambda done: None)
    cells = read_sources([out])[0].evaluate("strict", 200).cells
    louder = next(c for c in cells if c.model == "louder")
    assert (louder.value, louder.n, louder.unscored) == (1.0, 96, 4)
    assert next(c.best_null for c in cells if c.model == "counting") == "louder"


def test_nothing_is_scored_twice_and_a_mended_file_is_scored(preferences, tmp_path, recording):
    out = tmp_path / "out"
    run_once(preferences, out)
    outcome, scorer = run_once(preferences, out)
    assert scorer.asked == [] and len(outcome.failures) == 4
    recording(preferences.parent / "0-2.wav", 0.2)
    outcome, scorer = run_once(preferences, out)
    assert scorer.asked == ["0-2.wav"] and len(outcome.failures) == 3


def test_a_take_of_several_pairs_is_scored_once(tmp_path, recording):
    for name in ("a-1.wav", "b-2.wav", "c-3.wav"):
        recording(tmp_path / name)
    names = [("a-1.wav", "b-2.wav"), ("b-2.wav", "c-3.wav"), ("a-1.wav", "c-3.wav")]
    rows = [{"text": "p", "a": a, "b": b, "axis": "musicality", "choice": "b"} for a, b in names]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, scorer = run_once(path, tmp_path / "out")
    assert sorted(scorer.asked) == ["a-1.wav", "b-2.wav", "c-3.wav"]


def test_the_prompt_can_be_kept_from_the_model(preferences, tmp_path):
    out = tmp_path / "out"
    run_once(preferences, out)
    run_once(preferences, out, prompt=False)
    systems = {system.about.name: system.scores for system in read_run(out).systems}
    assert {name: scores["own", "2"][0].alignment for name, scores in systems.items()} == {
        "counting": 2.0,
        "counting, no prompt": 0.0,
    }


def test_one_model_is_in_memory_at_a_time(preferences, tmp_path, monkeypatch):
    alive: list[weakref.ref[Counting]] = []

    @contextmanager
    def open_model(name, window, prompt, device, ray):
        gc.collect()
        assert not [one for one in alive if one() is not None]
        scorer = Counting()
        alive.append(weakref.ref(scorer))
        yield About(name), NamedScorer(name, scorer)

    monkeypatch.setattr(running, "open_model", open_model)
    questions = running.prepare([str(preferences)], tmp_path / "out")
    found = list(
        running.run(["x", "y", "z"], questions, tmp_path / "out", "", True, "cpu", lambda *_: lambda done: None)
    )
    assert [one.about.name for one in found] == ["x", "y", "z"]


SLOW = """
import time
from cmi.take import Prompt, Score

class Slow:
    def score(self, takes):
        time.sleep(0.2)
        return [Score(1.0, 1.0) for _ in takes]
"""


def test_a_run_that_was_killed_goes_on_where_it_was(preferences, tmp_path):
    (tmp_path / "slow_model.py").write_text(SLOW)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "cmi", "rewardbench", "run", "--model", "slow_model:Slow"]
    command += ["--data", str(preferences), "--out", str(out)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def scored() -> int:
        logs = list((out / "models").glob("*/scores.jsonl*"))
        return len(logs[0].read_bytes().splitlines()) if logs else 0

    until = time.monotonic() + 60
    while scored() < 20 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = scored()
    assert 20 <= kept < 200
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    [log] = (out / "models").glob("*/scores.jsonl")
    keys = [json.loads(line)["key"] for line in log.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 200


def test_data_sets_of_one_run_come_one_after_the_other_and_twice_is_refused(preferences, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(InputError, match="occurs twice"):
        running.prepare([str(preferences), str(preferences)], out)
    with pytest.raises(InputError, match="neither a file nor a data set"):
        running.prepare(["nothing"], out)


def test_a_label_outside_the_known_set_names_its_line(preferences, tmp_path):
    text = preferences.read_text().replace('"choice": "b"', '"choice": "maybe"', 1)
    preferences.write_text(text)
    with pytest.raises(InputError, match="line 2: 'choice' is 'maybe'"):
        running.prepare([str(preferences)], tmp_path / "out")


def test_a_studio_set_is_data_like_any_other(preferences, tmp_path):
    assert len(running.prepare([str(preferences.parent)], tmp_path / "out", "all")) == 100


def test_a_model_has_no_number_on_an_axis_that_it_says_nothing_about(preferences, tmp_path):
    out = tmp_path / "out"
    questions = running.prepare([str(preferences)], out)
    about = About("similarity", axes=("alignment",))
    running.score_questions(questions, about, NamedScorer("similarity", Counting()), out, lambda done: None)
    cells = read_sources([out])[0].evaluate("strict", 100).cells
    assert [(c.value, c.n) for c in cells if c.model == "similarity"] == [(None, 0), (None, 0)]


def test_what_the_model_says_of_a_take_that_it_scored_is_told_and_kept(tmp_path, recording):
    """That a recording was cut off, say; also by a run that has nothing left to score."""

    class Telling:
        def judge(self, takes, read):
            for take in takes:
                notes = ("cut off: 3.4 of 10.0 s",) if take.audio.name == "a.wav" else ()
                yield ScoredTake(Score(1.0, 1.0), notes=notes)

    rows = [{"id": "1", "text": "p", "a": recording(tmp_path / "a.wav", 0.1).name, "axis": "musicality", "choice": "a"}]
    rows[0]["b"] = recording(tmp_path / "b.wav", 0.2).name
    preferences = tmp_path / "preferences.jsonl"
    preferences.write_text(json.dumps(rows[0]) + "\n")
    questions = running.prepare([str(preferences)], tmp_path / "out")
    for _ in range(2):
        scorer = NamedScorer("told", Counting(), Telling())
        outcome = running.score_questions(questions, About("told"), scorer, tmp_path / "out", lambda done: None)
        assert outcome.remarks == [(str(tmp_path / "a.wav"), "cut off: 3.4 of 10.0 s")]
        table = running.outcome_table([outcome], tmp_path / "out")
        assert table.notes == (f"{tmp_path / 'a.wav'}: cut off: 3.4 of 10.0 s.",)


def test_one_take_under_two_prompts_is_asked_scored_and_read_back(tmp_path, recording):
    clip = recording(tmp_path / "0-1.wav")
    votes = {"alignment": Vote("b")}
    item = RatedItem(
        "x", "own", Prompt("wrong"), (clip, clip), {}, votes, {"cluster": "right text"}, Prompt("the right one")
    )
    write_items(tmp_path, [question(item)])
    (read,) = read_items(tmp_path)
    assert (read.item.asked, read.item.cluster) == (item.asked, "own\nright text")
    outcome = running.score_questions([read], About("c"), NamedScorer("c", Counting()), tmp_path, lambda done: None)
    assert outcome.takes == 2
    cells = read_sources([tmp_path])[0].evaluate("strict", 100).cells
    assert [cell.value for cell in cells if cell.metric == "ACC" and not cell.is_null] == [1.0]


def test_what_was_heard_before_there_was_a_density_is_still_read(preferences, tmp_path):
    out = tmp_path / "out"
    run_once(preferences, out)
    running.measure_takes(running.prepare([str(preferences)], out), out, lambda done: None)
    heard = [json.loads(line) for line in (out / "heard.jsonl").read_text().splitlines()]
    old = [{name: value for name, value in record.items() if name != "density"} for record in heard]
    (out / "heard.jsonl").write_text("".join(json.dumps(record) + "\n" for record in old))
    cells = read_sources([out])[0].evaluate("strict", 100).cells
    assert {cell.model for cell in cells if cell.is_null} >= {"louder", "brighter", "longer"}
    assert "denser" not in {cell.model for cell in cells}


def test_a_recording_is_heard_once_for_nulls_however_often_it_is_asked_about(tmp_path, recording, monkeypatch):
    clip, other = recording(tmp_path / "0-1.wav"), recording(tmp_path / "0-2.wav")
    items = [RatedItem(t, "own", Prompt(t), (clip, other), {}, {"alignment": Vote("a")}) for t in ("one", "two")]
    heard, measure = [], running.measure_features
    monkeypatch.setattr(running, "measure_features", lambda audio: heard.append(audio) or measure(audio))
    running.measure_takes([question(item) for item in items], tmp_path, lambda done: None)
    assert sorted(heard) == [clip, other]
    assert len((tmp_path / "heard.jsonl").read_text().splitlines()) == 4
