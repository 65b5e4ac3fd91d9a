"""Choosing by quota: numbers are met if they can be, and said if they cannot."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.prompts.draw import MODALITIES, PromptCandidates, Supply, apportion, choose, parse_quota, says_vocal
from cmi.take import Prompt, PromptRow

LIKE = Path("like.wav")


NOTHING = Supply()


def rows(text=0, lyrics=0, audio=0, vocals=None, words="x") -> list[PromptRow]:
    prompts = [Prompt(words)] * text + [Prompt(words, "la")] * lyrics + [Prompt(words, reference=LIKE)] * audio
    return [PromptRow(f"{vocals}{i}", prompt, vocals=vocals) for i, prompt in enumerate(prompts)]


def draw(pool, wanted, supply=NOTHING, vocal_share=None, total=None, seed=0):
    candidates = PromptCandidates(seed)
    for row in pool:
        candidates.add(row.id, row)
    return choose(candidates, [True] * len(pool), wanted, total, supply, vocal_share)


def counts(choice) -> dict[str, int]:
    chosen = [one.modality for one in choice.chosen.values()]
    return {modality: chosen.count(modality) for modality in MODALITIES if modality in chosen}


def test_prompts_are_taken_as_they_are_before_they_are_given_anything():
    choice = draw(rows(text=10, lyrics=3), {"text": 5, "text+lyrics": 4}, Supply(lyrics=9))
    assert counts(choice) == {"text": 5, "text+lyrics": 4} and not choice.short
    assert sum("lyrics" in one.gets for one in choice.chosen.values()) == 1


def test_all_three_parts_can_come_from_any_prompt_that_has_less():
    choice = draw(rows(text=1, lyrics=1, audio=1), {"text+lyrics+audio": 3}, Supply(lyrics=2, reference=2))
    assert sorted(one.gets for one in choice.chosen.values()) == [("lyrics",), ("lyrics", "reference"), ("reference",)]


def test_what_cannot_be_met_is_said_with_numbers():
    wanted = {"text": 2, "text+lyrics": 4, "text+audio": 3}
    choice = draw(rows(text=9), wanted, Supply(lyrics=1, reference=2))
    assert counts(choice) == {"text": 2, "text+lyrics": 1, "text+audio": 2}
    assert choice.short == [
        "text+lyrics: 1 of 4 prompts, because there are no more lyrics",
        "text+audio: 2 of 3 prompts, because there are no more references",
    ]
    few = draw(rows(text=3), {"text": 5}).short
    assert few == ["text: 3 of 5 prompts, because the sources have no more that fit"]


def test_what_is_too_little_is_divided_in_proportion():
    choice = draw(rows(text=50), {"text+audio": 10, "text+lyrics+audio": 20}, Supply(None, 15))
    assert counts(choice) == {"text+audio": 5, "text+lyrics+audio": 10}


def test_what_one_modality_cannot_use_goes_to_another():
    choice = draw(rows(text=50), {"text+lyrics": 10, "text+lyrics+audio": 10}, Supply(lyrics=10, reference=0))
    assert counts(choice) == {"text+lyrics": 10}


def test_lyrics_are_not_given_to_instrumental_prompts():
    choice = draw(rows(text=5, words="instrumental, no vocals"), {"text+lyrics": 1}, Supply(lyrics=None))
    assert not choice.chosen and choice.short


def test_the_same_seed_gives_the_same_choice_and_new_prompts_change_little():
    pool = rows(text=200)
    first = set(draw(pool, {"text": 50}).chosen)
    assert first == set(draw(pool, {"text": 50}).chosen)
    assert first != set(draw(pool, {"text": 50}, seed=1).chosen)
    more = [*pool, *rows(text=20, vocals=True)]
    assert len(first & set(draw(more, {"text": 50}).chosen)) >= 40


def test_half_of_the_prompts_are_vocal():
    pool = rows(text=40, vocals=True) + rows(text=10, vocals=False) + rows(text=40) + rows(lyrics=5)
    choice = draw(pool, {"text": 45, "text+lyrics": 5}, vocal_share=0.5)
    assert not choice.short
    assert [one.vocals for one in choice.chosen.values()].count(True) == 25
    stated = {place for place in choice.chosen if 40 <= place < 50}
    assert len(stated) == 10  # those that say they are instrumental come first


def test_a_share_that_cannot_be_met_is_said_with_numbers():
    choice = draw(rows(text=10, vocals=True), {"text": 10}, vocal_share=0.3)
    assert choice.short == ["vocal: 10 of 10 prompts (1.00), wanted 0.3"]


def test_without_a_quota_all_are_taken_or_a_total_in_proportion():
    pool = rows(text=30, lyrics=10)
    assert counts(draw(pool, None)) == {"text": 30, "text+lyrics": 10}
    assert counts(draw(pool, None, total=20)) == {"text": 15, "text+lyrics": 5}


def test_the_papers_mix():
    wanted = parse_quota("paper", 1000)
    assert wanted == {"text": 449, "text+lyrics": 198, "text+audio": 170, "text+lyrics+audio": 183}


@pytest.mark.parametrize(
    ("quota", "total", "sentence"),
    [
        ("paper", None, "with --total"),
        ("text=1.5", None, "1.5 is not a whole number of prompts"),
        ("text", None, "'text', expected 'paper' or MODALITY=NUMBER"),
        ("words=3", None, "'words=3', expected 'paper' or MODALITY=NUMBER"),
        ("text=-1", None, "'text=-1', expected"),
        ("text=nan", 5, "'text=nan', expected"),
    ],
)
def test_a_quota_that_is_none_is_refused(quota, total, sentence):
    with pytest.raises(InputError, match="--quota") as caught:
        parse_quota(quota, total)
    assert sentence in str(caught.value)


def test_parts_of_a_modality_may_be_named_in_any_order():
    assert parse_quota("audio+lyrics+text=2,lyrics+text=1", None) == {"text+lyrics+audio": 2, "text+lyrics": 1}


@given(st.lists(st.floats(0, 100), min_size=4, max_size=4).filter(any), st.integers(0, 10_000))
def test_shares_add_up_to_the_total(shares, total):
    found = apportion(dict(zip(MODALITIES, shares, strict=True)), total)
    assert sum(found.values()) == total
    for modality, share in zip(MODALITIES, shares, strict=True):
        assert abs(found[modality] - total * share / sum(shares)) <= 1


@pytest.mark.parametrize(
    ("text", "vocal"),
    [
        ("A male vocalist raps over drums", True),
        ("there is no singer, just a guitar", False),
        ("An instrumental with a choir-like pad", False),
        ("without any vocals", False),
        ("a string trio", None),
    ],
)
def test_words_tell_whether_somebody_sings(text, vocal):
    assert says_vocal(text) is vocal
