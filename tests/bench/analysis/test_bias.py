"""TagBias by tag: numbers against scikit-learn and against the table, and biases that are there by construction."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from cmi._util.errors import InputError
from cmi.bench.analysis.bias import bias_tables, by_tag, draw_bias, measure_bias
from cmi.bench.analysis.tag_families import read_families
from cmi.bench.evaluation import Evaluation, Metric
from cmi.bench.scoring.one_file import score_file
from cmi.bench.scoring.responses import find_responses

SAMPLES = Path(str(files("cmi.bench"))) / "samples"
SAMPLE = SAMPLES / "responses" / "listener_MTT.jsonl"
ANNOTATIONS = SAMPLES / "annotations" / "CMI_MTT.jsonl"

VOICES = """
[[family]]
dataset = "MTT"
name = "vocals"
[family.groups]
female = ["female", "woman"]
male = ["male", "man"]
[[family.contrasts]]
name = "female v male"
a = ["female"]
b = ["male"]
"""


def answers(tmp_path, pairs):
    """A response file of (answer, truth) pairs in the authors' layout."""
    records = [
        {"question": "Tags?", "response": answer, "correct_answer": truth, "audioid": f"{i}.mp3"}
        for i, (answer, truth) in enumerate(pairs)
    ]
    path = tmp_path / "m_MTT.jsonl"
    path.write_text(json.dumps(records), encoding="utf-8")
    return find_responses([path])[0]


def test_each_tag_is_what_scikit_learn_says_under_any_weights():
    rng = np.random.default_rng(0)
    scores, truth = rng.normal(size=(60, 3)).round(1), rng.random((60, 3)) < [0.5, 0.2, 0.0]
    evaluation = Evaluation((Metric("ROC"), Metric("PR")), np.concatenate([scores, truth], axis=1), np.arange(60), 0)
    weights = np.stack([np.ones(60), rng.integers(1, 4, 60)])
    values = by_tag(evaluation, weights)
    for draw, tag in np.ndindex(2, 2):
        own = {"sample_weight": weights[draw]}
        assert values[draw, tag, 0] == pytest.approx(100 * roc_auc_score(truth[:, tag], scores[:, tag], **own))
        pr = 100 * average_precision_score(truth[:, tag], scores[:, tag], **own)
        prevalence = 100 * np.average(truth[:, tag], weights=weights[draw])
        assert values[draw, tag, 1:] == pytest.approx([pr, pr - prevalence])
    assert np.isnan(values[:, 2, :2]).all()


def test_the_mean_over_tags_is_the_table_s_cell(tools):
    (file,) = find_responses([SAMPLE])
    for protocol in ("paper", "strict"):
        bias = measure_bias(file, read_families(), protocol, tools, ANNOTATIONS, resamples=100)
        cells = {c.metric: c for c in score_file(file, protocol, tools, ANNOTATIONS, 100) if c.model == "listener"}
        assert (bias.mean_roc, bias.mean_pr) == (
            pytest.approx(cells["ROC"].value, abs=1e-4),
            pytest.approx(cells["PR"].value, abs=1e-4),
        )
        assert len(bias.tags) == 50
        assert bias.n == 24


def test_a_model_that_knows_women_only_is_found_out(tmp_path, tools):
    pairs = [("a woman, female", "female, woman"), ("a song", "male, man"), ("a song", "rock"), ("a song", "pop")] * 30
    families = tmp_path / "voices.toml"
    families.write_text(VOICES)
    bias = measure_bias(answers(tmp_path, pairs), read_families(families), "strict", tools, resamples=200)
    tags = {tag.tag: tag for tag in bias.tags}
    assert (tags["female"].roc, tags["female"].pr) == (pytest.approx(100), pytest.approx(100))
    assert tags["man"].roc < 70  # nothing tells men from rock but the embedder's whim
    assert (tags["female"].positives, tags["female"].pr_null, tags["female"].few) == (30, 25, False)
    assert tags["sitar"].roc is None
    assert tags["sitar"].few
    contrast = {one.metric: one for one in bias.contrasts}
    assert [contrast[metric].verdict for metric in ("ROC", "PR", "PR - null")] == ["a higher"] * 3
    assert contrast["ROC"].low <= contrast["ROC"].difference <= contrast["ROC"].high
    shown = bias_tables([bias], "strict")
    assert [row[-1] for row in shown[1].rows] == ["▲"] * 3


def test_a_model_that_says_the_same_of_everything_is_at_the_null(tmp_path, tools):
    pairs = [("music", "female, rock"), ("music", "male"), ("music", "pop")] * 20
    bias = measure_bias(answers(tmp_path, pairs), read_families(), "strict", tools, resamples=100)
    for tag in bias.tags:
        if tag.positives:
            assert tag.roc == pytest.approx(50)
            assert tag.pr == pytest.approx(tag.pr_null)
    assert {one.verdict for one in bias.contrasts} == {"not told apart"}


def test_by_the_paper_s_letters_every_woman_is_a_man(tmp_path, tools):
    file = answers(tmp_path, [("x", "female, woman"), ("y", "rock")] * 5)
    counts = {}
    for protocol in ("paper", "strict"):
        bias = measure_bias(file, [], protocol, tools, resamples=100)
        counts[protocol] = {tag.tag: tag.positives for tag in bias.tags}
    assert (counts["paper"]["male"], counts["paper"]["man"]) == (5, 5)
    assert (counts["strict"]["male"], counts["strict"]["man"]) == (0, 0)


def test_a_data_set_without_tags_is_refused(tools):
    (file,) = find_responses([SAMPLES / "responses" / "listener_GTZAN.jsonl"])
    with pytest.raises(InputError, match="GTZAN has no tags"):
        measure_bias(file, [], "strict", tools)


def test_a_file_without_any_answer_is_refused(tmp_path, tools):
    with pytest.raises(InputError, match="none of its questions has an answer"):
        measure_bias(answers(tmp_path, [(None, "rock")] * 3), [], "paper", tools)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_picture_is_drawn(tmp_path, tools, ending):
    (file,) = find_responses([SAMPLE])
    bias = measure_bias(file, read_families(), "strict", tools, ANNOTATIONS, resamples=100)
    draw_bias([bias, bias], tmp_path / f"bias.{ending}")
    assert (tmp_path / f"bias.{ending}").stat().st_size > 10_000
