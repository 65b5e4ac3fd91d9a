import math
from pathlib import Path

import numpy as np
import pytest

from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.tasks import (
    ALIGNMENT_PREFERENCE,
    OVERALL_BY_MEAN,
    TASKS,
    answers,
    ask,
    credit,
)
from cmi.take import Prompt, Score

NAN = math.nan


@pytest.mark.parametrize(
    ("protocol", "difference", "choice", "worth"),
    [
        ("paper", 1.0, "a", 1), ("paper", 1.0, "b", 0), ("paper", -1.0, "b", 1), ("paper", -1.0, "a", 0),
        ("paper", 0.0, "b", 1), ("paper", 0.0, "a", 0),  # a predicted tie is a vote for b
        ("paper", 5.0, "both", 0.5), ("paper", 0.0, "neither", 0.5), ("paper", NAN, "a", NAN),
        ("strict", 1.0, "a", 1), ("strict", -1.0, "a", 0), ("strict", -1.0, "b", 1), ("strict", 1.0, "b", 0),
        ("strict", 0.0, "a", 0.5), ("strict", 0.0, "b", 0.5),
        ("strict", 1.0, "both", NAN), ("strict", 0.0, "neither", NAN), ("strict", NAN, "a", NAN),
    ],
)  # fmt: skip
def test_what_an_answer_is_worth(protocol, difference, choice, worth):
    truth = {"a": 1.0, "b": 0.0, "both": 0.5, "neither": 0.5}[choice]
    found = credit(np.array([difference]), np.array([truth]), protocol)
    assert found[0] == pytest.approx(worth, nan_ok=True)


def test_each_item_is_part_of_the_tasks_that_its_labels_and_its_prompt_allow(pair, rated):
    reference = Prompt("p", "", Path("ref.wav"))
    items = [
        rated("r", 3.0), rated("s", 4.0, "alignment"), rated("t", 2.0, dataset="musiceval"),
        pair("m"), pair("o", axis="overall", dataset="music-arena"),
        pair("x", axis="alignment"), pair("y", axis="alignment", prompt=reference),
    ]  # fmt: skip
    found = {(one.task.name, one.dataset): [item.id for item in one.items] for one in ask(items)}
    assert found == {
        ("musicality regression", "pam"): ["r"],
        ("musicality regression", "musiceval"): ["t"],
        ("text alignment regression", "pam"): ["s"],
        ("musicality preference", "cmi-pref"): ["m"],
        ("musicality preference", "music-arena"): ["o"],
        ("text alignment preference", "cmi-pref"): ["x"],
        ("compositional alignment preference", "cmi-pref"): ["y"],
    }
    assert [item.id for item in ask(items, [ALIGNMENT_PREFERENCE])[0].items] == ["x", "y"]
    assert len(TASKS) == 5


def test_a_vote_on_musicality_comes_before_one_overall():
    votes = {"overall": Vote("a"), "musicality": Vote("b")}
    item = RatedItem("1", "d", Prompt("p"), (Path("a"), Path("b")), votes=votes)
    assert ask([item])[0].truth.tolist() == [0.0]


def test_a_pair_with_a_take_that_was_not_scored_has_no_answer(pair):
    items = [pair("1"), pair("2"), pair("3"), pair("4", axis="overall")]
    asked = ask(items)[0]
    scores = {("cmi-pref", "1"): (Score(2.0, 0.0), Score(0.5, 0.0)), ("cmi-pref", "2"): (Score(1.0, 0.0), None)}
    assert answers(asked, scores)[:3] == pytest.approx([1.5, NAN, NAN], nan_ok=True)
    both = {("cmi-pref", "4"): (Score(2.0, 0.0), Score(0.5, 1.0))}
    assert answers(ask(items, [OVERALL_BY_MEAN])[0], both).tolist() == [0.25]


def test_items_whose_prompt_is_not_given_do_not_become_one_cluster(rated):
    unknown = [rated(str(i), 3.0, dataset="musiceval", prompt=Prompt()) for i in range(3)]
    known = [rated(f"k{i}", 3.0, dataset="musiceval", prompt=Prompt(), prompt_id="7") for i in range(2)]
    clusters = ask(unknown + known)[0].clusters
    assert len(set(clusters)) == 4 and clusters[3] == clusters[4]
