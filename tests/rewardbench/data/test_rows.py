"""Fields of rows: nothing is guessed, and nothing but an InputError comes of a strange one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi._util.fields import label_field as label
from cmi._util.fields import number_field as number
from cmi._util.fields import text_field as text
from cmi.rewardbench.data import music_arena
from cmi.rewardbench.data.rows import WORDS, inside, votes

VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.lists(st.integers())


@pytest.mark.parametrize("value", [None, "", "  ", "None", "null", "nan", "NaN", " NAN ", math.nan])
def test_what_dumps_write_for_nothing_is_absent(value):
    row = {"lyrics": value}
    assert text(row, "lyrics", "here") == ""
    assert number(row, "lyrics", "here") is None
    assert label(row, "lyrics", "here", WORDS) is None


@given(VALUES)
def test_a_label_is_known_absent_or_an_error_that_names_its_place(value):
    try:
        found = label({"preference": value}, "preference", "votes.jsonl line 7", music_arena.WORDS)
    except InputError as error:
        assert str(error).startswith("votes.jsonl line 7: 'preference' is ")
    else:
        assert found in {"a", "b", "tie", "both bad", None}


@given(VALUES)
def test_a_number_is_within_the_scale_absent_or_an_error(value):
    try:
        found = number({"OVL": value}, "OVL", "here")
    except InputError as error:
        assert str(error).startswith("here: 'OVL' is ")
    else:
        assert found is None or 1 <= found <= 5


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("preference-musicality", "preference-alignment"), VALUES)))
def test_votes_are_of_known_choices_or_an_error(row):
    try:
        found = votes(row, "here")
    except InputError:
        return
    assert {vote.choice for vote in found.values()} <= {"a", "b", "both", "neither"}


@pytest.mark.parametrize("word", ["model_a", "MODEL_A", "a", "A", " a "])
def test_the_released_words_for_a_are_understood_in_any_case(word):
    assert votes({"preference-musicality": word}, "here")["musicality"].choice == "a"


@pytest.mark.parametrize("value", [0.5, 5.5, "six", True, [3], math.inf, "inf"])
def test_a_number_outside_the_scale_is_named(value):
    with pytest.raises(InputError, match=r"^here: 'OVL' is .*expected"):
        number({"OVL": value}, "OVL", "here")


@pytest.mark.parametrize("path", ["../x.wav", "a/../../x.wav", "/etc/passwd", "a\\..\\..\\x", "C:/x.wav", "a\0b"])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path, path):
    with pytest.raises(InputError, match=r"^here: the path .* leads out of"):
        inside(tmp_path, path, "here")


@given(st.text(max_size=60))
def test_no_path_leads_out_of_the_folder(tmp_path_factory, path):
    folder = tmp_path_factory.getbasetemp()
    try:
        found = inside(folder, path, "here")
    except InputError:
        return
    assert found.resolve().is_relative_to(folder.resolve())
