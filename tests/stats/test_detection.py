import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from cmi.stats.detection import detection

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
