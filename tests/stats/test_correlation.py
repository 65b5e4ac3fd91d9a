import math
import time
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from cmi.stats import kendall_tau_b, pearson, spearman, weighted_kendall, weighted_pearson, weighted_spearman

MEASURES = [pearson, spearman, kendall_tau_b]

scores = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, -0.0, 1.0, 2.0])
ratings = st.integers(1, 5).map(float)
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=60) | st.lists(
    st.tuples(ratings, ratings), min_size=2, max_size=60
)


def sides(items):
    x, y = np.array(items).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    return x, y


@settings(deadline=None)
@given(pairs)
def test_pearson_agrees_with_scipy(items):
    x, y = sides(items)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.stats.NearConstantInputWarning)
        assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-7)


@settings(deadline=None)
@given(pairs)
def test_spearman_agrees_with_scipy(items):
    x, y = sides(items)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)


@settings(deadline=None)
@given(pairs)
def test_kendall_agrees_with_scipy(items):
    x, y = sides(items)
    assert kendall_tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y, variant="b").statistic, abs=1e-9)


@settings(deadline=None)
@given(pairs)
def test_kendall_agrees_with_its_definition(items):
    x, y = sides(items)
    sign_x, sign_y = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    expected = (sign_x * sign_y).sum() / math.sqrt((sign_x**2).sum() * (sign_y**2).sum())
    assert kendall_tau_b(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@settings(deadline=None)
@given(items=pairs)
def test_the_sides_may_be_swapped_and_one_may_be_turned(measure, items):
    x, y = sides(items)
    value = measure(x, y)
    assert -1 <= value <= 1
    assert measure(y, x) == pytest.approx(value, abs=1e-9)
    assert measure(x, -y) == pytest.approx(-value, abs=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_list_agrees_with_itself_fully(measure):
    x = [0.1, 0.4, 0.4, 0.2, 0.9]
    assert measure(x, x) == pytest.approx(1)
    assert measure(x, [-v for v in x]) == pytest.approx(-1)


def test_ranks_see_order_and_pearson_sees_distance():
    x = np.arange(1.0, 11.0)
    assert spearman(x, np.exp(x)) == pytest.approx(1)
    assert kendall_tau_b(x, np.exp(x)) == pytest.approx(1)
    assert pearson(x, np.exp(x)) < 0.8


def test_pearson_of_tiny_and_of_far_off_values():
    x = np.array([1.0, 2.0, 4.0])
    expected = pearson(x, [1, 3, 2])
    assert pearson(x * 1e-200, [1, 3, 2]) == pytest.approx(expected)
    assert pearson(x + 1e6, [1, 3, 2]) == pytest.approx(expected)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1], [2]), ([1, 2, 3], [0.1, 0.1, 0.1]), ([5, 5], [1, 2]), ([0.0, -0.0], [1, 2])]
)
def test_what_is_undefined_is_nan(measure, x, y):
    assert math.isnan(measure(x, y))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2, math.nan], [1, 2, 3], "finite"),
        ([1, 2, 3], [1, 2, math.inf], "finite"),
        ([1, 2, 3], [1, 2], "equal length"),
        ([[1, 2]], [[1, 2]], "equal length"),
    ],
)
def test_bad_input_is_refused(measure, x, y, reason):
    with pytest.raises(ValueError, match=reason):
        measure(x, y)


def test_kendall_of_many_items_is_quick_and_right():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100_000)
    y = np.round(x + rng.normal(size=100_000), 1)
    begin = time.perf_counter()
    tau = kendall_tau_b(x, y)
    assert time.perf_counter() - begin < 5  # all pairs would be ten thousand million comparisons
    assert tau == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)


PAIRS = [(weighted_pearson, pearsonr), (weighted_spearman, spearmanr), (weighted_kendall, kendalltau)]


@pytest.mark.parametrize("n", [40, 1100])
@pytest.mark.parametrize(("ours", "scipys"), PAIRS)
def test_a_weight_is_a_count_of_repetitions(ours, scipys, n):
    rng = np.random.default_rng(0)
    for _ in range(400 // n + 1):
        x, y = rng.integers(0, 6, n).astype(float), rng.normal(size=n).round(1)  # with ties
        weights = rng.integers(0, 4, (5, n)).astype(float)
        expected = [scipys(np.repeat(x, w.astype(int)), np.repeat(y, w.astype(int))).statistic for w in weights]
        assert ours(x, y, weights) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("ours", [ours for ours, _ in PAIRS])
def test_a_draw_of_one_value_has_no_correlation(ours):
    weights = np.array([[1.0, 1, 1], [3.0, 0, 0]])
    found = ours(np.array([0.1, 0.2, 0.3]), np.array([1.0, 2, 3]), weights)
    assert found[0] == pytest.approx(1) and np.isnan(found[1])
