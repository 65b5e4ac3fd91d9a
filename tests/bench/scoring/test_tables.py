"""Table 3 in part: chosen rows and models, with and without what was published."""

import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.scoring.names import METRICS, SHORT_METRICS, SHORT_ROWS
from cmi.bench.scoring.one_file import BenchCell
from cmi.bench.scoring.tables import Table3Part, published_rows, table3
from cmi.report.tables import to_latex


def cell(model: str, row: str, value: float, metric: str = "Acc.") -> BenchCell:
    about = {"model": model, "row": row, "metric": metric, "protocol": "paper", "n": 20, "unparsed": 0}
    return BenchCell(**about, value=value, low=value - 1, high=value + 1, is_null=model.startswith("null: "))


CELLS = [cell("mine", "GTZ.", 70.0), cell("mine", "NI", 30.0), cell("other", "NI", 20.0), cell("null: x", "NI", 9.0)]


def test_only_the_chosen_rows_and_models_are_shown():
    shown = table3(CELLS, "paper", Table3Part(["NI", "DS"], ["mine", "pengi"]))
    assert shown.headers == ["", "", "mine", "best null", "Pengi", "SOTA"]
    assert [row[0] for row in shown.rows] == ["NI", "DS", "DS"]


def test_without_published_numbers_there_are_only_your_rows():
    shown = table3(CELLS, "paper", Table3Part(published=False))
    assert shown.headers == ["", "", "mine", "other", "best null"]
    assert [row[0] for row in shown.rows] == ["GTZ.", "NI"]
    assert all("GTZ" not in row[0] for row in table3(CELLS, "paper", Table3Part(["NI"])).rows)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (Table3Part(["GTZAN"]), "--rows: no GTZAN; there are GS-K, EMO"),
        (Table3Part(models=["qwen3"]), "--models: no qwen3; there are mine, other, qwen2"),
        (Table3Part(models=["qwen2"], published=False), "--models: no qwen2; there are mine, other$"),
    ],
)
def test_a_row_or_model_that_there_is_not_is_refused(part: Table3Part, sentence: str):
    with pytest.raises(InputError, match=sentence):
        table3(CELLS, "paper", part)


def test_latex_has_no_character_that_needs_more_than_booktabs():
    lines = to_latex([table3(CELLS, "paper")]).splitlines()
    assert all(line.isascii() for line in lines if not line.startswith("%"))


def test_every_row_and_published_metric_has_a_short_name_for_terminals():
    assert {line.row for line in published_rows()} == set(SHORT_ROWS) <= set(DATASETS.rows)
    assert {line.metric for line in published_rows()} <= set(METRICS)
    assert set(SHORT_METRICS) == set(METRICS)
    shown = table3([], "paper").in_words
    assert shown.rows[0][:2] == ["GiantSteps key", "key score ↑"]
