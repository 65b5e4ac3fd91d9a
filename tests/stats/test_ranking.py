import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmi.preferences import Preference
from cmi.stats import bootstrap, rank, standard_error, win_rates
from cmi.stats.intervals import t_quantile
from cmi.stats.ranking import (
    Comparisons,
    Separated,
    bradley_terry,
    connected_components,
    davidson,
    identifiable,
)
from cmi.take import Pair, Prompt


def drawn(systems=6, n=600, ties=0.0, seed=0):
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=systems)
    first = rng.integers(0, systems, n)
    second = (first + rng.integers(1, systems, n)) % systems
    won = rng.random(n) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = np.where(rng.random(n) < ties, 0, np.where(won, 1, -1))
    return Comparisons(first, second, outcome, systems)


def from_list(rows, systems):
    return Comparisons(*np.array(rows, np.int64).reshape(-1, 3).T, systems)


def winners_first(comparisons):
    return [(int(a), int(b)) if o > 0 else (int(b), int(a)) for a, b, o in zip(*comparisons[:3], strict=True)]


def evalica_outcomes(evalica, outcomes):
    names = {1: evalica.Winner.X, -1: evalica.Winner.Y, 0: evalica.Winner.Draw}
    return [names[int(outcome)] for outcome in outcomes]


def centred_logs(scores):
    logs = np.log(scores.sort_index().to_numpy())
    return logs - logs.mean()


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_equals_choix(seed):
    choix = pytest.importorskip("choix", reason="choix is the reference here")
    data = drawn(seed=seed)
    expected = choix.ilsr_pairwise(data.systems, winners_first(data), max_iter=1000, tol=1e-12)
    assert np.allclose(bradley_terry(data).strengths, expected, atol=1e-6)


def test_a_prior_is_the_ridge_of_choix():
    choix = pytest.importorskip("choix", reason="choix is the reference here")
    data = drawn(n=60)
    expected = choix.opt_pairwise(data.systems, winners_first(data), alpha=0.25, tol=1e-14)  # which has no half in it
    assert np.allclose(bradley_terry(data, prior=0.5).strengths, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_bradley_terry_equals_evalica_ties_being_half_a_win(seed, ties):
    evalica = pytest.importorskip("evalica", reason="evalica is the reference here")
    data = drawn(ties=ties, seed=seed)
    outcomes = evalica_outcomes(evalica, data.outcome)
    found = evalica.bradley_terry(data.first.tolist(), data.second.tolist(), outcomes, tolerance=1e-14, limit=100_000)
    assert np.allclose(bradley_terry(data).strengths, centred_logs(found.scores), atol=1e-6)


def test_davidson_equals_newmans_iteration_in_evalica():
    evalica = pytest.importorskip("evalica", reason="evalica is the reference here")
    data = drawn(ties=0.3)
    outcomes = evalica_outcomes(evalica, data.outcome)
    found = evalica.newman(data.first.tolist(), data.second.tolist(), outcomes, tolerance=1e-14, limit=100_000)
    ours = davidson(data)
    assert np.allclose(ours.strengths, centred_logs(found.scores), atol=1e-6)
    assert ours.nu == pytest.approx(2 * found.v, abs=1e-6)  # Newman writes the tie as 2 v


def davidson_loss(parameters, data, covariates, prior):
    """Minus the penalised log likelihood, vote by vote, in the odds form of Davidson (1970)."""
    strengths, effects = parameters[: data.systems], parameters[data.systems : -1]
    nu = math.exp(parameters[-1])
    loss = prior / 2 * (strengths @ strengths)
    for first, second, outcome, x in zip(data.first, data.second, data.outcome, covariates, strict=True):
        a, b = math.exp(strengths[first] + x @ effects), math.exp(strengths[second])
        tie = nu * math.sqrt(a * b)
        loss -= math.log({1: a, -1: b, 0: tie}[int(outcome)] / (a + b + tie))
    return loss


def test_davidson_with_covariates_equals_an_independent_optimiser():
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is the reference here")
    data = drawn(systems=4, n=150, ties=0.25)
    covariates = np.random.default_rng(1).normal(size=(150, 2)) * [3, 0.2]
    ours = davidson(data, covariates)
    tiny = 1e-9  # determines the mean of the strengths and no more
    found = optimize.minimize(davidson_loss, np.zeros(7), (data, covariates, tiny), tol=1e-10)
    assert np.allclose(ours.strengths, found.x[:4] - found.x[:4].mean(), atol=1e-5)
    assert np.allclose(ours.effects, found.x[4:6], atol=1e-5)
    assert ours.nu == pytest.approx(math.exp(found.x[6]), abs=1e-5)
    at_ours = davidson_loss(np.array([*ours.strengths, *ours.effects, math.log(ours.nu)]), data, covariates, tiny)
    assert at_ours <= found.fun + 1e-8


def test_bradley_terry_with_covariates_equals_logistic_regression():
    models = pytest.importorskip("statsmodels.api", reason="statsmodels is the reference here")
    data = drawn(systems=4, n=300)
    covariates = np.random.default_rng(1).normal(size=(300, 2)) * [3, 0.2]
    clusters = np.random.default_rng(2).integers(0, 40, 300)
    design = np.zeros((300, 4))
    design[np.arange(300), data.first] += 1
    design[np.arange(300), data.second] -= 1
    logit = models.Logit((data.outcome == 1).astype(float), np.column_stack([design[:, 1:], covariates]))
    found = logit.fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False})
    ours = bradley_terry(data, covariates, [clusters])
    assert np.allclose(ours.strengths[1:] - ours.strengths[0], found.params[:3], atol=1e-6)
    assert np.allclose(ours.effects, found.params[3:], atol=1e-6)
    errors = np.sqrt([ours.covariances[0][4, 4], ours.covariances[0][5, 5]])
    assert np.allclose(errors, found.bse[3:] * math.sqrt(40 / 39), atol=1e-6)


def test_the_sandwich_is_as_wide_as_a_cluster_bootstrap():
    data = drawn(systems=4, n=800)
    repeated = Comparisons(*(np.repeat(column, 3) for column in data[:3]), 4)  # each vote thrice: no news
    clusters = np.repeat(np.arange(800), 3)
    width = np.diff(bradley_terry(repeated, clusters=[clusters]).difference(0, 1)[1:])[0]
    assert width == pytest.approx(np.diff(bradley_terry(data).difference(0, 1)[1:])[0], rel=0.01)

    def again(weights):
        drawn_rows = [np.repeat(np.arange(2400), row.astype(int)) for row in weights]
        fits = [bradley_terry(Comparisons(*(c[rows] for c in repeated[:3]), 4)) for rows in drawn_rows]
        return np.array([fit.strengths[0] - fit.strengths[1] for fit in fits])

    assert width == pytest.approx(2 * 1.96 * standard_error(bootstrap(again, clusters, 200)), rel=0.15)


def test_votes_of_one_person_that_hang_together_widen_the_interval():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(20), 30)
    taste = rng.normal(size=20)[people] * 1.5
    outcome = np.where(rng.random(600) < 1 / (1 + np.exp(-taste)), 1, -1)
    data = Comparisons(np.zeros(600, int), np.ones(600, int), outcome, 2)
    alone, by_person = bradley_terry(data), bradley_terry(data, clusters=[people])
    by_both = bradley_terry(data, clusters=[people, np.arange(600)])
    widths = [np.diff(fit.difference(0, 1)[1:])[0] for fit in (alone, by_person, by_both)]
    assert widths[1] > 2 * widths[0]
    assert widths[2] >= widths[1] - 1e-9


def test_too_few_clusters_are_not_used_and_it_is_said():
    data = drawn()
    fit = bradley_terry(data, clusters=[np.arange(600) % 3, np.arange(600) // 2])
    assert fit.clusters == (0, 300)


def test_systems_never_compared_have_no_difference_and_their_own_mean():
    data = from_list([(0, 1, 1)] * 3 + [(0, 1, -1)] + [(2, 3, -1)] * 5 + [(3, 2, -1)] * 2, 5)
    assert connected_components(data).tolist() == [0, 0, 1, 1, 2]
    fit = bradley_terry(data)
    assert fit.strengths[0] - fit.strengths[1] == pytest.approx(math.log(3))
    assert fit.strengths[3] - fit.strengths[2] == pytest.approx(math.log(5 / 2))
    assert fit.strengths[:2].sum() == pytest.approx(0) and fit.strengths[2:4].sum() == pytest.approx(0)
    assert math.isnan(fit.difference(0, 2).value) and math.isnan(fit.strengths[4])


def test_a_chain_of_comparisons_links_all_its_systems():
    chain = from_list([(i + 1, i, 1) for i in range(9)], 10)
    assert connected_components(chain).tolist() == [0] * 10


def test_a_system_that_won_everything_needs_a_prior_which_keeps_it_first_and_uncertain():
    data = from_list([(0, 1, 1)] * 8 + [(0, 2, 1)] * 8 + [(1, 2, 1), (1, 2, -1)] * 4, 3)
    with pytest.raises(Separated):
        bradley_terry(data)
    fit = bradley_terry(data, prior=0.25)
    assert fit.strengths.argmax() == 0 and fit.rank(0) == (1, 1)
    assert fit.strength(0).high - fit.strength(0).low > 2
    assert bradley_terry(data, prior=0.01).strengths[0] > fit.strengths[0]


def test_davidson_without_a_tie_is_bradley_terry():
    data = drawn()
    assert davidson(data).nu == 0
    assert np.allclose(davidson(data).strengths, bradley_terry(data).strengths)


def test_two_equals_tie_as_often_as_nu_says():
    fit = davidson(from_list([(0, 1, 1), (0, 1, -1), (0, 1, 0)] * 10, 2))
    assert fit.strengths.tolist() == pytest.approx([0, 0])
    assert fit.nu / (2 + fit.nu) == pytest.approx(1 / 3)


def test_the_effect_of_a_covariate_is_recovered_and_taken_from_the_strength():
    """System 0 is no better, only 4 dB louder on average, and 1 dB is worth 0.3."""
    rng = np.random.default_rng(0)
    louder = rng.normal(4, 3, 5000)
    outcome = np.where(rng.random(5000) < 1 / (1 + np.exp(-0.3 * louder)), 1, -1)
    data = Comparisons(np.zeros(5000, int), np.ones(5000, int), outcome, 2)
    plain, fair = bradley_terry(data), bradley_terry(data, louder[:, None])
    assert plain.difference(0, 1).low > 0.5
    assert fair.difference(0, 1).low < 0 < fair.difference(0, 1).high
    assert fair.effect(0).low < 0.3 < fair.effect(0).high


def test_a_covariate_that_is_fixed_by_the_systems_cannot_be_told_apart():
    data = drawn(systems=3, n=50)
    by_system = np.array([0.0, 3.0, 5.0])
    fixed = by_system[data.first] - by_system[data.second]
    free = np.random.default_rng(0).normal(size=50)
    columns = np.column_stack([fixed, free, 2 * free + fixed, np.zeros(50)])
    assert identifiable(data, columns) == [False, True, False, False]


def test_a_system_against_itself_is_refused():
    with pytest.raises(ValueError, match="itself"):
        bradley_terry(from_list([(1, 1, 1)], 2))


@pytest.mark.parametrize("degrees", [4, 5, 10, 30, 300])
def test_students_quantile(degrees):
    stats = pytest.importorskip("scipy.stats", reason="scipy is the reference here")
    assert t_quantile(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-3)


def test_the_win_matrix_adds_up_and_has_wilsons_interval():
    data = drawn(ties=0.2)
    rates = win_rates(data)
    pairs = {(one.system, one.against): one for one in rates}
    for (system, against), one in pairs.items():
        if against is not None:
            turned = pairs[against, system]
            assert (one.wins, one.ties, one.losses) == (turned.losses, turned.ties, turned.wins)
        assert one.interval.low <= one.rate <= one.interval.high
    assert sum(one.n for one in rates if one.against is None) == 2 * len(data.first)


votes = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([-1, 0, 1])).filter(lambda v: v[0] != v[1]),
    min_size=1,
    max_size=40,
)
PRIOR = 0.25  # so that any votes have an estimate


@settings(max_examples=60, deadline=None)
@given(votes, st.permutations(range(4)))
def test_new_names_for_the_systems_change_nothing_else(rows, names):
    plain = bradley_terry(from_list(rows, 4), prior=PRIOR)
    renamed = bradley_terry(from_list([(names[a], names[b], o) for a, b, o in rows], 4), prior=PRIOR)
    for system in range(4):
        assert np.allclose(plain.strength(system), renamed.strength(names[system]), atol=1e-7, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(votes)
def test_a_comparison_told_the_other_way_round_is_the_same(rows):
    turned = from_list([(b, a, -o) for a, b, o in rows], 4)
    ours = bradley_terry(from_list(rows, 4), prior=PRIOR)
    assert np.allclose(ours.strengths, bradley_terry(turned, prior=PRIOR).strengths, atol=1e-9, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(votes, st.sampled_from([bradley_terry, davidson]))
def test_twice_the_votes_have_the_same_maximum_and_swapped_wins_the_negative(rows, model):
    data = from_list(rows, 4)
    try:
        fit = model(data)
    except Separated:
        assume(False)
    assert np.allclose(model(from_list(rows * 2, 4)).strengths, fit.strengths, atol=1e-6, equal_nan=True)
    turned = model(data._replace(outcome=-data.outcome))
    assert np.allclose(turned.strengths, -fit.strengths, atol=1e-6, equal_nan=True)
    assert turned.nu == pytest.approx(fit.nu, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(votes, st.integers(0, 3), st.integers(0, 3), st.integers(1, 30))
def test_a_drawn_series_brings_two_systems_together(rows, one, other, times):
    assume(one != other)
    before = bradley_terry(from_list(rows, 4), prior=PRIOR).strengths
    assume(not np.isnan(before[[one, other]]).any())
    balanced = [(one, other, 1), (one, other, -1)] * times
    after = bradley_terry(from_list(rows + balanced, 4), prior=PRIOR).strengths
    assert abs(after[one] - after[other]) <= abs(before[one] - before[other]) + 1e-9


@settings(max_examples=60, deadline=None)
@given(votes)
def test_ranks_leave_room_for_every_system_and_one_more_win_never_hurts(rows):
    fit = bradley_terry(from_list(rows, 4), prior=PRIOR)
    for system in np.flatnonzero(~np.isnan(fit.strengths)):
        group = fit.strengths[fit.components == fit.components[system]]
        best, worst = fit.rank(int(system))
        assert best <= 1 + (group > fit.strengths[system] + 1e-9).sum() <= worst <= len(group)
    a, b, _ = rows[0]
    more = bradley_terry(from_list([*rows, (a, b, 1)], 4), prior=PRIOR)
    assert more.strengths[a] - more.strengths[b] > fit.strengths[a] - fit.strengths[b] - 1e-9


# Systems from preferences


def cast(a, b, choice="a", axis="overall", rater="", **about):
    pair = Pair(Prompt("slow sad piano"), Path(f"{a}.wav"), Path(f"{b}.wav"))
    return Preference(pair, axis, choice, None, rater, about={"system_a": a, "system_b": b, **about})


def test_ranking_preferences_is_bradley_terry_of_their_systems():
    votes = [*[cast("x", "y")] * 6, *[cast("x", "y", "b")] * 3, *[cast("y", "z")] * 4, *[cast("y", "z", "both")] * 2]
    first, second = np.array([0] * 9 + [1] * 6), np.array([1] * 9 + [2] * 6)
    fitted = bradley_terry(Comparisons(first, second, np.array([1] * 6 + [-1] * 3 + [1] * 4 + [0] * 2), 3))
    found = rank(votes)
    assert [(one.rank, one.system, one.votes) for one in found] == [(1, "x", 9), (2, "y", 15), (3, "z", 6)]
    assert [one.strength for one in found] == pytest.approx(fitted.strengths)
    assert all(one.low < one.strength < one.high and one.best <= one.rank <= one.worst for one in found)


def test_gold_repeats_and_votes_without_two_systems_do_not_rank():
    counted = [*[cast("x", "y")] * 2, cast("y", "x")]
    others = [cast("y", "x", kind="gold"), cast("y", "x", repeat=True), cast("x", "x"), cast("", "y")]
    assert rank([*counted, *others]) == rank(counted)


def test_axes_and_systems_that_never_met_are_ranked_apart_and_a_clean_sweep_stays_finite():
    votes = [cast("x", "y"), cast("v", "w"), cast("y", "x", axis="alignment")]
    found = {(one.axis, one.system): one for one in rank(votes)}
    assert {key: (one.group, one.rank) for key, one in found.items()} == {
        **{("overall", "v"): (1, 1), ("overall", "w"): (1, 2), ("overall", "x"): (2, 1), ("overall", "y"): (2, 2)},
        **{("alignment", "y"): (1, 1), ("alignment", "x"): (1, 2)},
    }
    assert all(math.isfinite(one.high) for one in found.values())


def test_an_offset_is_taken_as_it_is_and_strengths_are_what_it_lacks():
    """With the truth as the offset nothing is left; with a part of it, the rest is."""
    rng = np.random.default_rng(8)
    truth = np.array([0.0, 1.0, -1.0])
    first = rng.integers(3, size=3000)
    second = (first + rng.integers(1, 3, size=3000)) % 3
    eta = truth[first] - truth[second]
    outcome = np.where(rng.random(3000) < 1 / (1 + np.exp(-eta)), 1, -1)
    found = bradley_terry(Comparisons(first, second, outcome, 3), offset=eta)
    assert np.abs(found.strengths).max() < 0.15
    half = bradley_terry(Comparisons(first, second, outcome, 3), offset=eta / 2)
    assert half.strengths == pytest.approx(found.strengths + truth / 2, abs=1e-6)
