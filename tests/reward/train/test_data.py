"""Examples from files: axes are joined, ties left out and counted, bad rows named."""

import math

import pytest

from cmi._util.errors import InputError
from cmi.reward.train.config import ModalityDropout, TrainingSource
from cmi.reward.train.data import Batches, Label, TrainingExample, count, with_dropout
from cmi.reward.train.journal import measure
from cmi.reward.train.reading import read_examples
from cmi.take import Prompt

from .conftest import write_rows

ROW = {"text": "tone", "a": "a.wav", "b": "b.wav", "axis": "musicality", "choice": "a"}


def read(path, **options):
    (found,) = read_examples([TrainingSource(preferences=path, **options)])
    return found


def test_axes_of_a_pair_are_joined_and_ties_are_counted(tmp_path):
    rows = [
        {**ROW, "confidence": 4},
        {**ROW, "axis": "alignment", "choice": "b"},
        {**ROW, "axis": "overall", "choice": "neither"},
        {**ROW, "b": "c.wav", "axis": "alignment", "choice": "both"},
        {**ROW, "b": "c.wav", "axis": "overall", "choice": "b"},
        {**ROW, "text": "noise"},
    ]
    write_rows(tmp_path / "p.jsonl", rows)
    found = read(tmp_path / "p.jsonl")
    assert [example.labels for example in found.examples] == [
        {"musicality": Label(1.0, 4), "alignment": Label(0.0)},
        {"overall": Label(0.0)},
        {"musicality": Label(1.0)},
    ]
    assert found.ties == {"overall": 1, "alignment": 1}
    assert found.examples[0].takes == (tmp_path / "a.wav", tmp_path / "b.wav")


def test_raters_are_kept_apart_and_a_second_opinion_is_another_example(tmp_path):
    rows = [{**ROW, "rater": "x"}, {**ROW, "rater": "y", "axis": "alignment"}, {**ROW, "rater": "x", "choice": "b"}]
    write_rows(tmp_path / "p.jsonl", rows)
    assert [dict(example.labels) for example in read(tmp_path / "p.jsonl").examples] == [
        {"musicality": Label(1.0)},
        {"alignment": Label(1.0)},
        {"musicality": Label(0.0)},
    ]


def test_a_split_is_picked_and_an_empty_one_is_refused(tmp_path):
    rows = [{**ROW, "split": "train"}, {**ROW, "split": "valid", "choice": "both"}, ROW]
    write_rows(tmp_path / "p.jsonl", rows)
    assert len(read(tmp_path / "p.jsonl", split="train").examples) == 1
    assert len(read(tmp_path / "p.jsonl").examples) == 2
    with pytest.raises(
        InputError, match=r"p.jsonl: no example of split 'valid' to learn from \(1 ties were left out\)"
    ):
        read(tmp_path / "p.jsonl", split="valid")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"audio": "a.wav"}, "line 1: neither 'musicality' nor 'alignment' is rated"),
        ({"audio": "a.wav", "musicality": 6}, "line 1: 'musicality' is 6, expected a number from 1 to 5"),
        ({"audio": "a.wav", "alignment": "good"}, "line 1: 'alignment' is 'good', expected a number from 1 to 5"),
        ({"audio": "a.wav", "alignment": True}, "line 1: 'alignment' is True"),
        ({"musicality": 3}, "line 1: 'audio' is missing"),
    ],
)
def test_a_bad_rating_is_named(tmp_path, row, sentence):
    write_rows(tmp_path / "r.jsonl", [row])
    with pytest.raises(InputError, match=r"r\.jsonl") as raised:
        read_examples([TrainingSource(ratings=tmp_path / "r.jsonl")])
    assert sentence in str(raised.value)


def test_counts_are_by_axis_and_modality(music):
    pairs = TrainingSource(preferences=music / "pairs.jsonl", split="train")
    ratings = TrainingSource(ratings=music / "ratings.jsonl", weight=0.5)
    of_pairs, of_ratings = count(read_examples([pairs, ratings]))
    assert of_pairs["examples"] == 28
    assert of_pairs["labels"] == {"alignment": 28, "musicality": 28, "overall": 1}
    assert of_pairs["ties"] == {"musicality": 1, "alignment": 1}
    assert sum(of_pairs["modalities"].values()) == 28
    assert of_pairs["modalities"]["text+lyrics"] == 7
    assert (of_ratings["kind"], of_ratings["examples"]) == ("ratings", 56)


def examples(n: int, start: int = 0) -> list[TrainingExample]:
    return [TrainingExample(Prompt(str(start + i), "la"), (), {}) for i in range(n)]


def names(found: list[TrainingExample]) -> list[str]:
    return [example.prompt.text for example in found]


def test_an_epoch_holds_each_example_as_often_as_its_weight_says():
    batches = Batches([(examples(10), 1.0), (examples(4, 100), 2.0), (examples(6, 200), 0.5)], 7, seed=3)
    assert batches.epoch == 10 + 8 + 3
    for epoch in range(3):
        drawn = names([e for step in range(3 * epoch, 3 * epoch + 3) for e in batches[step]])
        assert [drawn.count(str(i)) for i in range(10)] == [1] * 10
        assert [drawn.count(str(100 + i)) for i in range(4)] == [2] * 4
        assert sum(drawn.count(str(200 + i)) for i in range(6)) == 3
    assert names(batches[0]) != names(batches[3])


def test_a_batch_is_told_by_seed_and_step_alone():
    straight, jumping = (Batches([(examples(10), 1.0)], 4, seed=3) for _ in range(2))
    later = names(jumping[9])
    assert [names(straight[step]) for step in range(10)][9] == later
    assert names(Batches([(examples(10), 1.0)], 4, seed=4)[9]) != later


def test_parts_of_prompts_are_left_out_as_often_as_asked():
    rates = ModalityDropout(text=0.5, lyrics=1.0)
    found = with_dropout(examples(400, 1), rates, seed=0, step=5)
    assert 150 < sum(example.prompt.text == "" for example in found) < 250
    assert all(example.prompt.lyrics == "" for example in found)
    assert found == with_dropout(examples(400, 1), rates, seed=0, step=5)
    assert found != with_dropout(examples(400, 1), rates, seed=0, step=6)
    assert with_dropout(examples(9), ModalityDropout(), 0, 0) == examples(9)


def test_validation_is_counted_by_axis():
    pair = TrainingExample(Prompt(), ("a", "b"), {"musicality": Label(1.0), "overall": Label(0.0)})
    rated = [TrainingExample(Prompt(), ("a",), {"alignment": Label(float(k))}) for k in (1, 3, 5)]
    first = {"musicality": 2.0, "alignment": 0.0, "overall": 1.0}
    second = {"musicality": 1.0, "alignment": 1.0, "overall": 1.0}
    ranks = [[{"alignment": k}] for k in (0.1, 0.2, 0.3)]
    found = measure([pair, *rated], [[first, second], *ranks])
    assert found["pairs"]["musicality"]["accuracy"] == 1
    assert found["pairs"]["overall"]["accuracy"] == 0  # a tie is not judged rightly
    assert found["value"] == 0.5
    assert found["pairs"]["musicality"]["cross_entropy"] == pytest.approx(math.log(1 + math.exp(-1)))
    assert found["pairs"]["overall"]["cross_entropy"] == pytest.approx(math.log(2))
    assert found["ratings"]["alignment"] == {"spearman": pytest.approx(1), "n": 3}
    assert measure(rated, ranks)["value"] == pytest.approx(1)
    assert measure(rated[:1], ranks[:1])["ratings"]["alignment"]["spearman"] is None
