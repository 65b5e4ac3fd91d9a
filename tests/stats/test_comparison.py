import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from cmi.stats import bootstrap, holm, mcnemar_exact, paired_bootstrap

# McNemar


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_mcnemar_agrees_with_statsmodels(a, b):
    assert mcnemar_exact(a, b) == pytest.approx(mcnemar([[0, a], [b, 0]], exact=True).pvalue, rel=1e-9, abs=1e-280)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_tail(a, b):
    tail = sum(Fraction(math.comb(a + b, k), 2 ** (a + b)) for k in range(min(a, b) + 1))
    assert mcnemar_exact(a, b) == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-12)


@pytest.mark.parametrize(("a", "b"), [(500_000, 502_000), (1_000_000, 1_000_000), (49_000, 51_000)])
def test_mcnemar_neither_overflows_nor_drifts_on_big_counts(a, b):
    assert mcnemar_exact(a, b) == pytest.approx(min(1.0, 2 * binom.cdf(min(a, b), a + b, 0.5)), rel=1e-7)


def test_mcnemar_on_hopeless_odds_is_zero_and_on_none_is_one():
    assert mcnemar_exact(0, 1_000_000) == 0.0
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(0, 5) == pytest.approx(2 / 32)


def test_mcnemar_refuses_negative_counts():
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 3)


# Paired bootstrap


def mean_draws(values, seed=1):
    return bootstrap(lambda w: w @ values / w.sum(axis=1), np.arange(len(values)), 2000, seed)


def test_a_paired_comparison_is_the_z_test_of_the_differences():
    rng = np.random.default_rng(0)
    b = rng.normal(size=300)
    a = b + 0.1 + rng.normal(scale=0.5, size=300)
    difference = a.mean() - b.mean()
    found = paired_bootstrap(difference, mean_draws(a), mean_draws(b))
    se = (a - b).std() / math.sqrt(300)
    assert found.difference == difference
    assert found.low == pytest.approx(difference - 1.96 * se, abs=0.2 * se)
    assert found.high == pytest.approx(difference + 1.96 * se, abs=0.2 * se)
    assert math.log(found.p) == pytest.approx(math.log(math.erfc(difference / se / math.sqrt(2))), rel=0.1)


def test_sharing_the_draws_is_what_makes_the_comparison_sharp():
    rng = np.random.default_rng(2)
    b = rng.normal(size=300)
    a = b + 0.1 * rng.normal(size=300)
    paired = paired_bootstrap(0.0, mean_draws(a), mean_draws(b))
    unpaired = paired_bootstrap(0.0, mean_draws(a, seed=1), mean_draws(b, seed=2))
    assert paired.high - paired.low < 0.2 * (unpaired.high - unpaired.low)


def test_p_can_fall_below_what_the_count_of_draws_resolves():
    rng = np.random.default_rng(3)
    found = paired_bootstrap(1.0, 1.0 + 0.2 * rng.normal(size=1000), np.zeros(1000))
    assert 0 < found.p < 1e-5
    assert max(holm([found.p] * 34)) < 0.05


def test_swapping_the_systems_mirrors_the_comparison():
    rng = np.random.default_rng(4)
    a, b = rng.normal(0.3, 1, size=500), rng.normal(size=500)
    one, other = paired_bootstrap(0.3, a, b), paired_bootstrap(-0.3, b, a)
    assert (one.low, one.high, one.p) == pytest.approx((-other.high, -other.low, other.p))


def test_p_falls_short_of_the_level_just_where_the_normal_interval_leaves_zero():
    draws = np.array([-1.0, 1.0] * 500)
    se = draws.std(ddof=1)
    assert paired_bootstrap(1.95 * se, draws, np.zeros(1000)).p > 0.05
    assert paired_bootstrap(1.97 * se, draws, np.zeros(1000)).p < 0.05


def test_draws_that_all_agree_decide_by_the_difference_alone():
    same = np.full(100, 0.5)
    assert paired_bootstrap(0.0, same, same) == (0.0, 0.0, 0.0, 1.0)
    assert paired_bootstrap(0.25, same, same - 0.25) == (0.25, 0.25, 0.25, 0.0)


def test_draws_that_are_not_finite_are_left_out_in_pairs():
    a, b = np.array([1.0, math.nan, 2.0, 5.0]), np.array([0.0, 0.0, 0.0, math.nan])
    assert paired_bootstrap(1.5, a, b) == paired_bootstrap(1.5, a[[0, 2]], b[[0, 2]])
    assert math.isnan(paired_bootstrap(1.5, a[:2], b[:2]).p)


# Holm


@settings(deadline=None, max_examples=50)  # statsmodels collects garbage at every call
@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=40))
def test_holm_agrees_with_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_by_hand_in_the_order_given():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.1])
def test_holm_refuses_what_is_no_p_value(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, wrong])
