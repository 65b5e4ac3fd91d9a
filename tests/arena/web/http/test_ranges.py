import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cmi.arena.web.routes.media import requested_bytes


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("bytes=0-99", range(0, 100)),
        ("bytes=100-", range(100, 1000)),
        ("bytes=-100", range(900, 1000)),
        ("bytes=-5000", range(0, 1000)),
        ("bytes=990-5000", range(990, 1000)),
        ("bytes=0-0", range(0, 1)),
    ],
)
def test_one_range_is_served(header, span):
    assert requested_bytes(header, 1000) == span


@pytest.mark.parametrize(
    "header",
    [
        "",
        "bytes=-",
        "bytes=5-4",
        "bytes=0-1,2-3",
        "bytes=" + "0-1," * 5000 + "0-1",
        "items=0-5",
        "bytes=a-b",
        "bytes=٣-٤",
        "bytes=--5",
        "bytes=0-" + "9" * 60,
    ],
)
def test_several_ranges_or_none_that_makes_sense_give_the_whole_file(header):
    assert requested_bytes(header, 1000) is None


@pytest.mark.parametrize("header", ["bytes=1000-", "bytes=999999999999999999-", "bytes=-0", "bytes=2000-3000"])
def test_a_range_beyond_the_file_is_refused(header):
    assert requested_bytes(header, 1000) == range(0)


@given(st.text(max_size=80) | st.from_regex(r"bytes=\d{0,20}-\d{0,20}", fullmatch=True), st.integers(0, 10_000))
@example("bytes=0-", 0)
def test_whatever_is_asked_stays_within_the_file(header, size):
    span = requested_bytes(header, size)
    assert not span or 0 <= span.start < span.stop <= size
