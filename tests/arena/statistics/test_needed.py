"""How many votes are needed: the number that is predicted suffices about as often as docs/arena.md says."""

import math

import numpy as np
import pytest

from cmi.arena.statistics.needed import log_odds, neighbours_state, votes_needed
from cmi.stats import wilson
from cmi.stats.ranking import FittedValue

STRENGTHS = [0.4, 0.15, 0.0, -0.1, -0.45]
STUDIES = 30
MARGIN = 0.08


def predict(simulate, seed: int, votes: int = 240):
    people = round(12 * votes / 240)
    return votes_needed(simulate(seed, STRENGTHS, pairs=math.ceil(votes / 3), people=people).votes, 20, MARGIN)


def test_a_study_of_the_predicted_size_has_the_wanted_precision_as_often_as_promised(simulate):
    """Nine in ten with the safe number; with the best guess, more often than not."""
    held = {"needed": [], "safe": []}
    for study in range(STUDIES):
        score = predict(simulate, study)["scores"][0]
        assert score["half_width"] > log_odds(MARGIN) and not score["reached"]
        assert 240 < score["needed"] < score["safe"]
        for kind, kept in held.items():
            later = predict(simulate, STUDIES + study, score[kind])["scores"]
            again = next(row for row in later if (row["axis"], row["system"]) == (score["axis"], score["system"]))
            kept.append(again["half_width"] <= log_odds(MARGIN))
    assert np.mean(held["safe"]) > 0.8
    assert 0.3 < np.mean(held["needed"]) <= np.mean(held["safe"])


def test_a_precision_that_is_reached_needs_no_more_votes(simulate):
    found = votes_needed(simulate(3, STRENGTHS, pairs=300).votes, 20, 0.3)
    assert all(row["reached"] and row["needed"] == row["safe"] == row["votes"] == 900 for row in found["scores"])
    assert all(row["needed"] == row["safe"] == row["votes"] for row in found["pairs"])
    assert all(row["needed"] == row["votes"] for row in found["neighbours"])
    assert {row["state"] for row in found["neighbours"]} == {"alike", "apart"}


def test_two_systems_need_the_votes_at_which_wilsons_interval_is_so_narrow(simulate):
    found = predict(simulate, 0)
    assert len(found["pairs"]) == 2 * 10
    for row in found["pairs"]:
        low, high = wilson(row["rate"] * row["needed"], row["needed"])
        assert high - low <= 2 * MARGIN
        low, high = wilson(row["rate"] * (row["needed"] - 1), row["needed"] - 1)
        assert high - low > 2 * MARGIN
        assert row["safe"] >= row["needed"]


@pytest.mark.parametrize(
    ("interval", "state"), [((0.1, 0.5), "apart"), ((-0.1, 0.1), "alike"), ((-0.1, 0.5), "open"), ((0, 0.21), "open")]
)
def test_neighbours_are_apart_alike_or_open(interval, state):
    assert neighbours_state(FittedValue(sum(interval) / 2, *interval), log_odds(0.05)) == state


def test_nothing_is_predicted_from_a_system_that_never_lost(vote):
    votes = [vote(f"p{n % 7}", f"q{n}", system_a="x", system_b="y") for n in range(30)]
    found = votes_needed(votes, 20, 0.05)
    assert {(row["needed"], row["safe"]) for row in found["scores"]} == {(None, None)}
    assert found["axes"][0]["scores_safe"] is None
