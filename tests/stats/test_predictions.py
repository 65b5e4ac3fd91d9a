import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from cmi.stats import brier, expected_calibration_error, folded, logistic, reliability
from cmi.stats.predictions import detection

TENTHS = np.linspace(0, 1, 11).tolist()


@pytest.fixture
def forecasts():
    rng = np.random.default_rng(0)
    said = rng.random(2000)
    return said, (rng.random(2000) < said**2).astype(float)


def test_the_logistic_function_is_scipys_and_overflows_nowhere():
    values = np.array([-1e5, -30.0, -1.0, 0.0, 1.0, 30.0, 1e5])
    with np.errstate(all="raise", under="ignore"):
        assert logistic(values) == pytest.approx(expit(values), abs=1e-15)


def test_brier_is_scikit_learns(forecasts):
    said, happened = forecasts
    assert brier(said, happened) == pytest.approx(brier_score_loss(happened, said), abs=1e-15)


def test_bins_are_scikit_learns_and_their_error_is_the_weighted_gap(forecasts):
    said, happened = forecasts
    bins = reliability(said, happened, TENTHS)
    shares, means = calibration_curve(happened, said, n_bins=10)
    assert [one.happened for one in bins] == pytest.approx(shares.tolist())
    assert [one.forecast for one in bins] == pytest.approx(means.tolist())
    sizes = np.histogram(said, TENTHS)[0]
    by_hand = float(np.sum(sizes * np.abs(shares - means)) / len(said))
    assert expected_calibration_error(bins) == pytest.approx(by_hand, abs=1e-12)
    assert all(one.interval.low <= one.happened <= one.interval.high for one in bins)


def test_a_hand_computed_error():
    bins = reliability([0.1, 0.1, 0.9, 0.9], [0, 1, 1, 1], [0, 0.5, 1])
    assert expected_calibration_error(bins) == pytest.approx((2 * 0.4 + 2 * 0.1) / 4)


def test_folding_does_not_care_which_take_comes_first(forecasts):
    said, happened = forecasts
    one, other = folded(said, happened), folded(1 - said, 1 - happened)
    assert one[0] == pytest.approx(other[0]) and (one[1] == other[1]).all() and one[0].min() >= 0.5


def test_a_forecast_on_an_edge_belongs_to_the_bin_that_it_opens_and_1_to_the_last():
    assert [(one.low, one.n) for one in reliability([0.5, 1.0], [1, 1], [0, 0.5, 1])] == [(0.5, 2)]


def test_what_is_no_forecast_is_refused():
    with pytest.raises(ValueError, match="from 0 to 1"):
        brier([1.2], [1])
    with pytest.raises(ValueError, match=r"expected 0\.5 to 1"):
        reliability([0.2], [1], [0.5, 1.0])
    assert math.isnan(brier([], [])) and math.isnan(expected_calibration_error([]))


CASES = st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 3)), min_size=2, max_size=40)


@given(CASES)
@settings(max_examples=300, deadline=None)
def test_both_measures_are_those_of_scikit_learn_with_ties_and_weights(cases):
    scores, truth, weights = (np.array(column) for column in zip(*cases, strict=True))
    truth = truth.astype(bool)
    if not weights[truth].sum() or not weights[~truth].sum():
        return
    found = detection(scores.astype(float), truth, np.stack([np.ones(len(scores)), weights]).astype(float))
    if truth.any() and not truth.all():
        assert found.roc_auc[0] == pytest.approx(roc_auc_score(truth, scores))
        assert found.average_precision[0] == pytest.approx(average_precision_score(truth, scores))
    assert found.roc_auc[1] == pytest.approx(roc_auc_score(truth, scores, sample_weight=weights))
    weighted = average_precision_score(truth, scores, sample_weight=weights)
    assert found.average_precision[1] == pytest.approx(weighted)


def test_without_positives_or_negatives_there_is_nothing_to_rank():
    scores, weights = np.array([0.1, 0.2, 0.3]), np.ones((2, 3))
    assert np.isnan(detection(scores, np.zeros(3, bool), weights).roc_auc).all()
    assert np.isnan(detection(scores, np.zeros(3, bool), weights).average_precision).all()
    assert np.isnan(detection(scores, np.ones(3, bool), weights).roc_auc).all()


def test_one_score_for_all_is_chance():
    truth = np.array([True, False, False, False])
    found = detection(np.zeros(4), truth, np.ones((1, 4)))
    assert found.roc_auc[0] == 0.5
    assert found.average_precision[0] == 0.25
