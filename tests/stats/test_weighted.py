import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from cmi.stats import weighted_kendall, weighted_pearson, weighted_spearman

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
