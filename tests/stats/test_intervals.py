import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from cmi.stats import (
    Interval,
    bootstrap,
    bootstrap_interval,
    cluster_weights,
    percentile_interval,
    share_interval,
    standard_error,
    wilson,
)


def weighted_mean(values):
    return lambda weights: weights @ values / weights.sum(axis=1)


def all_weights(clusters, resamples, seed, block=100):
    return np.concatenate(list(cluster_weights(np.asarray(clusters), resamples, seed, block)))


# Wilson


@settings(deadline=None)
@given(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_agrees_with_statsmodels(counts, level):
    successes, n = counts
    expected = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    assert wilson(successes, n, level) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_proportion_and_stays_in_0_1(counts):
    successes, n = counts
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high


def test_wilson_of_eight_in_ten():
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_nothing_seen_is_nothing_known():
    assert wilson(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2), (0, -1)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match="successes"):
        wilson(successes, n)


# Cluster weights

cluster_codes = st.lists(st.integers(0, 6), min_size=1, max_size=30).map(
    lambda labels: np.unique(labels, return_inverse=True)[1]
)


@settings(deadline=None)
@given(cluster_codes, st.integers(0, 2**32), st.integers(1, 40))
def test_a_draw_takes_as_many_whole_clusters_as_there_are(clusters, seed, resamples):
    weights = all_weights(clusters, resamples, seed)
    assert weights.shape == (resamples, len(clusters))
    _, first = np.unique(clusters, return_index=True)
    times_taken = weights[:, first]
    assert (times_taken.sum(axis=1) == len(first)).all()
    assert (weights == times_taken[:, clusters]).all()


@settings(deadline=None)
@given(cluster_codes, st.integers(0, 2**32), st.integers(1, 50), st.integers(1, 60))
def test_the_draws_depend_on_the_seed_and_not_on_the_block(clusters, seed, resamples, block):
    whole = all_weights(clusters, resamples, seed, block=resamples)
    blocks = list(cluster_weights(clusters, resamples, seed, block))
    assert max(len(b) for b in blocks) <= block
    assert (np.concatenate(blocks) == whole).all()


def test_another_seed_makes_other_draws_and_a_longer_run_begins_alike():
    clusters = np.arange(50)
    assert (all_weights(clusters, 20, seed=1) != all_weights(clusters, 20, seed=2)).any()
    assert (all_weights(clusters, 20, seed=1) == all_weights(clusters, 200, seed=1)[:20]).all()


def test_each_cluster_is_taken_once_on_average():
    times_taken = all_weights(np.arange(20), 20_000, seed=3)
    assert times_taken.mean(axis=0) == pytest.approx(np.ones(20), abs=0.05)
    assert times_taken.var() == pytest.approx(1 - 1 / 20, abs=0.02)  # Binomial(20, 1/20)


@pytest.mark.parametrize("clusters", [[], [0, 2], [1, 1], [-1, 0]])
def test_codes_with_gaps_are_refused(clusters):
    with pytest.raises(ValueError, match=r"clusters must|negative"):
        all_weights(np.array(clusters, dtype=int), 10, seed=0)


def test_memory_is_bounded_by_the_block():
    n, block = 2_000, 10
    tracemalloc.start()
    try:
        rows = sum(len(weights) for weights in cluster_weights(np.arange(n), 2_000, seed=0, block=block))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 2_000
    assert peak < 10 * block * n * 8


# Bootstrap


def test_the_bootstrap_of_a_mean_has_the_known_standard_error():
    values = np.random.default_rng(0).normal(size=400)
    draws = bootstrap(weighted_mean(values), np.arange(400), resamples=4000, seed=1)
    assert draws.shape == (4000,)
    assert draws.mean() == pytest.approx(values.mean(), abs=0.005)
    assert standard_error(draws) == pytest.approx(values.std() / math.sqrt(400), rel=0.05)


def test_the_bootstrap_is_the_same_for_the_same_seed():
    values = np.arange(30.0)
    first, again, other = (bootstrap(weighted_mean(values), np.arange(30), 250, seed) for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).any()


def test_correlated_clusters_need_the_cluster_bootstrap_to_cover():
    """30 songs of 8 clips, three quarters of the variance between songs: naive intervals are far too narrow."""
    rng = np.random.default_rng(0)
    songs = np.repeat(np.arange(30), 8)
    clips = np.arange(len(songs))
    covered = {"songs": 0, "clips": 0}
    runs = 200
    for run in range(runs):
        values = 1.5 * rng.normal(size=30)[songs] + 0.866 * rng.normal(size=len(songs))
        by_song = percentile_interval(bootstrap(weighted_mean(values), songs, 300, seed=run))
        by_clip = percentile_interval(bootstrap(weighted_mean(values), clips, 300, seed=run))
        assert by_song.high - by_song.low > 1.3 * (by_clip.high - by_clip.low)
        covered["songs"] += by_song.low <= 0 <= by_song.high
        covered["clips"] += by_clip.low <= 0 <= by_clip.high
    assert 0.88 <= covered["songs"] / runs <= 0.98
    assert covered["clips"] / runs < 0.75


# Percentiles


def test_percentiles_of_a_known_list():
    assert percentile_interval(np.arange(101), level=0.9) == pytest.approx((5, 95))


def test_draws_that_are_not_finite_are_left_out():
    draws = [math.nan, 1.0, math.inf, 3.0, -math.inf]
    assert percentile_interval(draws, level=1.0) == (1.0, 3.0)
    assert standard_error(draws) == pytest.approx(math.sqrt(2))


def test_no_finite_draw_gives_nan():
    assert all(math.isnan(end) for end in percentile_interval([math.nan, math.inf]))
    assert all(math.isnan(end) for end in percentile_interval([]))
    assert math.isnan(standard_error([1.0, math.nan]))


def test_few_clusters_give_a_share_wilsons_interval_and_anything_else_none():
    draws = np.random.default_rng(0).uniform(0.4, 0.6, 1000)
    assert bootstrap_interval(draws, 10) == share_interval(0.5, draws, 10) == percentile_interval(draws)
    assert np.isnan(bootstrap_interval(draws, 9)).all()
    assert share_interval(0.5, draws, 9) == wilson(4.5, 9)


def test_draws_that_are_all_alike_are_no_certainty():
    assert np.isnan(bootstrap_interval(np.ones(1000), 500)).all()
    assert share_interval(1.0, np.ones(1000), 500) == wilson(500, 500)
    assert share_interval(1 + 1e-12, np.ones(1000), 5) == wilson(5, 5)
