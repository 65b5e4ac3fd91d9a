import json
from dataclasses import replace

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Evaluation, Item, Metric, accuracy, percent_mean, percent_median, percent_ratio
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.many_files import Settings, read_scores, score_all
from cmi.bench.scoring.one_file import BenchCell, Items, Remembered, score_file, with_verdicts
from cmi.bench.scoring.responses import Entry, ResponseFile
from cmi.bench.tasks import prompt_example


def gtzan_file(tmp_path, pairs, model="m"):
    records = [
        {"question": "Genre?\nExample 1: blues", "response": a, "correct_answer": t, "audioid": f"{i}.wav"}
        for i, (t, a) in enumerate(pairs)
    ]
    path = tmp_path / f"{model}_GTZAN.jsonl"
    path.write_text(json.dumps(records))
    return ResponseFile(path, model, DATASETS["GTZAN"])


def test_a_cell_holds_all_that_is_needed_to_judge_it(tmp_path):
    file = gtzan_file(tmp_path, [("rock", "rock")] * 60 + [("pop", "pop")] * 30 + [("jazz", "rock"), ("jazz", "dunno")])
    cells = with_verdicts(score_file(file, "strict", Tools()))
    (cell,) = [cell for cell in cells if not cell.is_null]
    assert (cell.model, cell.row, cell.metric, cell.protocol) == ("m", "GTZ.", "Acc.", "strict")
    assert (cell.n, cell.unparsed, cell.missing) == (92, 1, 290 - 92)
    assert cell.value == pytest.approx(100 * 90 / 92)
    assert cell.low < cell.value < cell.high
    assert cell.best_null == "majority class"
    assert cell.null_value == pytest.approx(100 * 60 / 92)
    assert cell.verdict == "above null"
    assert cell.p < 1e-6
    assert {null.model for null in cells if null.is_null} == {
        "null: empty answer",
        "null: prompt's example",
        "null: majority class",
    }


def test_a_constant_answer_is_not_told_apart_from_the_null(tmp_path):
    file = gtzan_file(tmp_path, [("rock", "rock")] * 6 + [("pop", "rock")] * 5)
    (cell,) = [cell for cell in with_verdicts(score_file(file, "paper", Tools())) if not cell.is_null]
    assert cell.verdict == "not told apart"
    assert cell.difference == 0


def test_paper_leaves_out_what_failed_and_strict_counts_it_wrong(tmp_path):
    file = gtzan_file(tmp_path, [("rock", "rock"), ("pop", None), ("pop", "pop")])
    paper, strict = (next(iter(score_file(file, protocol, Tools()))) for protocol in ("paper", "strict"))
    assert (paper.value, paper.n, paper.unparsed) == (100, 2, 0)
    assert (strict.value, strict.n, strict.unparsed) == (pytest.approx(200 / 3), 3, 1)
    assert paper.missing == strict.missing == 290 - 2


def test_bad_truth_names_the_file(tmp_path):
    with pytest.raises(InputError, match=r"m_GTZAN.jsonl: .*polka"):
        score_file(gtzan_file(tmp_path, [("polka", "polka")]), "strict", Tools())


def compared_cell(model, row, value, difference, p, metric="Acc.", better="higher"):
    return BenchCell(
        **{"model": model, "row": row, "metric": metric, "value": value, "n": 10, "unparsed": 0, "protocol": "paper"},
        **{"low": value - 10, "high": value + 10, "better": better, "best_null": "x", "null_value": value - difference},
        **{"difference": difference, "p": p},
    )


def test_holm_is_over_all_cells_of_a_model():
    cells = [
        compared_cell("m", "GTZ.", 60.0, 10.0, 0.03),
        compared_cell("m", "NI", 40.0, -10.0, 0.001),
        compared_cell("k", "NI", 60.0, 10.0, 0.04),
        compared_cell("m", "DS", 20.0, -79.0, 0.0, "WE.", "lower"),
    ]
    judged = {(cell.model, cell.row): (cell.verdict, cell.p) for cell in with_verdicts(cells)}
    assert judged == {
        ("m", "DS"): ("above null", 0.0),
        ("m", "NI"): ("below null", 0.002),
        ("m", "GTZ."): ("above null", 0.03),
        ("k", "NI"): ("above null", 0.04),
    }
    raised = with_verdicts([*cells[:2], *(replace(cells[0], row=row) for row in ("MTT", "M-G"))])
    assert {cell.verdict for cell in raised if cell.row in ("MTT", "M-G")} == {"not told apart"}


def test_weights_reweigh_every_kind_of_metric():
    statistics = np.array([[1.0, 2.0], [0.0, 4.0], [1.0, 6.0]])
    repeated = statistics[[0, 0, 2]]
    weights = np.array([[2.0, 0.0, 1.0]])
    for metric in (percent_mean("a"), accuracy("b"), percent_ratio("c", 0, 1), percent_median("d", 1)):
        plain = metric.value(repeated, np.ones((1, 3)))
        assert metric.value(statistics, weights) == pytest.approx(plain)


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [5.0, 1.0, 2.0], [4.0, 1.0, 3.0, 2.0]])
def test_the_median_is_that_of_numpy(values):
    found = percent_median("m", 0).value(np.array(values)[:, None], np.ones((1, len(values))))
    assert found[0] == pytest.approx(100 * np.median(values))


def test_an_evaluation_of_nothing_has_no_value():
    nothing = Evaluation((Metric("a"), Metric("b")), np.empty((0, 2)), np.empty(0, np.int64), 0)
    assert np.isnan(nothing.values()).all()
    assert nothing.values().shape == (1, 2)


class CountingSource:
    def __init__(self, count):
        self.count, self.readings = count, 0

    def __iter__(self):
        self.readings += 1
        for i in range(self.count):
            yield Entry(Item("q", "a" * 10, "t", str(i)), i % 2 == 0)


def test_few_entries_are_remembered_and_many_are_read_again():
    few, many = CountingSource(5), CountingSource(50)
    for source, budget, readings in ((few, 100, 1), (many, 100, 3)):
        entries = Remembered(source, budget)
        assert [len(list(entries)) for _ in range(3)] == [source.count] * 3
        assert source.readings == readings
    assert len(list(Items(few, answered_only=True))) == 3
    assert {item.answer for item in Items(few, False, lambda item: item.truth)} == {"t"}


@pytest.mark.parametrize(
    ("question", "example"),
    [
        ("Genre?\nExample 1: blues\nExample 2: jazz", "blues"),
        ("Few-Shot Examples\nExample 1:\nC major\n\nExample 2:", "C major"),
        ("Example 1, when the note is A1: 33", "33"),
        ("Use the format of `0.0s,0.54s,1.0ss, ...`", "0.0s,0.54s,1.0ss, ..."),
        ("Example 1:\n\"[('5.5', '6.0', 'Tremolo')]\"", "[('5.5', '6.0', 'Tremolo')]"),
        ("Describe the song.", ""),
    ],
)
def test_the_prompts_own_example_is_found(question, example):
    assert prompt_example(question) == example


def settings(tmp_path, **changes):
    fields = {"annotations": None, "protocols": ["paper"], "embedder": "minilm", "bertscore": "", "resamples": 100}
    return Settings(**{**fields, **changes}, cache=tmp_path)


def run(tmp_path, files, log, **changes):
    scored = []
    cells = score_all(files, settings(tmp_path, **changes), log, scored.append, lambda _count: None)
    return cells, scored


def test_a_log_resumes_and_changes_nothing(tmp_path, monkeypatch):
    files = [gtzan_file(tmp_path, [("rock", "rock"), ("pop", "rock")], model) for model in ("a", "b")]
    log = tmp_path / "scores.jsonl"
    fresh, _ = run(tmp_path, files, None)
    run(tmp_path, files[:1], log)
    counted = []
    monkeypatch.setattr(
        "cmi.bench.scoring.many_files.score_file", lambda *args: counted.append(args[0].model) or score_file(*args)
    )
    resumed, scored = run(tmp_path, files, log)
    assert counted == ["b"]
    assert len(scored) == 2
    assert resumed == fresh
    run(tmp_path, files, log, resamples=200)
    assert counted == ["b", "a", "b"]  # other settings are other results
    gtzan_file(tmp_path, [("rock", "pop"), ("pop", "rock")], "a")
    run(tmp_path, files, log)
    assert counted == ["b", "a", "b", "a"]  # so are other answers


def test_what_waits_for_an_install_is_not_logged(tmp_path, monkeypatch):
    record = {"question": "q", "response": "a b", "correct_answer": "a b", "audioid": "x"}
    path = tmp_path / "m_SDD.jsonl"
    path.write_text(json.dumps([record]))
    files = [ResponseFile(path, "m", DATASETS["SDD"])]
    log = tmp_path / "scores.jsonl"
    with monkeypatch.context() as without:
        without.setattr(Tools, "thesaurus", InputError("install WordNet"))
        run(tmp_path, files, log)
    assert log.read_text() == ""


def test_an_embedder_that_was_asked_for_must_be_there(tmp_path):
    with pytest.raises(InputError):
        run(tmp_path, [gtzan_file(tmp_path, [("rock", "rock")])], None, embedder=str(tmp_path / "no-model"))


def test_scores_are_read_back(tmp_path):
    cells, _ = run(tmp_path, [gtzan_file(tmp_path, [("rock", "rock")])], None)
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"cells": [cell.to_json() for cell in cells]}))
    assert read_scores(path) == cells
    assert read_scores(tmp_path / "m_GTZAN.jsonl") is None
    path.write_text('{"cells": [{"model": 1}]}')
    with pytest.raises(InputError, match=r"scores.json: 'cells\[0\].model' is 1, expected text"):
        read_scores(path)
    path.write_text(json.dumps({"cells": [cells[0].to_json() | {"row": "GTZ"}]}))
    with pytest.raises(InputError, match=r"scores.json: a cell has row 'GTZ', expected one of GS-K"):
        read_scores(path)
    path.write_text('{"cells": [')
    with pytest.raises(InputError, match=r"scores.json: not JSON"):
        read_scores(path)
