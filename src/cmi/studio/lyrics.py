"""Write simple rhyming lyrics.

A line is an opening ('we hear the river') and a rhyming phrase ('in the morning light'). The words come from one theme.
Verses have four lines, rhymed aabb or abab, with different endings.
"""

from dataclasses import dataclass
from importlib.resources import files
from random import Random

from cmi._util.config import read_config
from cmi._util.errors import InputError

_VERSE = 4  # lines
_SCHEMES = ("aabb", "abab")


@dataclass(frozen=True)
class LyricWords:
    subjects: tuple[str, ...]
    verbs: tuple[str, ...]
    states: tuple[str, ...]
    themes: dict[str, tuple[str, ...]]
    rhymes: dict[str, tuple[str, ...]]


WORDS = read_config(files("cmi.studio") / "lyrics.toml", LyricWords)


def write_lyrics(rng: Random, lines: int = 4) -> str:
    """Write verses of four lines, separated by empty lines; the last may be shorter."""
    if lines < 1:
        raise InputError(f"lines {lines} is not 1 or more")
    things = WORDS.themes[rng.choice(tuple(WORDS.themes))]
    verses: list[list[str]] = []
    rhymes: list[str] = []
    for first in range(0, lines, _VERSE):
        rhymes = rhymes if len(rhymes) > 1 else rng.sample(tuple(WORDS.rhymes), len(WORDS.rhymes))
        verses.append(_verse(rng, things, rhymes.pop(), rhymes.pop())[: lines - first])
    return "\n\n".join("\n".join(verse) for verse in verses)


def _verse(rng: Random, things: tuple[str, ...], *rhymes: str) -> list[str]:
    closes = {letter: rng.sample(WORDS.rhymes[rhyme], 2) for letter, rhyme in zip("ab", rhymes, strict=True)}
    return [_line(rng, rng.choice(things), closes[letter].pop()) for letter in rng.choice(_SCHEMES)]


def _line(rng: Random, thing: str, close: str) -> str:
    if rng.random() < 0.3:
        line = f"the {thing} {rng.choice(WORDS.states)} {close}"
    else:
        line = f"{rng.choice(WORDS.subjects)} {rng.choice(WORDS.verbs)} the {thing} {close}"
    return line[0].upper() + line[1:]
