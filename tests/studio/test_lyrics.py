"""Lyrics rhyme, scan and differ."""

import os
import random
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.studio import lyrics, vocals
from cmi.studio.lyrics import write_lyrics


def lines_of(seed: int, lines: int = 4) -> list[str]:
    return [line for line in write_lyrics(random.Random(seed), lines).split("\n") if line]


def rhyme(line: str) -> str:
    return next(name for name, closes in lyrics.WORDS.rhymes.items() if line.endswith(closes))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 90))
def test_there_are_as_many_lines_as_asked_for_in_verses_of_four(seed, lines):
    text = write_lyrics(random.Random(seed), lines)
    verses = [verse.split("\n") for verse in text.split("\n\n")]
    assert [len(verse) for verse in verses] == [4] * (lines // 4) + [lines % 4] * (lines % 4 > 0)
    assert all(line and line == line.strip() and "  " not in line for verse in verses for line in verse)


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_every_verse_rhymes_and_no_word_rhymes_with_itself(seed):
    lines = lines_of(seed)
    ends = [rhyme(line) for line in lines]
    assert [ends.index(end) for end in ends] in ([0, 0, 2, 2], [0, 1, 0, 1])
    assert len({line.split()[-1] for line in lines}) == 4


@cache
def syllables(word: str) -> int:
    return len(vocals._syllables(vocals._speak(word)[1]))


@pytest.mark.parametrize("seed", range(50))
def test_every_line_can_be_sung_in_a_phrase_of_simple_words(seed):
    for line in lines_of(seed):
        words = [syllables(word) for word in line.lower().split()]
        assert 6 <= sum(words) <= 15, line
        assert sum(count > 2 for count in words) <= 2, line
        assert line[0].isupper() and line.replace(" ", "").isalpha()


def test_there_are_thousands_of_lyrics_and_seeds_share_few_lines():
    written = [lines_of(seed) for seed in range(2000)]
    assert len({tuple(lines) for lines in written}) == 2000
    assert len({line for lines in written for line in lines}) > 0.85 * 4 * 2000


def test_no_lines_is_one_sentence():
    with pytest.raises(InputError, match="lines 0 is not 1 or more"):
        write_lyrics(random.Random(1), 0)


def test_lyrics_are_the_same_in_another_process():
    code = "import random; from cmi.studio.lyrics import *; print(write_lyrics(random.Random(9), 40))"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] == write_lyrics(random.Random(9), 40) + "\n"
