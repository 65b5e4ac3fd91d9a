"""RewardBench 2 on music: best of k and ties, by hand and against what chance earns."""

from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.rewardbench.analysis.analyse import AnalysisSetting, analyse
from cmi.rewardbench.analysis.best_of_k import (
    best_of_k_tables,
    credit_of_best,
    credit_of_ties,
    group_credits,
    take_groups,
)
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.run_folder import About, System
from cmi.rewardbench.runs.sources import Source
from cmi.take import Prompt, Score

FEW = st.integers(-2, 2).map(float)  # few values, so that ties come up


def rated(prompt, *ratings, dataset="pam", axis="musicality"):
    return [
        RatedItem(f"{prompt}-{i}", dataset, Prompt(prompt), (Path(f"{prompt}-{i}.wav"),), {axis: rating})
        for i, rating in enumerate(ratings)
    ]


def compared(prompt, *votes):
    """Votes such as 'a>b', 'b=c' on takes named by letters."""
    items = []
    for number, vote in enumerate(votes):
        first, second = (Path(f"{prompt}-{name}.wav") for name in (vote[0], vote[2]))
        choice = {">": "a", "<": "b", "=": "both"}[vote[1]]
        votes_ = {"musicality": Vote(choice)}
        items.append(RatedItem(f"{prompt}-{number}", "own", Prompt(prompt), (first, second), votes=votes_))
    return items


def names(takes, items):
    by_key = {(item.dataset, item.id): item for item in items}
    return {by_key[places[0][0]].takes[places[0][1]].stem[-1] for places in takes}


def scores_by(items, of):
    return {(i.dataset, i.id): tuple(Score(of(take), of(take)) for take in i.takes) for i in items}


def only(items, of, measure="best of k", resamples=200):
    found = list(group_credits(take_groups(items), {"m": scores_by(items, of)}, resamples))
    return next(one for one in found if one.measure == measure)


@given(FEW, st.lists(FEW, min_size=1, max_size=5))
def test_the_credit_is_that_of_the_released_code(right, wrong):
    scores = np.array([right, *wrong])
    highest = scores.max()
    assert credit_of_best(right, wrong) == (1 / (scores == highest).sum() if right == highest else 0)


@given(st.lists(FEW, min_size=1, max_size=6))
def test_over_which_take_is_right_credits_add_up_to_one(scores):
    every = [credit_of_best(scores[i], [*scores[:i], *scores[i + 1 :]]) for i in range(len(scores)) if len(scores) > 1]
    assert len(scores) == 1 or sum(every) == pytest.approx(1)


@given(st.lists(FEW, min_size=2, max_size=4), st.lists(FEW, min_size=1, max_size=4))
def test_a_margin_needs_the_accuracy(right, wrong):
    is_accurate, has_margin = credit_of_ties(right, wrong)
    assert is_accurate or not has_margin
    assert is_accurate == all(r > w for r in right for w in wrong)


def test_groups_of_rated_takes_have_the_highest_rated_as_right():
    items = [
        *rated("calm", 4.5, 3.0, 2.0),
        *rated("wild", 4.0, 4.0, 1.0),
        *rated("same", 2.0, 2.0, 2.0),
        *rated("few", 5, 1),
    ]
    groups = take_groups(items)
    assert [(len(group.right), len(group.wrong)) for group in groups] == [(1, 2), (2, 1)]


def test_a_take_rated_twice_counts_once_by_its_mean():
    items = rated("calm", 5.0, 4.0, 2.0, 1.0)
    again = RatedItem("again", "pam", Prompt("calm"), items[0].takes, {"musicality": 1.0})
    (group,) = take_groups([*items, again])
    assert group.k == 4
    assert names(group.right, items) == {"1"}


def test_groups_without_text_go_by_the_id_of_the_prompt():
    items = [
        RatedItem(
            str(i),
            "musiceval",
            Prompt(),
            (Path(f"{i}.wav"),),
            {"musicality": 1.0 + i % 4},
            about={"prompt_id": f"P{i // 4}"},
        )
        for i in range(8)
    ]
    assert [group.k for group in take_groups(items)] == [4, 4]
    assert (
        take_groups([RatedItem(str(i), "songeval", Prompt(), (Path(f"{i}"),), {"musicality": 3.0}) for i in range(9)])
        == []
    )


def test_one_chosen_and_three_rejected_are_a_group_of_four():
    items = compared("calm", "a>b", "c<a", "a>d")
    (group,) = take_groups(items)
    assert (names(group.right, items), names(group.wrong, items)) == ({"a"}, {"b", "c", "d"})


def test_unbeaten_takes_are_all_right_and_majorities_decide():
    items = compared("calm", "a>c", "b>c", "a>d", "b>d", "a=b", "c>a", "a>c")
    (group,) = take_groups(items)
    assert (names(group.right, items), names(group.wrong, items)) == ({"a", "b"}, {"c", "d"})
    assert take_groups(compared("circle", "a>b", "b>c", "c>a")) == []


def test_how_often_a_take_was_compared_does_not_break_a_tie_of_scores():
    items = compared("calm", "a>b", "a>c", "a>d", "a>b", "a>c", "a>d")
    assert only(items, lambda take: 0.1).value == 0.25  # a is scored six times, each of the others twice


def test_hand_computed_values_and_intervals():
    items = [take for i in range(12) for take in rated(f"p{i}", 5.0, 2.0, 3.0, 1.0)]
    order = {"0": 3.0, "1": 1.0, "2": 2.0, "3": 0.0}

    def mostly(take):  # wrong on the first three prompts, tied with one other on the next two
        prompt, number = take.stem[1:].split("-")
        if int(prompt) < 3:
            return -order[number]
        return 3.0 if int(prompt) < 5 and number == "2" else order[number]

    found = only(items, mostly)
    assert found.value == pytest.approx((7 + 2 * 0.5) / 12)
    assert found.low < found.value < found.high
    assert (found.chance, found.n, found.least_k, found.most_k, found.unscored) == (0.25, 12, 4, 4, 0)


def test_ties_by_hand():
    items = [*rated("p", 4.0, 4.0, 1.0), *rated("q", 4.0, 4.0, 1.0), *rated("r", 4.0, 4.0, 1.0)]
    table = {"p": (5.0, 4.5, 1.0), "q": (5.0, 2.0, 1.0), "r": (5.0, 0.0, 1.0)}  # margin, accuracy alone, neither
    found = only(items, lambda take: table[take.stem[0]][int(take.stem[2])], "ties")
    assert (found.accuracy, found.margin) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert found.value == pytest.approx(0.6 * 2 / 3 + 0.4 / 3)
    assert found.chance == pytest.approx(1 / comb(3, 2))


def test_an_unscored_take_costs_its_group_and_is_counted():
    items = [*rated("p", 5.0, 2.0, 1.0), *rated("q", 5.0, 2.0, 1.0)]
    scores = scores_by(items, lambda take: -float(take.stem[2]))
    scores["pam", "q-1"] = (None,)
    (found,) = group_credits(take_groups(items), {"m": scores}, 100)
    assert (found.n, found.unscored, found.value) == (1, 1, 1.0)


def test_a_constant_earns_chance_exactly_and_random_scores_nearly():
    rng = np.random.default_rng(0)
    items = [take for i in range(2000) for take in rated(f"p{i}", *(rng.permutation(4) + 1.0))]
    assert only(items, lambda take: 1.0).value == 0.25
    found = only(items, lambda take: rng.random())
    assert found.low - 0.01 <= 0.25 <= found.high + 0.01
    noisy = {item.takes[0]: item.ratings["musicality"] + rng.normal(0, 1.5) for item in items}
    assert 0.4 < only(items, noisy.get).value < 0.8
    truth = {item.takes[0]: item.ratings["musicality"] for item in items}
    assert only(items, truth.get).value == 1


def test_the_analysis_has_models_and_nulls_and_is_silent_without_groups():
    items = tuple(
        RatedItem(item.id, item.dataset, item.prompt, item.takes, item.ratings, about={"generator": item.id[-1]})
        for i in range(12)
        for item in rated(f"p{i}", 5.0, 2.0, 3.0)
    )
    source = Source(items, (System(About("m"), scores_by(items, lambda take: -float(take.stem[-1]))),), {})
    found = analyse([source], ["best-of-k"], AnalysisSetting("strict", 100))["best-of-k"]
    assert {record["model"] for record in found.records} == {"m", "generator prior"}
    assert [row[2] for row in found.tables[0].rows] == ["m", "null: generator prior"]
    assert best_of_k_tables([], []) == []
