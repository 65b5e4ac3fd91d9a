"""Make foreign text (names, titles, model answers, request lines) safe for a terminal or a log."""

import codecs
import unicodedata

# Control characters, formatting such as right-to-left overrides, lone surrogates, line and paragraph separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ESCAPE = "cmi.escape"  # an error handler: writes \\uXXXX, as in JSON
_JOINERS = {"\u200c", "\u200d"}  # part of how some scripts and emoji are spelled


def printable(text: str) -> str:
    r"""Return `text` on one line with every character that a terminal might obey written as an escape.

    >>> printable("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\\nc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_printable_character, text))


def shorten(text: str, most: int) -> str:
    """Return the first `most` characters, as `printable` writes them."""
    return printable(text if len(text) <= most else text[:most] + "...")


def is_whole(text: str) -> bool:
    """Tell whether `text` can be encoded as UTF-8, that is, has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable_character(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE or character in _JOINERS:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)), error.end


codecs.register_error(ESCAPE, _escape)
