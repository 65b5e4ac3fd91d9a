"""JSON nested too deeply is refused before the parser recurses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.json_text import DEEPEST, is_deep, parse_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_what_json_can_hold_is_read_as_json_reads_it(value: object):
    text = json.dumps(value)
    assert parse_json(text) == parse_json(text.encode()) == value


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"]}":[', '[{"\\"]":'])
def test_deep_nesting_is_refused_whatever_its_strings_hold(opening: str):
    with pytest.raises(ValueError, match="nested more than 200 deep"):
        parse_json(opening * (DEEPEST + 1))


def test_brackets_in_strings_and_beside_each_other_do_not_count():
    text = json.dumps([[], "[" * 500, *[{} for _ in range(500)]])
    assert not is_deep(text)
    assert len(parse_json(text)) == 502


def test_only_the_value_that_begins_there_counts():
    assert not is_deep('{"a": 1} ' + "{" * 500)
    assert is_deep('{"a": 1} ' + "{" * 500, start=8)
