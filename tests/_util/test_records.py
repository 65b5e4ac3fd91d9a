import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util import records
from cmi._util.errors import InputError
from cmi._util.records import csv_records, read_records

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=8), VALUES, max_size=4), max_size=12)


@given(
    content=RECORDS,
    as_array=st.booleans(),
    indent=st.sampled_from([None, 4]),
    packed=st.booleans(),
    chunk=st.integers(1, 64),
)
@settings(max_examples=150, deadline=None)
def test_whatever_json_writes_is_read_back(tmp_path_factory, content, as_array, indent, packed, chunk):
    path = tmp_path_factory.mktemp("records") / "x.jsonl"
    text = json.dumps(content, indent=indent) if as_array else "".join(json.dumps(r) + "\n" for r in content)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_CHUNK", chunk)  # a record may be cut anywhere
        assert [record for _, record in read_records(path)] == content


def read(tmp_path, data: bytes) -> list:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    return list(read_records(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"a": 1}, {"a": 2', "record 2: not JSON, or cut off"),
        (b'[{"a": 1}, {"a": 2}', "closing ']' is missing"),
        (b'{"a": 1}\n{"a": \n', "line 2: not JSON"),
        (b'{"a": 1}\n[1, 2]\n', "line 2: list, expected an object"),
        (b"[1, 2]", "record 1: int, expected an object"),
        (b'{"a": "\xe9t\xe9"}\n', "not UTF-8 text"),
        (gzip.compress(b'{"a": 1}\n' * 1000, mtime=0)[:-20], "broken gzip"),
        (b"\x1f\x8bnot gzip at all", "broken gzip"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_can_not_be_read_is_one_sentence_that_names_the_place(tmp_path, data, message):
    with pytest.raises(InputError, match=r"x\.jsonl") as caught:
        read(tmp_path, data)
    assert message in str(caught.value)


def test_a_missing_file_and_a_folder_are_bad_input(tmp_path):
    for path in (tmp_path / "nowhere.jsonl", tmp_path):
        with pytest.raises(InputError):
            list(read_records(path))


def test_blank_lines_a_byte_order_mark_and_an_empty_file_are_fine(tmp_path):
    assert read(tmp_path, b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": 2}') == [("line 1", {"a": 1}), ("line 4", {"a": 2})]
    assert read(tmp_path, b"") == []
    assert read(tmp_path, b"  \n ") == []


def test_an_absurd_record_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LARGEST_RECORD", 1000)
    monkeypatch.setattr(records, "_CHUNK", 100)
    for data in (b'{"a": "' + b"x" * 5000 + b'"}', b'[{"a": "' + b"x" * 5000 + b'"}]'):
        with pytest.raises(InputError):
            read(tmp_path, data)


def test_broken_records_are_found_before_the_rest_is_lost(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\noops\n')
    reader = read_records(path)
    assert [next(reader)[1]["a"], next(reader)[1]["a"]] == [1, 2]
    with pytest.raises(InputError, match="line 3"):
        next(reader)


def test_broken_csv_is_named(tmp_path):
    file = tmp_path / "scores.csv"
    file.write_text("a,b\n1,2,3\n")
    with pytest.raises(InputError, match=r"scores.csv line 2: more fields than the header's 2"):
        list(csv_records(file, ["a"]))
    with pytest.raises(InputError, match=r"scores.csv line 1: no column 'c' in the header \(a, b\)"):
        list(csv_records(file, ["c"]))
    file.write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(InputError, match="not UTF-8"):
        list(csv_records(file, ["a"]))
