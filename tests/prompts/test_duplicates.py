"""Repeats: none is removed without an earlier prompt that is alike, and hardly any is missed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.prompts.duplicates import CERTAINTY, HASHES, DuplicateFinder, band_size, split_words
from cmi.take import Prompt

SENTENCE = "a slow sad piano ballad with soft strings and a female voice in the rain"


def find(*prompts: Prompt | str, threshold: float = 0.8) -> list[str]:
    finder = DuplicateFinder(threshold)
    for prompt in prompts:
        finder.add(Prompt(prompt) if isinstance(prompt, str) else prompt)
    return finder.find()


def similarity(one: str, other: str) -> float:
    a, b = set(split_words(one)), set(split_words(other))
    return len(a & b) / len(a | b) if a | b else 0.0


def test_case_punctuation_and_width_do_not_count():
    assert find("Slow, sad piano!", "slow sad PIANO", "ｓｌｏｗ sad piano") == ["", "exact", "exact"]


def test_one_word_more_in_a_long_description_is_a_near_repeat():
    assert find(SENTENCE, f"{SENTENCE} tonight", "fast techno") == ["", "near", ""]
    assert find(SENTENCE, f"{SENTENCE} tonight", threshold=1.0) == ["", ""]


def test_short_prompts_that_differ_in_the_word_that_matters_stay():
    assert find("sad piano", "happy piano", "a waltz in C", "a waltz in D") == ["", "", "", ""]


def test_the_same_words_with_other_lyrics_or_another_reference_are_another_prompt():
    prompts = [Prompt(SENTENCE), Prompt(SENTENCE, "la la la"), Prompt(SENTENCE, reference=Path("a.wav"))]
    prompts += [Prompt(SENTENCE, reference=Path("b.wav")), Prompt(reference=Path("a.wav")), Prompt(lyrics=SENTENCE)]
    assert find(*prompts, threshold=0.9) == [""] * 6
    assert find(*prompts, *prompts, threshold=0.9)[6:] == ["exact"] * 6


def test_scripts_without_spaces_are_compared_by_pairs_of_characters():
    text = "缓慢而悲伤的钢琴曲配上柔和的弦乐和女声在雨夜里轻轻地唱着一首老歌"
    assert find(text, text + "吧", "快速的电子舞曲") == ["", "near", ""]


def test_signs_alone_are_repeats_only_if_they_are_the_same():
    assert find("!!!", "???", "!!!") == ["", "", "exact"]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(" ".join), max_size=12))
def test_a_removed_prompt_has_an_earlier_one_that_is_alike(texts):
    for place, repeat in enumerate(find(*texts, threshold=0.7)):
        nearest = max((similarity(texts[place], earlier) for earlier in texts[:place]), default=0.0)
        if repeat:
            assert nearest >= 0.7


def test_hardly_any_near_repeat_is_missed():
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(2000)])
    originals = [" ".join(rng.choice(words, 20, replace=False)) for _ in range(500)]
    changed = [" ".join([*text.split()[1:], "other"]) for text in originals]  # 19 of 21 words shared
    found = find(*originals, *changed, threshold=0.9)
    assert not any(found[:500])
    assert found[500:].count("near") >= 498


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
def test_bands_find_a_pair_at_the_threshold(threshold):
    size = band_size(threshold)
    assert HASHES % size == 0
    assert 1 - (1 - threshold**size) ** (HASHES // size) >= CERTAINTY


def test_thousands_of_variants_of_one_prompt_are_compared_in_linear_time():
    variants = [f"{SENTENCE} number {i} of many in a long list of variants" for i in range(3000)]
    assert find(*variants).count("near") == 2999
