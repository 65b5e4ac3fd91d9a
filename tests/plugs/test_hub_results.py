"""Scores for the hub: the hub's own classes read what we write, and every number is the one that was measured."""

import json
import math

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cmi.bench
from cmi._util.errors import InputError
from cmi.plugs.hub_results import read_scores, write_results


@pytest.fixture
def scores(bench, tmp_path):
    cells = cmi.bench.score(bench / "answers", bench / "annotations")
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"cells": [cell.to_json() for cell in cells]}))
    return path, next(cell for cell in cells if not cell.is_null)


def test_both_forms_have_the_number_with_its_n_interval_and_null(scores, tmp_path):
    path, cell = scores
    results, card = write_results(read_scores([path]), "me/cmi-bench", tmp_path / "model", "https://example.org/log")
    [entry] = parse_eval_result_entries(yaml.safe_load(results.read_text()))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/cmi-bench", "gs-k-ges-strict", cell.value)
    for part in ("protocol strict", f"n = {cell.n}", "95 %", "best null", "cmi "):
        assert part in entry.notes
    assert entry.source_url == "https://example.org/log"
    assert results.relative_to(tmp_path / "model").as_posix() == ".eval_results/cmi-bench.yaml"

    read = ModelCard.load(card)
    [result] = read.data.eval_results
    assert (result.metric_type, result.metric_value, read.data.model_name) == ("GES", cell.value, "listener")


def test_a_card_keeps_its_text_and_its_other_results(scores, tmp_path):
    path, _ = scores
    folder = tmp_path / "model"
    write_results(read_scores([path]), "me/other", folder)
    readme = folder / "README.md"
    readme.write_text(readme.read_text() + "\nMy own words: ünï, ---, 音.\n", encoding="utf-8")
    for _ in range(2):
        write_results(read_scores([path]), "me/cmi-bench", folder)
    card = ModelCard.load(readme)
    assert [result.dataset_type for result in card.data.eval_results] == ["me/other", "me/cmi-bench"]
    assert "My own words: ünï, ---, 音." in readme.read_text(encoding="utf-8")


def test_rewardbench_cells_are_taken_over_all_items_only(tmp_path):
    cell = {"model": "nano", "dataset": "pam", "task": "musicality", "group": "all", "metric": "accuracy"}
    cell |= {"protocol": "strict", "value": 0.75, "low": 0.6, "high": 0.9, "n": 40, "is_null": False}
    others = [cell | {"group": "text"}, cell | {"model": "louder", "is_null": True}, cell | {"value": None}]
    (tmp_path / "s.json").write_text(json.dumps({"cells": [cell, *others]}))
    [score] = read_scores([tmp_path / "s.json"])
    assert (score.task_id, score.value, score.n) == ("pam-musicality-accuracy-strict", 0.75, 40)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "no 'cells'"),
        ('{"cells": []}', "no score of a model"),
        ('{"cells": [1]}', "cell 1: has no 'model'"),
        ('{"cells": [{"model": "m", "value": 1}]}', "cell 1: .* is missing"),
        (
            '{"cells": [{"model": "m", "row": "r", "metric": "x", "protocol": "strict", "value": "much", "n": 1}]}',
            "cell 1",
        ),
    ],
)
def test_other_files_are_one_sentence(content, sentence, tmp_path):
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(InputError, match=sentence):
        read_scores([tmp_path / "s.json"])


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.none(), max_size=1)
KEYS = ("model", "row", "dataset", "task", "group", "metric", "protocol", "value", "n", "low", "null_value", "is_null")


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_cells_are_read_or_refused_in_one_sentence(tmp_path, cells):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"cells": cells}))
    try:
        found = read_scores([path])
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert all(math.isfinite(one.value) and one.notes for one in found)


def test_what_is_ambiguous_is_asked_for(scores, tmp_path):
    path, cell = scores
    two = tmp_path / "two.json"
    two.write_text(json.dumps({"cells": [cell.to_json(), cell.to_json() | {"model": "other"}]}))
    with pytest.raises(InputError, match="listener, other"):
        read_scores([two])
    assert {one.model for one in read_scores([two], "other")} == {"other"}
    with pytest.raises(InputError, match="twice"):
        read_scores([path, path])
    with pytest.raises(InputError, match="OWNER/NAME"):
        write_results(read_scores([path]), "../../etc", tmp_path / "model")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "README.md").write_text("---\nlicense: [\n---\n")
    with pytest.raises(InputError, match="front matter"):
        write_results(read_scores([path]), "me/x", tmp_path / "model")
