"""Text from elsewhere (names, titles, model answers, request lines) made safe for a terminal or a log."""

import codecs
import unicodedata

# Control characters, formatting such as right-to-left overrides, lone surrogates, line and paragraph separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ESCAPE = "cmi.escape"  # an error handler: what an encoding cannot write becomes \\uXXXX, as in JSON
_JOINERS = {"\u200c", "\u200d"}  # part of how some scripts and emoji are spelled


def printable(text: str) -> str:
    r"""Return `text` on one line with every character that a terminal might obey written as an escape.

    >>> printable("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\\nc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) if _is_unsafe(character) else character for character in text)


def is_whole(text: str) -> bool:
    """Whether it can be written as UTF-8: no lone surrogates, as file names have that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE and character not in _JOINERS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)), error.end


codecs.register_error(ESCAPE, _escape)
