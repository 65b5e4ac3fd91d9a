"""Guess the language of a text: by its script, or by common words if the script is Latin.

A light guess without a model, meant for counting: a few words of style are often in no language in particular, and get
none. Cyrillic counts as Russian, Devanagari as Hindi, Arabic script as Arabic. A column `language` comes first.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cmi._util.config import read_config

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class LanguageFile:
    scripts: dict[str, str]  # by language: the characters of its script
    words: dict[str, str]  # by language: common words


def guess_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, '' if it is unknown.

    >>> guess_language("a slow song with piano"), guess_language("悲しいピアノ"), guess_language("techno, 128 bpm")
    ('en', 'ja', '')
    """
    scripts, languages = _tables()
    letters = 0 if text.isascii() else len(_LETTER.findall(text))
    for language, pattern in scripts.items() if letters else ():
        share = 0.2 if language == "ja" else 0.5  # kana stand among Han characters
        if len(pattern.findall(text)) >= share * letters:
            return language
    words = _WORD.findall(text.lower())
    counts = sorted(((sum(word in known for word in words), name) for name, known in languages.items()), reverse=True)
    (most, language), (second, _) = counts[:2]
    return language if most > second else ""


@cache
def _tables() -> tuple[dict[str, re.Pattern[str]], dict[str, frozenset[str]]]:
    stated = read_config(files(__package__).joinpath("languages.toml"), LanguageFile)
    return (
        {language: re.compile(f"[{characters}]") for language, characters in stated.scripts.items()},
        {language: frozenset(words.split()) for language, words in stated.words.items()},
    )
