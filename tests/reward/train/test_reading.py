"""Data by name, a share held out by prompt, and nothing in training and validation alike."""

import pytest

from cmi._util.errors import InputError
from cmi.reward.train.config import load_config
from cmi.reward.train.data import AXES, count, data_table
from cmi.reward.train.reading import read_data
from cmi.take import Prompt

from .conftest import write_rows

ROW = {"a": "a.wav", "b": "b.wav", "axis": "musicality", "choice": "a"}


@pytest.fixture
def own(tmp_path):
    """400 pairs of 200 prompts, without splits."""
    rows = [{**ROW, "text": f"prompt {i // 2}", "a": f"{i}.wav", "rater": str(i % 3)} for i in range(400)]
    write_rows(tmp_path / "own.jsonl", rows)
    return tmp_path / "own.jsonl"


@pytest.mark.parametrize("train", [["own.jsonl"], "own.jsonl", ["own=own.jsonl"], [{"dataset": "own.jsonl"}]])
def test_a_bare_name_is_its_train_split_or_its_valid_split(own, settings, write_config, train):
    del settings["data"]
    (training,), (validation,) = read_data(load_config(str(write_config(train=train, validation=["own.jsonl"]))))
    assert (training.name, validation.name) == ("own.jsonl (train)", "own.jsonl (valid)")
    assert len(training.examples) + len(validation.examples) + training.unused["test"] == 400
    assert set(training.unused) == {"test"}
    assert not {e.prompt for e in training.examples} & {e.prompt for e in validation.examples}


def test_a_share_is_held_out_by_prompt(own, write_config):
    config = load_config(str(write_config(data=[{"preferences": str(own)}], validation={"share": 0.2})))
    (training,), (validation,) = read_data(config)
    assert len(training.examples) + len(validation.examples) == 400
    assert 50 < len(validation.examples) < 110
    assert not {e.prompt for e in training.examples} & {e.prompt for e in validation.examples}
    assert validation.name == "own.jsonl, 20 % of training"
    table = data_table({"validation": count([validation])})
    assert table.rows[0][:3] == ["validation", "own.jsonl, 20 % of training", "pairs"]
    assert not table.notes
    other = load_config(str(write_config(data=[{"preferences": str(own)}], validation={"share": 0.2, "seed": 1})))
    assert read_data(other)[1][0].examples != validation.examples


def test_a_table_warns_of_few_examples_for_validation(own, write_config):
    config = load_config(str(write_config(data=[{"preferences": str(own)}], validation={"share": 0.01})))
    held_out = read_data(config)[1]
    (note,) = data_table({"validation": count(held_out)}).notes
    assert note == (
        f"Only {len(held_out[0].examples)} held out for validation: too few to say whether training helped."
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"validation": {"share": 1.5}}, "'validation[0].share' is 1.5, expected at most 0.9"),
        ({"validation": {"share": 0.2, "split": "valid"}}, "'validation[0]' is a 'share' of the training data, which"),
        ({"data": [{"share": 0.2}]}, "'train' has a 'share', which is for 'validation'"),
        ({"data": ["cmi-prf=here"]}, "'data[0].dataset' is 'cmi-prf=here': no data set is called 'cmi-prf', expected"),
        ({"data": [{"dataset": "cmi-pref", "limit": 0}]}, "'data[0].limit' is 0, expected at least 1"),
        ({"train": ["cmi-pref"]}, "'data' is not known"),
    ],
)
def test_a_mistake_is_one_sentence(write_config, changes, sentence):
    with pytest.raises(InputError) as raised:
        load_config(str(write_config(**changes)))
    assert sentence in str(raised.value)


def test_a_name_that_is_neither_a_set_nor_a_file_is_one_sentence(write_config):
    with pytest.raises(InputError, match="cmi-perf' is neither a file nor a data set; those are pam, musiceval"):
        read_data(load_config(str(write_config(data=["cmi-perf"]))))


@pytest.mark.parametrize("swapped", [False, True])
def test_the_same_rows_in_training_and_validation_are_refused(own, write_config, tmp_path, swapped):
    row = {**ROW, "text": "prompt 3", "a": "7.wav", "rater": "another", "choice": "b"}
    write_rows(tmp_path / "v.jsonl", [{**row, "a": row["b"], "b": row["a"]} if swapped else row, {**row, "a": "x.wav"}])
    parts = {"data": [{"preferences": "own.jsonl"}], "validation": [{"preferences": "v.jsonl"}]}
    with pytest.raises(InputError) as raised:
        read_data(load_config(str(write_config(**parts))))
    assert str(raised.value).startswith("v.jsonl: 1 of its 2 rows for validation are also trained on, in own.jsonl (")
    assert str(raised.value).endswith("name another split, or use 'validation: {share: 0.2}'")


def test_a_limit_above_what_there_is_takes_everything(own, write_config):
    config = load_config(str(write_config(data=[{"preferences": "own.jsonl", "limit": 500}], validation=[])))
    ((training,), _) = read_data(config)
    assert len(training.examples) == 400
    assert not training.unused


def test_a_fraction_is_of_what_the_limit_leaves_and_a_larger_one_holds_a_smaller(own, write_config):
    def read(**more: object) -> set:
        source = {"preferences": "own.jsonl", **more}
        ((training,), _) = read_data(load_config(str(write_config(data=[source], validation=[]))))
        return set(training.examples)

    quarter, half, limited = read(fraction=0.25), read(fraction=0.5), read(limit=200, fraction=0.25)
    assert (len(quarter), len(half), len(limited)) == (100, 200, 50)
    assert limited < quarter < half
    assert read(fraction=0.25, seed=1) != quarter


def test_labels_on_other_axes_and_prompts_can_be_left_out(own, write_config, tmp_path):
    both = [{**ROW, "text": f"prompt {i}", "a": f"{i}.wav", "axis": axis} for i in range(40) for axis in AXES[:2]]
    write_rows(tmp_path / "both.jsonl", both)
    parts = {"data": [{"preferences": "both.jsonl"}], "validation": {"share": 0.3}}
    plain = read_data(load_config(str(write_config(**parts))))
    changed = read_data(load_config(str(write_config(**parts, axes=["alignment"], prompts=False))))
    for (one,), (other,) in zip(plain, changed, strict=True):
        assert [e.takes for e in one.examples] == [e.takes for e in other.examples]  # the same prompts are held out
        assert {tuple(e.labels) for e in other.examples} == {("alignment",)}
        assert {e.prompt for e in other.examples} == {Prompt()}
    with pytest.raises(InputError, match=r"own.jsonl: no label on alignment or overall, which 'axes' asks for"):
        read_data(load_config(str(write_config(data=["own.jsonl"], validation=[], axes=["alignment", "overall"]))))


def test_rows_to_test_on_are_not_trained_on(own, write_config):
    config = load_config(str(write_config(data=[{"preferences": "own.jsonl"}], validation={"share": 0.2})))
    training, validation = read_data(config)
    read_data(config, validation)
    with pytest.raises(InputError, match=r"rows for testing are also trained on.*: name another split$"):
        read_data(config, training)
