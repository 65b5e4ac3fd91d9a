"""Looks at test sets are counted once for each model, and never get in the way."""

from dataclasses import replace
from multiprocessing import get_context

import pytest

from cmi.rewardbench.data import data_folder
from cmi.rewardbench.items import Vote
from cmi.rewardbench.runs.looks import LOOKS, log_looks, looks_table, read_looks


@pytest.fixture
def items(pair):
    return [pair(i, split="test") for i in range(5)] + [pair(f"t{i}", split="train") for i in range(5)]


def numbers(found):
    looks, why = found
    assert why == ""
    return [(look.model, look.number, look.rows) for look in looks]


def test_each_model_is_one_look_however_often_it_is_shown(items):
    assert numbers(log_looks(items, ["nano"])) == [("nano", 1, 5)]
    assert numbers(log_looks(items, ["nano"])) == [("nano", 1, 5)]
    assert numbers(log_looks(items, ["nano", "mine"])) == [("nano", 1, 5), ("mine", 2, 5)]
    assert [(one["model"], one["look"]) for one in read_looks()] == [("nano", 1), ("mine", 2)]


def test_another_label_or_row_is_another_test_set(items):
    log_looks(items, ["nano"])
    relabelled = [replace(items[0], votes={"musicality": Vote("b")}), *items[1:]]
    assert numbers(log_looks(relabelled, ["mine"])) == [("mine", 1, 5)]
    assert numbers(log_looks(list(reversed(items)), ["mine"])) == [("mine", 2, 5)]  # order does not matter


def test_training_rows_and_studio_sets_are_not_test_sets(items, pair):
    assert log_looks(items[5:], ["nano"]) == ([], "")
    assert log_looks([pair(1, dataset="studio", split="test")], ["nano"]) == ([], "")
    assert not (data_folder() / LOOKS).exists()


def test_a_data_folder_that_is_a_file_costs_a_note_only(items, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CMI_DATA", str(tmp_path / "file"))
    looks, why = log_looks(items, ["nano"])
    assert looks[0].number is None
    assert "could not be logged" in why
    assert why[1:] in looks_table(looks, why).notes[-1]


def test_a_damaged_log_costs_a_note_only(items):
    data_folder().mkdir(parents=True)
    (data_folder() / LOOKS).write_text("no json\n")
    looks, why = log_looks(items, ["nano"])
    assert looks[0].number is None
    assert "line 1" in why


def _look(items, name):
    log_looks(items, [name])


def test_processes_at_once_lose_no_look(items):
    context = get_context("spawn")
    started = [context.Process(target=_look, args=(items, f"model {i}")) for i in range(3)]
    for one in started:
        one.start()
    for one in started:
        one.join()
    assert sorted(one["look"] for one in read_looks()) == [1, 2, 3]
