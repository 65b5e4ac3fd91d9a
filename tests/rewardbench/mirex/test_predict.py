"""Predictions from scores and from verdicts: what is probable, what is a tie, what has none; nothing is done twice."""

import json
import math

import pytest

from cmi._util.errors import InputError
from cmi.judge.run import Asking, Judged
from cmi.judge.verdict import Opinion, Verdict
from cmi.reward.scoring.scorers import NamedScorer
from cmi.rewardbench.mirex.disclose import BLANK, disclosure_sheet
from cmi.rewardbench.mirex.entry import check_predictions, read_entry
from cmi.rewardbench.mirex.predict import (
    FAILURES,
    choose_axis,
    claim_output,
    describe_scorer,
    predict_by_judge,
    predict_by_scorer,
    run_folder,
    seconds_per_pair,
    write_predictions,
)
from cmi.rewardbench.runs.looks import log_looks
from cmi.take import Score


class ByName:
    """Scores a file by the number that it is called after; counts what it was asked."""

    def __init__(self):
        self.asked = []

    def score(self, takes):
        for take in takes:
            if not take.audio.exists():
                raise InputError(f"{take.audio}: No such file or directory")
        self.asked += [take.audio.name for take in takes]
        return [Score(float(take.audio.stem), -float(take.audio.stem)) for take in takes]


@pytest.fixture
def entry(tmp_path, recording):
    for name in ("1", "3", "800"):
        recording(tmp_path / f"{name}.wav")
    pairs = {"far": ("1", "800"), "near": ("3", "1"), "same": ("1", "1"), "gone": ("1", "9")}
    rows = [{"id": n, "prompt": "x", "audio_A": f"{a}.wav", "audio_B": f"{b}.wav"} for n, (a, b) in pairs.items()]
    (tmp_path / "input.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_entry(tmp_path / "input.jsonl")


def predict(entry, out, scorer=None, by="musicality"):
    named = NamedScorer("by name", scorer or ByName())
    folder = claim_output(out, named.name, by)
    predicted = predict_by_scorer(entry, named, by, folder, lambda done: None)
    write_predictions(out, entry, predicted, describe_scorer(named, "cpu"))
    return predicted


def test_the_score_is_the_logistic_function_of_the_difference(entry, tmp_path):
    found = predict(entry, tmp_path / "p.jsonl")
    assert found.scores == {"far": 0.0, "near": pytest.approx(1 / (1 + math.exp(-2))), "same": 0.5}
    assert found.ties == ["same"]
    assert list(found.failures) == ["gone"]
    turned = predict(entry, tmp_path / "q.jsonl", by="alignment")
    assert turned.scores["near"] == pytest.approx(1 - found.scores["near"])
    assert predict(entry, tmp_path / "r.jsonl", by="mean").ties == ["far", "near", "same"]


def test_the_rest_is_written_in_the_inputs_order_and_the_failures_beside_it(entry, tmp_path):
    out = tmp_path / "p.jsonl"
    predict(entry, out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["far", "near", "same"]
    assert [set(row) for row in rows] == [{"id", "preference_score", "preferred_candidate"}] * 3
    assert [row["preferred_candidate"] for row in rows[:2]] == ["B", "A"]
    assert "9.wav" in (run_folder(out) / FAILURES).read_text()
    with pytest.raises(InputError, match="no prediction for 1 of 4 ids, such as 'gone'"):
        check_predictions(out, entry)


def test_the_same_command_scores_only_what_is_missing(entry, tmp_path, recording):
    out, scorer = tmp_path / "p.jsonl", ByName()
    predict(entry, out, scorer)
    recording(tmp_path / "9.wav")
    scorer.asked.clear()
    predict(entry, out, scorer)
    assert scorer.asked == ["9.wav"]
    assert check_predictions(out, entry).ties == 1
    seconds, pairs = seconds_per_pair(run_folder(out))
    assert seconds >= 0
    assert pairs == 4


def test_predictions_of_another_model_or_of_other_makers_are_not_overwritten(entry, tmp_path):
    out = tmp_path / "p.jsonl"
    predict(entry, out)
    with pytest.raises(InputError, match="started with by name, musicality, not with another"):
        claim_output(out, "another", "musicality")
    (tmp_path / "theirs.jsonl").write_text("")
    with pytest.raises(InputError, match="did not write it"):
        claim_output(tmp_path / "theirs.jsonl", "by name", "musicality")
    with pytest.raises(InputError, match="a folder, expected the name of a file"):
        claim_output(tmp_path, "by name", "musicality")
    with pytest.raises(InputError, match="no such folder"):
        claim_output(tmp_path / "nowhere" / "p.jsonl", "by name", "musicality")


def test_musicality_decides_unless_a_model_has_only_alignment():
    assert choose_axis("", ("musicality", "alignment"), "m") == "musicality"
    assert choose_axis("", ("alignment",), "clap") == "alignment"
    with pytest.raises(InputError, match="--by mean: clap has no musicality score, only alignment"):
        choose_axis("mean", ("alignment",), "clap")


def verdicts(**choices):
    """Verdicts on a pair by its choices in both orders, in terms of its own a and b; '' for an unreadable answer."""
    judged = Judged("judge")
    for pair, both in choices.items():
        for order, choice in zip(("forward", "reverse"), both.split(), strict=True):
            opinions = {} if choice == "-" else {"musicality": Opinion(choice)}
            judged.verdicts[Asking(pair, order)] = Verdict(opinions)
    return judged


def test_a_judge_is_heard_in_both_orders_and_contradicting_itself_is_a_tie(entry, tmp_path):
    judged = verdicts(far="b b", near="a both", same="a b", gone="- -")
    found = predict_by_judge(entry, "", tmp_path, lambda place: judged, 2)
    assert found.scores == {"far": 0.0, "near": 0.75, "same": 0.5}
    assert found.ties == ["same"]
    assert "could be read" in found.failures["gone"]


def test_a_pair_of_which_one_order_failed_has_no_prediction(entry, tmp_path):
    judged = verdicts(far="b b", near="a a", same="a a", gone="a a")
    del judged.verdicts[Asking("near", "reverse")]
    judged.failures[Asking("near", "reverse")] = "the endpoint is down"
    found = predict_by_judge(entry, "", tmp_path, lambda place: judged, 2)
    assert found.failures == {"near": "the endpoint is down"}


def test_the_sheet_says_what_is_known_and_leaves_blanks(entry, tmp_path, pair):
    out = tmp_path / "p.jsonl"
    predict(entry, out)
    log_looks([pair(1, split="test")], ["one", "two"])
    sheet = disclosure_sheet(out)
    assert "| Model | by name |" in sheet
    assert "| Pairs, predicted, ties | 4, 3, 1 |" in sheet
    assert "s per pair, over" in sheet
    assert "probability that A is preferred" in sheet
    assert "| cmi-pref |" in sheet
    assert "| 2 |" in sheet
    assert sheet.count(BLANK) >= 8


@pytest.mark.parametrize("about", ['{"settings": 3}', '{"machine": []}', '{"card": 4}', '{"bytes": "x"}', "[]", "{"])
def test_a_damaged_record_of_a_run_is_one_sentence(tmp_path, about):
    folder = run_folder(tmp_path / "p.jsonl")
    folder.mkdir()
    (folder / "about.json").write_text(about)
    with pytest.raises(InputError, match=r"about\.json"):
        disclosure_sheet(tmp_path / "p.jsonl")


def test_a_sheet_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="run `cmi mirex predict`"):
        disclosure_sheet(tmp_path / "p.jsonl")
