"""What a terminal might obey is shown, not sent."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from cmi._util.printable import printable


@given(st.text())
def test_one_line_without_control_characters(text):
    shown = printable(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert len(shown.splitlines()) <= 1


def test_ordinary_text_is_as_it_was():
    assert printable("Für Elise ♪ 夜来香 [b]") == "Für Elise ♪ 夜来香 [b]"


def test_escapes_are_written_out():
    assert printable("\x1b]0;title\x07\u202e\ud800") == r"\x1b]0;title\x07\u202e\ud800"
