"""Distances between sets of embeddings: known answers, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from cmi.distance.metrics import METRICS, frechet_distance, kernel_distance, mauve, median_distance


def normal(n: int, dimensions: int, seed: int, shift: float = 0.0, spread: float = 1.0) -> np.ndarray:
    return shift + spread * np.random.default_rng(seed).normal(size=(n, dimensions))


def test_fad_is_the_closed_form_of_two_gaussians():
    x, y = normal(500, 8, 0) @ normal(8, 8, 1), normal(400, 8, 2, 0.3) @ normal(8, 8, 3)
    a, b = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    root = linalg.sqrtm(a @ b).real
    expected = np.square(x.mean(0) - y.mean(0)).sum() + np.trace(a + b - 2 * root)
    assert frechet_distance(x, y) == pytest.approx(expected, rel=1e-9)


def test_fad_needs_no_more_windows_than_numbers():
    x, y = normal(20, 50, 0), normal(20, 50, 1, shift=1.0)
    assert np.isfinite(frechet_distance(x, y))
    assert frechet_distance(x, x) == pytest.approx(0, abs=1e-6)


def test_kad_is_the_unbiased_discrepancy_summed_pair_by_pair():
    x, y = normal(7, 3, 0), normal(9, 3, 1, shift=0.5)
    width = np.sort([np.linalg.norm(a - b) for i, a in enumerate(y) for b in y[:i]])[(9 * 8 // 2 - 1) // 2]

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.exp(-np.square(a - b).sum() / (2 * width**2)))

    within_x = np.mean([kernel(a, b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j])
    within_y = np.mean([kernel(a, b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j])
    between = np.mean([kernel(a, b) for a in x for b in y])
    assert median_distance(y) == pytest.approx(width)
    assert kernel_distance(x, y) == pytest.approx(100 * (within_x + within_y - 2 * between), abs=1e-9)


def test_mauve_of_equal_histograms_is_1_and_of_disjoint_ones_almost_0():
    assert mauve(np.array([1.0, 2, 3]), np.array([2.0, 4, 6])) == pytest.approx(1)
    assert mauve(np.array([1.0, 0]), np.array([0.0, 1])) < 0.01


@pytest.mark.parametrize("metric", METRICS)
def test_a_subset_has_the_distance_that_it_has_alone(metric: str):
    takes = [normal(3, 5, seed, shift=seed % 2) for seed in range(30)]
    among_all = METRICS[metric](takes, 15)
    own, other = np.arange(15), np.arange(15, 30)
    again = METRICS[metric]([takes[i] for i in [*own[::-1], *other[::-1]]], 15)
    assert among_all(own, other) == pytest.approx(again(own, other), rel=1e-6)
    assert among_all(own, own[::-1]) <= among_all(own[::2], own[1::2])


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(2, 12), st.integers(2, 12), st.integers(0, 1000))
def test_distances_are_finite_and_symmetric_where_they_are_defined_so(dimensions: int, n: int, m: int, seed: int):
    x, y = normal(n, dimensions, seed), normal(m, dimensions, seed + 1, shift=1.0)
    assert frechet_distance(x, y) == pytest.approx(frechet_distance(y, x), abs=1e-6)
    assert frechet_distance(x, y) > -1e-6
    assert kernel_distance(x, y, 1.0) == pytest.approx(kernel_distance(y, x, 1.0), abs=1e-9)


def test_a_kernel_in_blocks_is_the_kernel_at_once(monkeypatch: pytest.MonkeyPatch):
    x, y = normal(40, 4, 0), normal(50, 4, 1)
    whole = kernel_distance(x, y)
    monkeypatch.setattr("cmi.distance.metrics.BLOCK", 7)
    assert kernel_distance(x, y) == pytest.approx(whole, abs=1e-12)
