import itertools
import math

import numpy as np
import pytest

from cmi.stats import krippendorff_alpha, rater_agreement

# The worked example of Krippendorff (2011): four observers, twelve units, '.' where nothing was said.
EXAMPLE = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip


def alpha_by_pairs(units, distance):
    """Straight from the definition: disagreement within units over disagreement among all votes."""
    units = [unit for unit in units if len(unit) > 1]
    votes = [vote for unit in units for vote in unit]
    within = sum(sum(distance(a, b, votes) for a, b in itertools.permutations(u, 2)) / (len(u) - 1) for u in units)
    among = sum(distance(a, b, votes) for a, b in itertools.permutations(votes, 2)) / (len(votes) - 1)
    return 1 - within / among


def nominal(a, b, votes):
    return float(a != b)


def ordinal(a, b, votes):
    low, high = min(a, b), max(a, b)
    between = sum(low <= vote <= high for vote in votes) - (votes.count(low) + votes.count(high)) / 2
    return between**2 if low != high else 0.0


@pytest.mark.parametrize(("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_krippendorffs_own_example_comes_out(level, printed):
    assert round(krippendorff_alpha(EXAMPLE, level), 3) == printed


@pytest.mark.parametrize(("level", "distance"), [("nominal", nominal), ("ordinal", ordinal)])
def test_alpha_is_its_definition_on_any_votes(level, distance):
    rng = np.random.default_rng(0)
    for _ in range(20):
        units = [rng.integers(0, 4, rng.integers(1, 5)).tolist() for _ in range(15)]
        assert krippendorff_alpha(units, level) == pytest.approx(alpha_by_pairs(units, distance), abs=1e-12)


def test_the_published_rate_comes_out_of_the_published_counts():
    """Table 6 of CMI-RewardBench: 445 vote pairs agree, 199 do not."""
    found = rater_agreement([["a", "a"]] * 445 + [["a", "b"]] * 199)
    assert (found.pairs, found.agreeing, round(found.rate, 3)) == (644, 445, 0.691)
    assert found.rate_interval.low < found.rate < found.rate_interval.high


def test_three_votes_make_three_pairs_and_single_votes_none():
    found = rater_agreement([["a", "a", "b"], ["a"], []])
    assert (found.units, found.votes, found.pairs, found.agreeing) == (1, 3, 3, 1)


def test_agreement_of_nothing_or_of_one_value_is_undefined_not_perfect():
    assert math.isnan(krippendorff_alpha([])) and math.isnan(rater_agreement([["a"]]).rate)
    assert math.isnan(krippendorff_alpha([["a", "a"], ["a", "a"]]))


def test_random_votes_have_an_alpha_about_zero_and_the_interval_says_so():
    rng = np.random.default_rng(1)
    found = rater_agreement([rng.choice(["a", "b"], 2).tolist() for _ in range(500)])
    assert found.alpha_interval.low < 0 < found.alpha_interval.high
