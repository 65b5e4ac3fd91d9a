import math

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from cmi.rewardbench.evaluation.cells import evaluate
from cmi.rewardbench.evaluation.tables import full_tables
from cmi.stats import cluster_weights, percentile_interval, wilson
from cmi.stats.comparison import draw
from cmi.take import Prompt, Score

NOBODY = {}


def scores_of(items, differences):
    return {
        (item.dataset, item.id): None if d is None else (Score(d, d), Score(0.0, 0.0))
        for item, d in zip(items, differences, strict=True)
    }


def cell(evaluation, model, metric="ACC", group="all"):
    return next(c for c in evaluation.cells if (c.model, c.metric, c.group) == (model, metric, group))


def test_the_correlations_are_scipys(rated):
    rng = np.random.default_rng(0)
    ratings, given = rng.integers(1, 6, 60).astype(float), rng.normal(size=60)
    items = [rated(str(i), rating) for i, rating in enumerate(ratings)]
    scores = {("pam", str(i)): (Score(value, 0.0),) for i, value in enumerate(given)}
    found = evaluate(items, {"m": scores}, NOBODY, "paper", 200)
    for metric, scipys in (("LCC", pearsonr), ("SRCC", spearmanr), ("K-Tau", kendalltau)):
        one = cell(found, "m", metric)
        assert one.value == pytest.approx(scipys(ratings, given).statistic, abs=1e-12)
        assert one.low < one.value < one.high and one.n == 60 and one.best_null == "random"


def test_paper_and_strict_count_ties_each_in_their_way(pair):
    choices, given = ["a", "a", "b", "b", "both", "neither"], [1.0, 0.0, 0.0, -1.0, 3.0, -3.0]
    items = [pair(str(i), choice) for i, choice in enumerate(choices)]
    models = {"m": scores_of(items, given)}
    paper = cell(evaluate(items, models, NOBODY, "paper", 100), "m")
    strict = cell(evaluate(items, models, NOBODY, "strict", 100), "m")
    assert (paper.value, paper.n, paper.undecided) == (pytest.approx(4 / 6), 6, 2)
    assert (strict.value, strict.n, strict.undecided) == (pytest.approx(3 / 4), 4, 2)


def test_what_was_not_scored_is_left_out_and_counted_and_compared_only_where_both_scored(pair):
    items = [pair(str(i)) for i in range(40)]
    full = scores_of(items, [1.0] * 30 + [-1.0] * 10)
    part = {k: v for k, v in scores_of(items, [1.0] * 40).items() if int(k[1]) < 30}
    found = evaluate(items, {"full": full, "part": part}, NOBODY, "strict", 200)
    assert (cell(found, "part").n, cell(found, "part").unscored) == (30, 10)
    assert (cell(found, "full").n, cell(found, "full").unscored) == (40, 0)
    versus = next(one for one in found.versus if one.metric == "ACC")
    assert (versus.a, versus.b, versus.n, versus.difference) == ("full", "part", 30, 0.0)


def test_the_best_null_stands_beside_each_number_and_chance_is_the_least_of_them(pair):
    items = [pair(str(i), "a" if i % 4 else "b") for i in range(80)]
    null = {"first": scores_of(items, [1.0] * 80), "longer": scores_of(items, [-1.0] * 80)}
    truth = scores_of(items, [1.0 if i % 4 else -1.0 for i in range(80)])
    one = cell(evaluate(items, {"m": truth}, null, "strict", 500), "m")
    assert (one.best_null, one.null_value, one.difference) == ("first", 0.75, 0.25) and one.p < 0.001
    two = cell(evaluate(items, {"m": truth}, {"longer": null["longer"]}, "strict", 500), "m")
    assert (two.best_null, two.null_value) == ("random", 0.5)


def test_calibration_is_that_of_the_logistic_function_of_the_difference(pair):
    items = [pair(str(i), "a" if i < 30 else "b") for i in range(40)]
    found = evaluate(items, {"m": scores_of(items, [math.log(3)] * 40)}, NOBODY, "strict", 100)  # says 0.75: true
    assert cell(found, "m", "Brier").value == pytest.approx(0.75 * 0.25)
    assert [(b.n, round(b.forecast, 9), b.happened) for b in found.reliability[0].bins] == [(40, 0.75, 0.75)]
    assert not evaluate(items, {"m": scores_of(items, [1.0] * 40)}, NOBODY, "paper", 100).reliability


def test_a_handful_of_right_answers_is_no_certainty_and_no_ground_for_a_test(pair):
    items = [pair(str(i)) for i in range(4)]
    one = cell(evaluate(items, {"m": scores_of(items, [1.0] * 4)}, NOBODY, "strict", 100), "m")
    assert one.value == 1.0 and one.low < 0.6 and one.high == 1.0 and one.p is None


def test_groups_stand_beside_the_whole(pair):
    items = [pair(str(i), prompt=Prompt(f"{i}", "words" if i % 2 else "")) for i in range(20)]
    given = scores_of(items, [1.0 if i % 2 else -1.0 for i in range(20)])
    found = evaluate(items, {"m": given}, NOBODY, "strict", 100, by=lambda item, task: item.prompt.modality)
    shown = {c.group: (c.value, c.n) for c in found.cells if c.metric == "ACC"}
    assert shown == {"all": (0.5, 20), "text": (0.0, 10), "text+lyrics": (1.0, 10)}


def mean_of(values):
    return {"x": lambda weights: weights @ values / weights.sum(axis=1)}


def test_an_item_of_two_clusters_weighs_as_often_as_both_were_drawn():
    rng = np.random.default_rng(0)
    one, other, values = rng.integers(0, 9, 60), rng.integers(-1, 10, 60), rng.random(60)
    drawn = draw(mean_of(values), one, 200, other, seed=3)["x"]
    for found, row in zip(drawn, next(cluster_weights(np.arange(10), 200, 3, 200)), strict=True):
        weights = [row[a] * (row[b] if b >= 0 else 1) for a, b in zip(one, other, strict=True)]
        assert found == pytest.approx(np.average(values, weights=weights))


def test_intervals_of_pairs_of_pieces_cover_chance():
    """Scores and qualities of 30 pieces have nothing to do with each other, and every two of them are a pair."""
    rng = np.random.default_rng(0)
    one, other = np.triu_indices(30, 1)
    covered = by_pair = 0
    for _ in range(300):
        score, quality = rng.random(30), rng.random(30)
        right = ((score[one] > score[other]) == (quality[one] > quality[other])).astype(float)
        seed = int(rng.integers(1 << 30))
        low, high = percentile_interval(draw(mean_of(right), one, 300, other, seed)["x"])
        covered += low <= 0.5 <= high
        low, high = percentile_interval(draw(mean_of(right), np.arange(len(one)), 300, seed=seed)["x"])
        by_pair += low <= 0.5 <= high
    assert covered / 300 > 0.9
    assert by_pair / 300 < 0.8  # as if pairs were independent


def test_intervals_cover_the_known_accuracy_of_clustered_pairs():
    """Prompts differ in difficulty, so that pairs of one prompt go together; the accuracy of all is 0.7."""
    rng = np.random.default_rng(0)
    covered, rounds, prompts, each = 0, 1000, 100, 5
    clusters = np.repeat(np.arange(prompts), each)
    for _ in range(rounds):
        difficulty = rng.beta(7, 3, prompts)
        right = (rng.random(prompts * each) < difficulty[clusters]).astype(float)
        low, high = percentile_interval(draw(mean_of(right), clusters, 400, seed=int(rng.integers(1 << 30)))["x"])
        covered += low <= 0.7 <= high
    assert 0.93 <= covered / rounds <= 0.97


@pytest.mark.parametrize("count", [1, 4, 9])
def test_fewer_than_ten_prompts_give_wilsons_interval_or_none(pair, rated, count):
    right = [pair(str(i)) for i in range(count)]
    models = {"m": scores_of(right, [1.0] * count), "n": scores_of(right, [1.0] * (count - 1) + [-1.0])}
    found = evaluate(right, models, NOBODY, "strict", 100)
    accuracy = cell(found, "m")
    assert (accuracy.low, accuracy.high) == wilson(count, count)
    assert (cell(found, "n").low, cell(found, "n").high) == pytest.approx(wilson(count - 1, count))
    assert (cell(found, "m", "Brier").low, cell(found, "m", "Brier").high) == (None, None)
    assert {(one.low, one.high) for one in found.versus} == {(None, None)}
    shown = " ".join(text for table in full_tables(found, "strict") for row in table.rows for text in row)
    assert "100.00 – 100.00" not in shown and "None" not in shown and " - " in shown

    ratings = [rated(str(i), float(1 + i % 5)) for i in range(count)]
    scores = {("pam", str(i)): (Score(float(i % 5), 0.0),) for i in range(count)}
    of_ratings = evaluate(ratings, {"m": scores}, NOBODY, "strict", 100)
    assert all(one.low is None and one.high is None for one in of_ratings.cells)


def test_a_model_that_is_always_right_is_not_certain_to_be(pair):
    items = [pair(str(i)) for i in range(30)]
    one = cell(evaluate(items, {"m": scores_of(items, [1.0] * 30)}, NOBODY, "strict", 100), "m")
    assert (one.value, one.low, one.high) == (1.0, *wilson(30, 30))
