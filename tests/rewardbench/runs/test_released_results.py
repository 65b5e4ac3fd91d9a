"""The authors' evaluator, from their own synthetic rows where they are at hand, and from rows of ours."""

import csv
import json
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.rewardbench.evaluation.cells import evaluate
from cmi.rewardbench.runs.released_results import as_items, detail, duration_bin, read_durations, read_released, summary
from cmi.rewardbench.tasks import ALIGNMENT_PREFERENCE, TASKS

NUMBERS = ("SRCC", "LCC", "K-Tau", "ACC")


@pytest.fixture
def golden(shared: Path) -> Path:
    folder = shared / "golden" / "rewardbench-eval"
    if not folder.is_dir():
        pytest.skip("no golden/rewardbench-eval in the shared folder (set CMI_SHARED)")
    return folder


def is_same(line, expected):
    for field, text in expected.items():
        if field in NUMBERS and text:
            assert line[field] == pytest.approx(float(text), abs=1e-12), (field, expected)
        else:
            assert ("" if line[field] is None else str(line[field])) == text, (field, expected)
    return list(line) == list(expected)


@pytest.mark.parametrize(("name", "compute"), [("summary", summary), ("detail", detail)])
def test_the_authors_numbers_come_out_to_the_last_digit(golden, name, compute):
    lines = compute(read_released(golden / "results.jsonl"))
    with (golden / "expected" / f"metrics_{name}.csv").open(newline="") as file:
        expected = list(csv.DictReader(file))
    assert len(lines) == len(expected) and all(map(is_same, lines, expected))


def test_our_tasks_under_paper_agree_with_the_authors_evaluator(golden):
    rows = read_released(golden / "results.jsonl")
    items, scores, _ = as_items(rows)
    cells = evaluate(items, {"m": scores}, {}, "paper", 100, tasks=(*TASKS, ALIGNMENT_PREFERENCE)).cells
    ours = {(cell.dataset, cell.task.split()[0], cell.metric): (cell.value, cell.n) for cell in cells}
    ours |= {("music-arena", "preference", "ACC"): ours["music-arena", "musicality", "ACC"]}
    names = {"PAM": "pam", "MusicEval": "musiceval", "MusicArena": "music-arena", "CMI-Pref": "cmi-pref"}
    for line in summary(rows):
        task = "text" if (line["dataset"], line["task"]) == ("PAM", "alignment") else line["task"]
        for metric in NUMBERS:
            if line[metric] is not None:
                value, n = ours[names[line["dataset"]], task, metric]
                assert (value, n) == (pytest.approx(line[metric], abs=1e-12), line["n"])


def row(source, **more):
    return {"source": source, "split": "test", "audio-path": "x.wav", "prompt": "p", "lyrics": "", **more}


def battle(month, label, predicted, **more):
    path = f"MusicArena_data/audio/{month}/1.mp3"
    labels = {"preference": label, "predicted_preference": predicted}
    return row("Music Arena") | {"audio-path": path, "audio2": "y.mp3"} | labels | more


def vote(musicality, predicted, confidence=4, **more):
    fields = {"audio2": "y.mp3", "ref-audio-path": "", "preference-musicality": musicality}
    fields |= {"preference-alignment": "model_a", "predicted_preference-alignment": "model_b"}
    fields |= {"predicted_preference-musicality": predicted, "confidence_preference-musicality": confidence}
    return row("cmi-arena-annotation", **fields) | {"confidence_preference-alignment": None} | more


@pytest.fixture
def results(tmp_path: Path):
    rows = [
        *(row("PAM-x", musicality=m, predicted_musicality=p) for m, p in [(1, 0.1), (2, 0.2), (3, 0.4), ("4", "0.3")]),
        row("PAM-x", musicality=None, predicted_musicality=0.9),
        battle("2025-08", "A", "model_a"),
        battle("2025-08", "model_b", "model_a"),
        battle("2025-09", "neither", "model_b"),
        battle("2025-09", "tie", "model_b"),
        battle("2025-09", "a", None),
        vote("model_a", "model_a"),
        vote("model_b", "model_a", 3, lyrics="la"),
        vote("model_b", "model_b", None, **{"ref-audio-path": "r.mp3", "lyrics": None}),
        {**vote("model_a", "model_b"), "split": "train"},
        row("unheard of"),
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_the_summary_by_hand(results):
    lines = {(line["dataset"], line["task"]): line for line in summary(read_released(results))}
    pam = lines["PAM", "musicality"]
    assert (pam["n"], pam["SRCC"], pam["K-Tau"]) == (4, pytest.approx(0.8), pytest.approx(4 / 6))
    arena, pref = lines["MusicArena", "preference"], lines["CMI-Pref", "musicality"]
    assert (arena["n"], arena["ACC"]) == (3, pytest.approx(1.5 / 3))  # the tie and the missing prediction are out
    assert (pref["n"], pref["ACC"]) == (3, pytest.approx(2 / 3))


def test_the_groups_by_hand(results):
    seconds = {"x.wav": 20.0, "y.mp3": 40.0, "MusicArena_data/audio/2025-08/1.mp3": 200.0}
    lines = detail(read_released(results), seconds)
    found = {
        (line["task"], line["group_key"], line["group_value"], line["ref_category"] or ""): (line["n"], line["ACC"])
        for line in lines
        if line["dataset"] != "PAM"
    }
    assert found["preference", "month", "2025-08", ""] == (2, 0.5)
    assert found["preference", "month", "2025-09", ""] == (1, 0.5)
    assert found["musicality", "modality", "text+lyrics+ref", ""] == (1, 1.0)  # lyrics that are null count as present
    assert found["musicality", "confidence", ">3", "no_ref"] == (1, 1.0)
    assert found["musicality", "confidence", "=3", "all"] == (1, 0.0)
    assert found["musicality", "confidence", "<3", "all"] == (0, None)
    assert found["alignment", "ref_subset", "ref", ""] == (1, 0.0)
    assert found["musicality", "modality_type", "instru", ""] == (1, 1.0)
    assert found["musicality", "duration_bin", "[30,60)", ""] == (3, pytest.approx(2 / 3))
    assert found["preference", "duration_bin", "[120,500]", ""] == (2, 0.5)
    [pam] = [line for line in lines if line["dataset"] == "PAM" and line["task"] == "musicality"]
    assert (pam["group_value"], pam["n"], pam["SRCC"]) == ("[10,30)", 4, pytest.approx(0.8))


def test_a_null_is_absent_where_we_read_the_rows_as_items(results):
    items, _, left_out = as_items(read_released(results))
    assert [item.prompt.modality for item in items if item.dataset == "cmi-pref"] == [
        "text",
        "text+lyrics",
        "text+audio",
    ]
    assert left_out == 2  # the tie, and the take without a rating


@pytest.mark.parametrize(
    ("seconds", "name"),
    [([10], "[10,30)"), ([20, 41], "[30,60)"), ([500], "[120,500]"), ([501], None), ([9.9], None), ([20, None], None)],
)
def test_bins_of_seconds(seconds, name):
    assert duration_bin(seconds) == name


def test_a_row_without_its_label_is_named(results):
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    del rows[5]["predicted_preference"]
    results.write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.raises(InputError, match="line 6: no 'predicted_preference'"):
        summary(read_released(results))


def test_files_that_are_something_else_are_refused_in_one_sentence(tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"a": 1}\n')
    with pytest.raises(InputError, match="expected the authors' results"):
        read_released(other)
    with pytest.raises(InputError, match="expected a JSON object of seconds"):
        other.write_text('{"a": "x"}')
        read_durations(other)
