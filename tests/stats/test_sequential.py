"""A watch may look after every observation, and still raises few false alarms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.stats import e_process, mean_interval

shares = st.lists(st.floats(0, 1), max_size=20)


@given(shares, st.floats(0.01, 0.99))
def test_observations_at_or_above_the_mean_never_raise_an_alarm(observations, mean):
    above = [max(value, mean) for value in observations]
    assert e_process(above, mean, limit=20).first_above is None


@given(shares, st.floats(0.01, 0.99))
def test_the_highest_value_is_that_of_the_best_moment(observations, mean):
    found = e_process(observations, mean, limit=1.0 + 1e-9)
    values = [e_process(observations[: i + 1], mean, limit=2).value for i in range(len(observations))]
    assert found.highest == pytest.approx(max([1.0, *values]), rel=1e-6)
    assert (found.first_above is None) == all(value < 1.0 + 1e-9 for value in values)


def test_false_alarms_at_any_time_stay_below_the_stated_rate():
    rng = np.random.default_rng(3)
    alarms = sum(e_process(rng.random(300) < 0.7, 0.7, limit=20).first_above is not None for _ in range(1000))
    assert alarms / 1000 <= 0.05


def test_a_fall_from_70_to_50_percent_is_told_within_a_hundred_in_nine_cases_of_ten():
    rng = np.random.default_rng(4)
    found = [e_process(rng.random(100) < 0.5, 0.7, limit=20).first_above for _ in range(200)]
    assert sum(at is not None for at in found) > 180


@pytest.mark.parametrize("mean", [0.0, 1.0, -0.5])
def test_a_mean_that_cannot_be_bet_against_is_refused(mean):
    with pytest.raises(ValueError, match="between 0 and 1"):
        e_process([0.5], mean, limit=20)


def test_the_interval_of_a_mean_covers_with_votes_that_share_prompts_and_annotators():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        prompts, raters = rng.integers(40, size=200), rng.integers(15, size=200)
        values = 0.3 + rng.normal(0, 0.5, 40)[prompts] + rng.normal(0, 0.5, 15)[raters] + rng.normal(0, 1, 200)
        low, high = mean_interval(values, [prompts, raters])
        covered += low <= 0.3 <= high
    assert 0.90 <= covered / 400 <= 0.99


def test_too_few_clusters_have_no_interval():
    assert np.isnan(mean_interval([1.0, 0.0, 1.0], [np.array([0, 1, 2])]).low)
