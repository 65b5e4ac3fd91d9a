"""A user's own files, and the studio's sets."""

import pytest

from cmi._util.errors import InputError
from cmi.rewardbench.data import count, own, studio
from cmi.rewardbench.items import Vote

ROW = {"text": "slow piano", "a": "a.wav", "b": "b.wav", "axis": "musicality", "choice": "a"}


def test_rows_about_a_pair_by_a_rater_are_one_item(tmp_path, make):
    file = make.lines(
        tmp_path / "mine.jsonl",
        {**ROW, "rater": "ann", "confidence": 4, "generator_a": "x", "truth": {"not": "text"}},
        {**ROW, "rater": "ann", "axis": "alignment", "choice": "both"},
        {**ROW, "rater": "bob"},
        {**ROW, "rater": "ann", "choice": "b"},
    )
    items = list(own.DATA_SET.read(file))
    assert [item.id for item in items] == ["1", "3", "4"]
    assert items[0].votes == {"musicality": Vote("a", 4), "alignment": Vote("both")}
    assert items[0].about == {"rater": "ann", "generator_a": "x"}
    assert items[0].takes == (tmp_path / "a.wav", tmp_path / "b.wav")


def test_csv_says_the_same_as_json_lines(tmp_path, make):
    make.lines(tmp_path / "mine.jsonl", {**ROW, "confidence": 4, "month": "2025-08"})
    (tmp_path / "mine.csv").write_text(
        "text,a,b,axis,choice,confidence,month,lyrics\nslow piano,a.wav,b.wav,musicality,a,4,2025-08,nan\n"
    )
    assert list(own.DATA_SET.read(tmp_path / "mine.csv")) == list(own.DATA_SET.read(tmp_path / "mine.jsonl"))


def test_rated_takes_are_read(tmp_path, make):
    file = make.lines(
        tmp_path / "mine.jsonl",
        {
            "id": "x",
            "audio": "t.flac",
            "text": "slow",
            "reference": "r.wav",
            "musicality": 3.4,
            "alignment": 4,
            "split": "test",
        },
        {"audio": "u.flac", "alignment": 1, "musicality": None},
    )
    first, second = own.DATA_SET.read(file)
    assert (first.id, first.ratings, first.about) == ("x", {"musicality": 3.4, "alignment": 4.0}, {"split": "test"})
    assert first.prompt.reference == tmp_path / "r.wav"
    assert second.ratings == {"alignment": 1.0}
    (tmp_path / "mine.csv").write_text("audio,musicality\nt.flac,3.4\n")
    (item,) = own.DATA_SET.read(tmp_path / "mine.csv")
    assert item.ratings == {"musicality": 3.4}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (ROW | {"choice": "c"}, r"mine.jsonl line 1: 'choice' is 'c', expected one of a, b, both, neither"),
        (ROW | {"choice": ""}, r"mine.jsonl line 1: 'choice' is missing"),
        (ROW | {"axis": "loudness"}, r"mine.jsonl line 1: 'axis' is 'loudness', expected one of musicality"),
        (ROW | {"confidence": 2.5}, r"'confidence' is 2.5, expected a whole number"),
        (ROW | {"a": ""}, r"mine.jsonl line 1: 'a' is missing"),
        ({"audio": "x.wav", "musicality": 9}, r"mine.jsonl line 1: 'musicality' is 9, expected a number from 1 to 5"),
        ({"audio": "x.wav", "musicality": None}, r"neither 'musicality' nor 'alignment' is rated"),
        ({"audio": "x.wav"}, r"mine.jsonl line 1: neither 'choice' of a preference nor 'musicality'"),
    ],
)
def test_bad_rows_are_named(tmp_path, make, row, sentence):
    with pytest.raises(InputError, match=sentence):
        list(own.DATA_SET.read(make.lines(tmp_path / "mine.jsonl", row)))


def test_files_that_are_none_are_named(tmp_path, make):
    with pytest.raises(InputError, match=r"no row in it"):
        list(own.DATA_SET.read(make.lines(tmp_path / "empty.jsonl")))
    with pytest.raises(InputError, match=r"mine.txt: expected a file named .jsonl, .json, .csv or .parquet"):
        list(own.DATA_SET.read(make.lines(tmp_path / "mine.txt", ROW)))


def test_an_id_twice_is_named(tmp_path, make):
    file = make.lines(tmp_path / "mine.jsonl", {**ROW, "id": "x"}, {**ROW, "id": "x", "axis": "alignment"})
    with pytest.raises(InputError, match=r"line 2: 'id' is 'x', the id of an earlier row"):
        list(own.DATA_SET.read(file))


def test_a_studio_set_is_a_data_set_like_any_other(tmp_path, make):
    rows = [
        ROW | {"id": str(i), "split": split, "a": f"{i}.flac", "truth": {}} for i, split in enumerate(("train", "test"))
    ]
    make.lines(tmp_path / "preferences.jsonl", *rows)
    (item,) = studio.DATA_SET.read(tmp_path)
    assert (item.id, item.dataset, item.about) == ("1", "studio", {"split": "test"})
    assert count(studio.DATA_SET.survey(tmp_path)).left_out == {"split train": 1}
    assert len(list(studio.DATA_SET.read(tmp_path, "all"))) == 2
