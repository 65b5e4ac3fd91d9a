"""Judges in the benchmark: which prompt is for which item, and what ties and unreadable answers are worth."""

import math
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.judge.prompt_file import read_role
from cmi.judge.run import Asking, Judged
from cmi.judge.verdict import Opinion, Verdict
from cmi.rewardbench.evaluation.cells import evaluate
from cmi.rewardbench.evaluation.tables import full_tables
from cmi.rewardbench.runs.judging import JudgedItem, assign, item_scores, joint_name
from cmi.rewardbench.runs.run_folder import About, question, read_run, write_items, write_pair_scores
from cmi.rewardbench.tasks import key
from cmi.take import Prompt, Score

REFERENCE = Path("reference.wav")


def roles(*names: str):
    return {name: read_role(name) for name in names}


def test_each_item_gets_the_most_specific_prompt_that_fits(pair, rated):
    items = [
        pair("music"),
        pair("words", axis="alignment"),
        pair("sound", axis="alignment", prompt=Prompt("x", "", REFERENCE)),
        rated("mark", 3.0),
        rated("fit", 3.0, axis="alignment"),
    ]
    asked = assign(
        items, roles("strict-musicality", "strict-text-alignment", "strict-audio-alignment", "rate-musicality")
    )
    assert {name: list(one.items) for name, one in asked.items()} == {
        "strict-musicality": ["cmi-pref music"],
        "strict-text-alignment": ["cmi-pref words"],
        "strict-audio-alignment": ["cmi-pref sound"],
        "rate-musicality": ["pam mark"],
    }
    assert asked["strict-musicality"].pairs[0].pair.a == Path("musica.wav")
    assert list(asked["rate-musicality"].takes) == ["pam mark"]


def test_one_prompt_for_both_axes_and_a_judge_without_prompts_take_all_pairs(pair):
    items = [pair("music"), pair("words", axis="alignment"), pair("whole", axis="overall", dataset="music-arena")]
    for judge in (roles("two-axes"), {"": None}):
        [found] = assign(items, judge).values()
        assert [list(axes) for axes in found.axes.values()] == [["musicality"], ["alignment"], ["musicality"]]
    [found] = assign(items, roles("overall")).values()
    assert list(found.items) == ["cmi-pref music", "music-arena whole"]


def test_two_prompts_for_the_same_thing_are_refused(pair):
    with pytest.raises(InputError, match="prompts two-axes and overall both judge the musicality of cmi-pref"):
        assign([pair("music")], roles("two-axes", "overall"))


def judged(role: str, **verdicts: Verdict) -> Judged:
    return Judged(f"m, prompt {role}", {Asking(f"cmi-pref {name}"): verdict for name, verdict in verdicts.items()})


def test_scores_come_from_choices_and_marks_and_what_cannot_be_read_is_listed(pair, rated):
    items = [pair("one"), pair("two"), pair("three"), rated("mark", 3.0, dataset="cmi-pref")]
    asked = assign(items, roles("strict-musicality", "rate-musicality"))
    found = item_scores(
        asked,
        {
            "strict-musicality": judged("s", one=Verdict({"musicality": Opinion("b")}), two=Verdict(why="no JSON")),
            "rate-musicality": judged("r", mark=Verdict(marks={"musicality": 4.5})),
        },
    )
    by_name = {name: one for (_, name), one in found.items()}
    assert [score.musicality for score in by_name["one"].scores] == [0, 1]
    assert by_name["two"].unread == ("musicality",) and math.isnan(by_name["two"].scores[0].musicality)
    assert by_name["mark"].scores[0].musicality == 4.5 and "three" not in by_name
    assert joint_name([judged("s"), judged("r")]) == "m, prompts s, r"
    assert joint_name([judged("s")]) == "m, prompt s"


@pytest.fixture
def pairs(pair):
    return [pair(i, "ab"[i % 2] if i < 28 else "both") for i in range(30)]


def run_of(folder: Path, pairs, judged_items) -> dict[str, object]:
    folder.mkdir()
    write_items(folder, [question(one) for one in pairs])
    write_pair_scores(folder, About("judge", ("musicality",), is_judge=True), judged_items)
    [system] = read_run(folder).systems
    return {"models": {"judge": system.scores}, "judges": {"judge": system.unread}}


def accuracy(pairs, protocol, models, judges):
    found = evaluate(pairs, models, {}, protocol, 200, judges=judges)
    return next(cell for cell in found.cells if cell.metric == "ACC"), found


def test_a_judge_that_always_calls_a_tie_gets_half_under_both_protocols(pairs, tmp_path):
    tie = (Score(0.5, math.nan), Score(0.5, math.nan))
    run = run_of(tmp_path / "run", pairs, {key(one): JudgedItem(tie) for one in pairs})
    for protocol, n in (("paper", 30), ("strict", 28)):
        cell, _ = accuracy(pairs, protocol, **run)
        assert (cell.value, cell.n, cell.unparsed, cell.unscored) == (0.5, n, 0, 0)
    scorer, _ = accuracy(pairs, "paper", run["models"], None)
    assert scorer.value == (14 + 1) / 30 and scorer.unparsed is None  # a scorer's equal scores are votes for b


def test_a_judge_that_is_never_readable_gets_nothing_under_paper_and_is_left_out_under_strict(pairs, tmp_path):
    missing = (Score(math.nan, math.nan),) * 2
    run = run_of(tmp_path / "run", pairs, {key(one): JudgedItem(missing, ("musicality",)) for one in pairs})
    paper, results = accuracy(pairs, "paper", **run)
    assert (paper.value, paper.n, paper.unparsed, paper.unscored) == (0.0, 30, 30, 0)
    table = full_tables(results, "paper")[0]
    assert "unparsed" in table.headers and "such a pair is wrong" in table.notes[1]
    strict, _ = accuracy(pairs, "strict", **run)
    assert (strict.value, strict.n, strict.unparsed) == (None, 0, 30)
