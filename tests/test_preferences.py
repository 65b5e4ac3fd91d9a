import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.preferences import Preference, preference_row, read_preferences
from cmi.take import Pair, Prompt

ROW = {"id": "p1", "text": "slow", "reference": "r.wav", "a": "x/a.flac", "b": "b.flac", "axis": "alignment"}
ROW |= {"choice": "b", "confidence": 4, "rater": "studio", "split": "test", "truth": {"flaw": "hum"}}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_line_is_read_with_all_it_says(tmp_path):
    (labelled,) = read_preferences(write(tmp_path / "p.jsonl", ROW))
    pair = Pair(Prompt("slow", "", tmp_path / "r.wav"), tmp_path / "x/a.flac", tmp_path / "b.flac")
    about = {"split": "test", "truth": {"flaw": "hum"}}
    assert labelled == Preference(pair, "alignment", "b", 4, "studio", "p1", about)


@given(
    st.text(max_size=20).filter(lambda t: t.strip().lower() not in ("", "none", "null")),
    st.sampled_from(["a", "b", "both", "neither"]),
    st.sampled_from([None, 1, 5]),
)
def test_what_is_written_is_read_back(tmp_path_factory, text, choice, confidence):
    folder = tmp_path_factory.mktemp("p")
    pair = Pair(Prompt(text), folder / "a.wav", folder / "b.wav")
    labelled = Preference(pair, "musicality", choice, confidence, id="1", about={"split": "train"})
    assert list(read_preferences(write(folder / "p.jsonl", preference_row(labelled, folder)))) == [labelled]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": ""}, "line 1: 'a' is missing"),
        ({"axis": "taste"}, "line 1: 'axis' is 'taste', expected one of musicality, alignment, overall"),
        ({"choice": "c"}, "line 1: 'choice' is 'c', expected one of a, b, both, neither"),
        ({"choice": None}, "line 1: 'choice' is missing"),
        ({"confidence": 6}, "line 1: 'confidence' is 6, expected a number from 1 to 5"),
        ({"text": 3}, "line 1: 'text' is int"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        list(read_preferences(write(tmp_path / "p.jsonl", ROW | change)))


def test_two_rows_of_one_id_are_refused(tmp_path):
    with pytest.raises(InputError, match="line 2: 'id' is 'p1'"):
        list(read_preferences(write(tmp_path / "p.jsonl", ROW, ROW)))
