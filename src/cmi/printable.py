"""Text from elsewhere (names, titles, model answers, request lines) made safe for a terminal or a log."""

import unicodedata

# Control characters, formatting such as right-to-left overrides, lone surrogates, line and paragraph separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = {"\u200c", "\u200d"}  # part of how some scripts and emoji are spelled


def printable(text: str) -> str:
    r"""Return `text` on one line with every character that a terminal might obey written as an escape.

    >>> printable("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\\nc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) if _is_unsafe(character) else character for character in text)


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE and character not in _JOINERS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
