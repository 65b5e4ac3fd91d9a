"""Win rates, ranking and covariates of systems."""

import numpy as np
import pytest

from cmi.arena.statistics.covariates import covariates
from cmi.arena.statistics.ranking import ranking, wins
from cmi.stats.ranking import SEPARATED_PRIOR


def duel(vote, one, other, won, lost, **fields):
    return [
        vote(
            f"h{i % 7}",
            f"{one}{other}{i}",
            side := "a" if i < won else "b",
            side,
            system_a=one,
            system_b=other,
            **fields,
        )
        for i in range(won + lost)
    ]


def of(rows, system, axis="musicality"):
    return next(row for row in rows if row["system"] == system and row["axis"] == axis)


def test_two_systems_have_the_log_odds_of_their_votes(vote):
    found = ranking(duel(vote, "x", "y", 30, 10), 20)
    row = of(found["systems"], "x")
    assert row["strength"] == pytest.approx(np.log(3) / 2) and row["rank"] == row["best"] == row["worst"] == 1
    assert row["low"] < row["strength"] < row["high"] and found["groups"] == [["x", "y"]]


def test_win_rates_have_n_and_both_directions(vote):
    found = wins(duel(vote, "x", "y", 30, 10) + duel(vote, "x", "z", 5, 5) + [vote(system_a="", pair="q")])
    assert (of(found["systems"], "x")["wins"], of(found["systems"], "x")["votes"], found["left_out"]) == (35, 50, 1)
    matrix = {(row["system"], row["against"]): row for row in found["matrix"] if row["axis"] == "musicality"}
    assert (matrix["x", "y"]["rate"], matrix["y", "x"]["rate"], ("y", "z") in matrix) == (0.75, 0.25, False)


def test_systems_with_few_votes_are_left_out_and_named_and_so_are_those_they_leave_with_few(vote):
    votes = duel(vote, "x", "y", 15, 15) + duel(vote, "y", "z", 9, 9) + duel(vote, "z", "w", 3, 2)
    found = ranking(votes, 20)
    assert {row["system"] for row in found["systems"]} == {"x", "y"}
    assert found["left_out"] == [{"system": "w", "votes": 5}, {"system": "z", "votes": 23}]


def test_systems_that_never_met_are_ranked_apart(vote):
    found = ranking(duel(vote, "x", "y", 20, 10) + duel(vote, "u", "w", 10, 20), 20)
    assert found["groups"] == [["u", "w"], ["x", "y"]]
    assert [of(found["systems"], name)["rank"] for name in "uwxy"] == [2, 1, 1, 2]


def test_a_prior_is_said_and_only_used_where_it_must_be(vote):
    beaten = ranking(duel(vote, "x", "y", 25, 0), 20)
    assert {row["prior"] for row in beaten["axes"]} == {SEPARATED_PRIOR}
    assert of(beaten["systems"], "x")["strength"] > 1
    assert {row["prior"] for row in ranking(duel(vote, "x", "y", 24, 1), 20)["axes"]} == {0}


def test_a_vote_of_confidence_one_is_a_tie_to_davidson_and_a_vote_to_bradley_and_terry(vote):
    guesses = [one._replace(pair=f"g{one.pair}") for one in duel(vote, "x", "y", 20, 0, musicality_confidence=1)]
    found = ranking(duel(vote, "x", "y", 20, 20) + guesses, 20)
    row, fit = of(found["systems"], "x"), found["axes"][1]
    assert row["strength"] > 0.2 and row["davidson"] == pytest.approx(0, abs=1e-9)
    assert (fit["ties"], fit["equals_tie"]) == (20, pytest.approx(1 / 3))
    assert found["axes"][0]["ties"] == 0


def test_only_unsure_votes_leave_davidson_undefined_and_the_rest_standing(vote):
    found = ranking(duel(vote, "x", "y", 20, 10, musicality_confidence=1), 20)
    assert of(found["systems"], "x")["davidson"] is None and of(found["systems"], "x")["strength"] > 0


def test_three_people_cannot_say_how_people_differ(vote):
    votes = [one._replace(person=f"h{i % 3}") for i, one in enumerate(duel(vote, "x", "y", 30, 20))]
    assert ranking(votes, 20)["axes"][0]["people"] is None and ranking(votes, 20)["axes"][0]["pairs"] == 50


def louder_wins(vote, n=600):
    """x is no better than y, but 2 LU louder on average, and 1 LU is worth 0.5; the first take has an edge of 0.4."""
    rng = np.random.default_rng(0)
    votes = []
    for i in range(n):
        louder, swapped = rng.normal(2, 2), bool(rng.random() < 0.5)
        odds = np.exp(-(0.5 * louder + (-0.4 if swapped else 0.4)))
        side = "a" if rng.random() < 1 / (1 + odds) else "b"
        level = {"lufs_a": -14 + louder, "lufs_b": -14.0, "swapped": swapped, "seconds_a": float(rng.uniform(20, 90))}
        votes.append(vote(f"h{i % 9}", f"p{i}", side, side, **level))
    return votes


def test_what_loudness_and_position_win_is_found_and_taken_from_the_system(vote):
    found = covariates(louder_wins(vote), 20)
    effects = {row["covariate"]: row for row in found["effects"] if row["axis"] == "musicality"}
    assert effects["loudness"]["effect_low"] < 0.5 < effects["loudness"]["effect_high"]
    assert effects["first"]["effect_low"] < 0.4 < effects["first"]["effect_high"]
    assert effects["duration"]["effect_low"] < 0 < effects["duration"]["effect_high"]
    assert effects["loudness"]["share_low"] > 0.5
    row = of(found["systems"], "x")
    assert row["low"] > 0 and row["adjusted_low"] < 0 < row["adjusted_high"]


def test_votes_without_a_loudness_are_left_out_and_counted_but_not_where_none_has_one(vote):
    votes = louder_wins(vote)
    some = [one._replace(lufs_b=None) if i < 100 else one for i, one in enumerate(votes)]
    assert covariates(some, 20)["left_out"] == 100
    none = covariates([one._replace(lufs_a=None) for one in votes], 20)
    notes = {row["covariate"]: row["note"] for row in none["effects"]}
    assert none["left_out"] == 0 and notes == {"loudness": "not measured", "duration": "", "first": ""}


def test_a_loudness_that_belongs_to_the_systems_has_no_effect_of_its_own(vote):
    votes = [one._replace(lufs_a=-12.0, lufs_b=-14.0, seconds_a=30.0) for one in louder_wins(vote)]
    rows = {row["covariate"]: row for row in covariates(votes, 20)["effects"]}
    assert rows["loudness"]["effect"] is None and "separated" in rows["loudness"]["note"]
    assert rows["duration"]["note"] == "the same for all takes" and rows["first"]["effect"] is not None
