"""The printed numbers of Table 3 come out to the digit, from the answers that the authors released."""

import csv
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from cmi.bench.evaluation import Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import Items
from cmi.bench.scoring.responses import ResponseSet, find_responses
from cmi.bench.scoring.tables import MODELS, published_rows
from cmi.bench.tasks import load_task

EARLIER_TABLE_ROWS = {"GS-K", "EMO", "GTZ.", "VS-T"}  # whose released answers are older than Table 3
EMBEDDED = {"MTT", "M-G", "M-E", "M-I", "M-50"}


@pytest.fixture(scope="module")
def values(shared: Path, tools: Tools) -> dict[tuple[str, str, str], float]:
    found = {}
    for file in find_responses([shared / "cmi-bench" / "responses"]):
        if file.dataset.row in EMBEDDED:
            continue
        setting = Setting(file.dataset.name, "paper", file.model, tools)
        evaluation = load_task(file.dataset).evaluate(Items(ResponseSet(file), answered_only=True), setting)
        for metric, value in zip(evaluation.metrics, evaluation.values()[0], strict=True):
            found[file.model, file.dataset.row, metric.name] = float(value)
    return found


def reference(shared: Path) -> list[dict[str, str]]:
    with (shared / "cmi-bench" / "table3.csv").open() as file:
        return list(csv.DictReader(file))


def is_printed_as(value: float, printed: str) -> bool:
    """Whether `value` rounds to the digits that were printed."""
    places = Decimal(1).scaleb(Decimal(printed).as_tuple().exponent)
    exact = Decimal(value)
    return Decimal(printed) in {exact.quantize(places, how) for how in (ROUND_HALF_EVEN, ROUND_HALF_UP)}


def test_every_exact_cell_is_matched_to_the_printed_digit(shared, values, wordnet):
    cells = [line for line in reference(shared) if line["verdict"] == "exact"]
    wrong = [
        line
        for line in cells
        if not is_printed_as(values[line["model"], line["row"], line["metric"]], line["published"])
    ]
    assert len(cells) == 48
    assert wrong == []


def test_key_emotion_genre_and_technique_match_the_earlier_table(shared, values):
    cells = [line for line in reference(shared) if line["row"] in EARLIER_TABLE_ROWS and line["earlier_table"]]
    wrong = [
        line
        for line in cells
        if not is_printed_as(values[line["model"], line["row"], line["metric"]], line["earlier_table"])
    ]
    assert len(cells) == 15
    assert wrong == []


def test_the_table_we_carry_is_the_published_one(shared):
    ours = {(model, line.row, line.metric): line.by_model[model] for line in published_rows() for model in MODELS}
    theirs = {(line["model"], line["row"], line["metric"]): line["published"] for line in reference(shared)}
    assert ours == theirs


STRICT = {  # what correcting the published scorer gives, by an independent computation
    ("qwen2", "NP", "Acc."): 2.05,
    ("qwen2", "VS-T", "Acc."): 15.00,
    ("qwen2", "DS", "WE."): 373.69,
    ("qwen2", "DS", "CE."): 362.38,
    ("qwen2", "DS", "WE.cap"): 55.60,
    ("qwen2", "DS", "WE.med"): 50.00,
    ("qwen2", "G-B", "FM@70ms"): 14.42,
    ("qwen2", "G-B", "FM@20ms"): 4.43,
    ("qwen2", "G-D", "FM@70ms"): 8.49,
    ("gama", "DS", "WE."): 158.05,
    ("gama", "DS", "CE."): 134.79,
    ("flamingo", "DS", "WE."): 181.88,
    ("flamingo", "DS", "WE.med"): 169.05,
    ("flamingo", "MC", "RO."): 11.06,
    ("qwen2", "MC", "RO."): 15.54,
}


def test_strict_gives_the_corrected_numbers(shared, tools):
    wanted = {row for _, row, _ in STRICT}
    found = {}
    for file in find_responses([shared / "cmi-bench" / "responses"]):
        if file.dataset.row in wanted:
            setting = Setting(file.dataset.name, "strict", file.model, tools)
            evaluation = load_task(file.dataset).evaluate(Items(ResponseSet(file), answered_only=False), setting)
            names = [(file.model, file.dataset.row, metric.name) for metric in evaluation.metrics]
            found |= dict(zip(names, evaluation.values()[0].tolist(), strict=True))
    assert {place: round(found[place], 2) for place in STRICT} == STRICT


@pytest.mark.parametrize(("dataset", "expected"), [("gtzan_beat", 28.9), ("gtzan_downbeat", 11.8), ("GS_key", 15.83)])
def test_a_deaf_answer_beats_every_published_model(shared, tools, dataset, expected):
    file = next(
        file for file in find_responses([shared / "cmi-bench" / "responses" / "qwen2"]) if file.dataset.name == dataset
    )
    task = load_task(file.dataset)
    items = Items(ResponseSet(file), answered_only=True)
    null = task.nulls(items)[0]
    setting = Setting(dataset, "paper", "null", tools)
    value = task.evaluate(Items(ResponseSet(file), True, null.answer), setting).values()[0, 0]
    published = next(line for line in published_rows() if line.row == file.dataset.row)
    assert value == pytest.approx(expected, abs=0.05)
    assert value > max(float(printed) for printed in published.by_model.values())
