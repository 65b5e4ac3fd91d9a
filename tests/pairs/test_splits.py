"""No text, lyrics or recording is in two splits, whatever the prompts share; and the check finds it wherever it is."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cmi._util.errors import InputError
from cmi.pairs.leaks import Trait, find_leaks
from cmi.pairs.splits import SplitPrompt, assign_splits, group_prompts, parse_shares
from cmi.preferences import NamedPair
from cmi.take import Pair, Prompt

SHARES = {"train": 0.8, "valid": 0.1, "test": 0.1}
words = some.sampled_from(["", "", "slow", "Slow ", "fast", "sad  piano", "sad piano", "a", "b", "c", "d", "e"])
sounds = some.sampled_from([Path(f"{name}.wav") for name in "abcdefghijklmnop"])
prompts = some.builds(Prompt, words, words, some.none() | sounds)
pairs = some.builds(Pair, prompts, sounds, sounds)
splits = some.sampled_from(["train", "valid", "test"])
rows = some.lists(some.tuples(pairs, splits), max_size=12)


def named(rows) -> list[NamedPair]:
    return [NamedPair(str(i), pair, {}, {"split": split}) for i, (pair, split) in enumerate(rows)]


def shares_something(one: Pair, other: Pair) -> bool:
    """What a leak is, by comparing two rows."""

    def recordings(pair: Pair) -> set:
        return {pair.a, pair.b, pair.prompt.reference} - {None}

    def same(a: str, b: str) -> bool:
        return bool(a.split()) and a.lower().split() == b.lower().split()

    a, b = one.prompt, other.prompt
    return same(a.text, b.text) or same(a.lyrics, b.lyrics) or bool(recordings(one) & recordings(other))


@given(rows)
def test_a_leak_is_found_if_and_only_if_two_rows_of_two_splits_share_something(rows):
    leaks = any(shares_something(a, b) for a, here in rows for b, there in rows if here != there)
    assert bool(find_leaks(named(rows))) == leaks


def traits_of(pair: Pair) -> frozenset[Trait]:
    prompt = pair.prompt
    texts = [
        Trait(kind, " ".join(value.lower().split()))
        for kind, value in (("text", prompt.text), ("lyrics", prompt.lyrics))
    ]
    files = [Trait("recording", str(file)) for file in (pair.a, pair.b, prompt.reference) if file]
    return frozenset([trait for trait in texts if trait.value] + files)


@given(
    some.lists(some.tuples(pairs, some.sampled_from(["", "", "", "train", "test"])), max_size=20),
    some.integers(0, 3),
    some.none() | some.integers(0, 5),
)
def test_whatever_prompts_share_their_splits_share_nothing(found, seed, quota):
    asked = [SplitPrompt(pair.prompt.modality, traits_of(pair), 1, stated) for pair, stated in found]
    quotas = None if quota is None else dict.fromkeys(("text", "text+lyrics", "text+audio", "text+lyrics+audio"), quota)
    given_ = assign_splits(asked, SHARES, random.Random(seed), quotas)
    kept = [(pair, split) for (pair, _), split in zip(found, given_, strict=True) if split]
    assert find_leaks(named(kept)) == []
    for (_, stated), split in zip(found, given_, strict=True):
        assert not stated or split in ("", stated)  # a split that is stated is kept, or the prompt is left out
        assert stated or split  # only a stated split can be against others


def separate(modalities: list[str], pairs: int = 3, stated: str = "") -> list[SplitPrompt]:
    return [
        SplitPrompt(modality, frozenset([Trait("text", str(number))]), pairs, stated)
        for number, modality in enumerate(modalities)
    ]


def test_each_split_has_its_share_of_every_modality():
    asked = separate(["text"] * 100 + ["text+lyrics"] * 50)
    found = Counter(zip((one.modality for one in asked), assign_splits(asked, SHARES, random.Random(0)), strict=True))
    assert [found["text", split] for split in SHARES] == [80, 10, 10]
    assert [found["text+lyrics", split] for split in SHARES] == [40, 5, 5]


def test_a_test_split_that_needs_more_pairs_gets_more_prompts_but_not_most_of_them():
    asked = separate(["text"] * 100 + ["text+audio"] * 10)
    quota = {"text": 90, "text+audio": 90}
    splits = assign_splits(asked, SHARES, random.Random(0), quota)
    assert [splits[:100].count("test"), splits[100:].count("test")] == [30, 5]


def test_prompts_that_share_a_recording_through_others_are_one_group():
    traits = [
        {Trait("text", "1")},
        {Trait("text", "2"), Trait("recording", "x")},
        {Trait("recording", "x"), Trait("text", "1")},
        set(),
    ]
    assert group_prompts(traits) == [0, 0, 0, 3]


def test_a_lyric_and_a_text_of_the_same_words_are_not_the_same():
    rows = [
        (Pair(Prompt("la la"), Path("1"), Path("2")), "train"),
        (Pair(Prompt("", "la la"), Path("3"), Path("4")), "test"),
    ]
    assert find_leaks(named(rows)) == []


def test_the_same_bytes_under_two_names_are_a_leak(tmp_path):
    for name, content in {"1": "x", "2": "y", "3": "x", "4": "z"}.items():
        (tmp_path / name).write_text(content)
    path = tmp_path / "preferences.csv"
    path.write_text("id,text,a,b,axis,choice,split\np,one,1,2,overall,a,train\nq,two,3,4,overall,b,test\n")
    (leak,) = find_leaks(path)
    assert leak.kind == "recording" and leak.rows == {"train": "p", "test": "q"}


def test_without_a_stated_split_the_drawn_ones_are_checked(tmp_path):
    path = tmp_path / "preferences.csv"
    path.write_text("text,a,b,axis,choice\n" + "".join(f"prompt {i},same.wav,{i}.wav,overall,a\n" for i in range(40)))
    assert [leak.kind for leak in find_leaks(path)] == ["recording"]


@pytest.mark.parametrize(
    "text", ["train", "train=x", "train=0.5", "train=0.5,test=0.6", "dev=1", "train=0.5,train=0.5", "train=nan"]
)
def test_shares_that_are_none_are_refused(text):
    with pytest.raises(InputError, match="--split"):
        parse_shares(text)
