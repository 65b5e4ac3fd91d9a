"""The map: against scikit-learn's PCA, and honest about what it leaves out."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from cmi._util.errors import InputError
from cmi.bench.analysis.model_map import (
    complete_scores,
    draw_map,
    map_models,
    map_records,
    map_tables,
    model_records,
    standardised,
)
from cmi.bench.analysis.model_scores import MetricColumn, ScoredModel, ScoreMatrix, gather
from cmi.bench.scoring.one_file import BenchCell


def cell(model, row, metric, value, protocol="paper", better="higher", notes=()):
    about = {"model": model, "row": row, "metric": metric, "protocol": protocol, "n": 100, "unparsed": 0}
    is_null = model.startswith("null: ")
    return BenchCell(**about, value=value, low=None, high=None, better=better, is_null=is_null, notes=notes)


def made_up(values, columns=None):
    values = np.asarray(values, float)
    columns = columns or [MetricColumn("GS-K", f"m{i}", "higher") for i in range(values.shape[1])]
    models = tuple(ScoredModel(f"m{i}", f"m{i}", False) for i in range(len(values)))
    return ScoreMatrix(models, tuple(columns), values)


def test_components_are_those_of_scikit_learn():
    scores = gather([], "paper", with_published=True)
    mine = map_models(scores, 4, shuffles=50)
    theirs = PCA(4, svd_solver="full").fit(standardised(complete_scores(scores, "leave-out")))
    assert [one.share for one in mine.components] == pytest.approx(theirs.explained_variance_ratio_.tolist())
    assert np.abs(mine.loadings) == pytest.approx(np.abs(theirs.components_.T))
    assert [model.name for model in mine.models][:2] == ["Qwen2-Audio", "Qwen-Audio"]
    assert len(mine.columns) == 34


def test_all_components_give_the_standardised_scores_back():
    scores = gather([], "paper", with_published=True)
    whole = map_models(scores, 20, shuffles=10)
    assert whole.coordinates @ whole.loadings.T == pytest.approx(standardised(scores))
    assert sum(one.share for one in whole.components) == pytest.approx(1)
    largest = np.argmax(np.abs(whole.loadings), axis=0)
    assert (whole.loadings[largest, np.arange(whole.loadings.shape[1])] > 0).all()


def test_every_row_of_the_table_weighs_the_same_and_errors_count_downwards():
    columns = [
        MetricColumn("SDD", "BL.", "higher"),
        MetricColumn("SDD", "ME.", "higher"),
        MetricColumn("DS", "WE.", "lower"),
    ]
    table = standardised(made_up([[1, 5, 90], [2, 4, 50], [4, 9, 10]], columns))
    assert (table**2).sum(axis=0).tolist() == pytest.approx([1.5, 1.5, 3])
    assert table[2, 2] > table[0, 2]


def test_noise_is_no_finding_and_a_common_factor_is():
    rng = np.random.default_rng(1)
    columns = [MetricColumn(row, "m", "higher") for row in ("GS-K", "GTZ.", "VS-T", "NI", "NP", "G-B", "G-D", "MDB")]
    noise = map_models(made_up(rng.normal(size=(12, 8)), columns), 1, shuffles=200).components[0]
    strength = rng.normal(size=(12, 1))
    factor = map_models(made_up(strength + 0.2 * rng.normal(size=(12, 8)), columns), 1, shuffles=200).components[0]
    assert noise.share < noise.chance_high
    assert factor.share > factor.chance_high


def test_metrics_of_one_row_are_shuffled_together():
    """Two copies of one metric are one finding, not a common factor of two data sets."""
    rng = np.random.default_rng(2)
    one = rng.normal(size=(10, 1))
    both = made_up(np.hstack([one, one]), [MetricColumn("SDD", "BL.", "higher"), MetricColumn("SDD", "ME.", "higher")])
    component = map_models(both, 1, shuffles=50).components[0]
    assert component.share == pytest.approx(component.chance)


def test_what_is_left_out_is_said():
    values = np.array([[1, 2, 3, 4.0], [2, 3, np.nan, 4], [3, 1, 5, 4], [np.nan, np.nan, np.nan, 4]])
    kept = complete_scores(made_up(values), "leave-out")
    assert [column.metric for column in kept.columns] == ["m0", "m1"]
    assert len(kept.models) == 3
    assert any("m3 (1)" in note for note in kept.notes)
    assert any("some model lacks: GS-K m2" in note for note in kept.notes)
    assert any("all models agree: GS-K m3" in note for note in kept.notes)
    filled = complete_scores(made_up(values), "mean")
    assert [column.metric for column in filled.columns] == ["m0", "m1", "m2"]
    assert filled.values[1, 2] == 4
    assert any("1 missing cells of 1 metrics" in note for note in filled.notes)


def test_too_few_models_make_no_map():
    with pytest.raises(InputError, match="too few for a map"):
        map_models(made_up([[1, 2], [2, 1]]))


def test_own_scores_stand_beside_the_published_only_where_they_compare():
    mine = [
        cell("mine", "GTZ.", "Acc.", 50.0),
        cell("mine", "MTT", "ROC", 70.0, notes=("not comparable with the published numbers, which used x",)),
        cell("mine", "GTZ.", "Acc.", 60.0, protocol="strict"),
        cell("null: empty answer", "GTZ.", "Acc.", 0.0),
    ]
    scores = gather(mine, "paper", with_published=True)
    assert len(scores.models) == 12
    assert np.isfinite(scores.values[-1]).sum() == 1
    assert "your MTT ROC" in scores.notes[0]
    alone = gather(mine, "paper", with_published=False)
    assert (len(alone.models), len(alone.columns)) == (1, 2)
    with pytest.raises(InputError, match="protocol paper"):
        gather(mine, "strict", with_published=True)
    with pytest.raises(InputError, match="no scores"):
        gather([], "strict", with_published=False)
    with pytest.raises(InputError, match="two different values"):
        gather([*mine, replace(mine[0], value=51.0)], "paper", with_published=True)


def test_an_own_model_of_a_published_name_stays_apart():
    scores = gather([cell("Pengi", "GTZ.", "Acc.", 50.0)], "paper", with_published=True)
    assert [model.name for model in scores.models[-2:]] == ["Pengi", "Pengi (scored here)"]


def test_it_is_shown_as_tables_records_and_a_picture(tmp_path):
    result = map_models(gather([], "paper", with_published=True), 2, shuffles=10)
    shares, places, loadings = map_tables(result)
    assert (len(shares.rows), len(places.rows), len(loadings.rows)) == (2, 11, 34)
    assert model_records(result)[0]["model"] == "Qwen2-Audio"
    assert map_records(result)["components"][0]["name"] == "PC1"
    draw_map(result, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
