"""A study with known noise and strengths: what comes out must hold what went in, as often as the intervals promise."""

import numpy as np
import pytest

from cmi.arena.statistics.inputs import AXES, choice, grouped
from cmi.arena.statistics.ranking import ranking
from cmi.arena.statistics.summary import agreement

STRENGTHS = [0.4, 0.15, 0.0, -0.1, -0.45]
KNOWING = 0.7
STUDIES = 200


@pytest.fixture(scope="module")
def studies(simulate):
    return [simulate(seed, STRENGTHS, KNOWING) for seed in range(STUDIES)]


def test_alpha_lies_in_its_interval_as_often_as_promised(studies):
    alphas, held = [], []
    for study in studies:
        one = agreement(study.votes, resamples=300, seed=0)[0]
        alphas.append(one["alpha"])
        held.append(one["alpha_low"] <= KNOWING**2 <= one["alpha_high"])
    assert np.mean(alphas) == pytest.approx(KNOWING**2, abs=4 * np.std(alphas) / STUDIES**0.5)
    assert 0.90 <= np.mean(held) <= 0.99


def test_strengths_lie_in_their_intervals_as_often_as_promised_and_come_in_order(studies):
    held, first = [], []
    true = dict(zip((f"s{i}" for i in range(5)), STRENGTHS, strict=True))
    for study in studies:
        found = ranking(study.votes, minimum_votes=20)["systems"]
        held += [row["low"] <= true[row["system"]] <= row["high"] for row in found]
        best = next(row for row in found if row["axis"] == "musicality")
        first.append(best["system"] == "s0")
    assert 0.925 <= np.mean(held) <= 0.985
    assert np.mean(first) > 0.75


def test_agreement_equals_the_krippendorff_package(studies):
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is the reference here")
    study = studies[0]
    people = {person: i for i, (person, *_) in enumerate(study.people)}
    by_pair = grouped(study.votes, lambda vote: vote.pair)
    for found, axis in zip(agreement(study.votes, 10, 0), AXES, strict=True):
        table = np.full((len(people), len(by_pair)), np.nan)
        for column, votes in enumerate(by_pair.values()):
            for vote in votes:
                table[people[vote.person], column] = choice(vote, axis) == "a"
        expected = krippendorff.alpha(table, level_of_measurement="nominal")
        assert found["alpha"] == pytest.approx(expected, abs=1e-6)
