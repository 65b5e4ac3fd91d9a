"""Wishes are read from a text in the words of captions, and the composer follows them as far as it can."""

from random import Random

import pytest

from cmi.studio.captions import caption, facts, holds
from cmi.studio.compose import compose
from cmi.studio.wishes import Wishes, compose_wish, read_wishes


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("", Wishes()),
        ("Nothing that it knows", Wishes()),
        ("An electric piano", Wishes(instruments=(("electric piano",),))),
        ("a piano ballad", Wishes(style="piano ballad")),
        ("hip-hop at 92 bpm", Wishes(style="hip hop", tempos=(92.0, 92.0))),
        ("Tempo: 400", Wishes(tempos=(220.0, 220.0))),
        ("pianos and a saxophone", Wishes(instruments=(("piano",), ("saxophone",)))),
        ("rock without any drums", Wishes(style="rock", without=("drums",))),
        ("minimal, in 3/4, minor key", Wishes(density="sparse", metre=3, mode="minor")),
        ("not a waltz, a march", Wishes(style="march")),
        ("Slow or fast", Wishes(tempos=(62.0, 84.0))),
        ("a fiddle tune", Wishes(instruments=(("fiddle",),))),  # a style of scores, which cannot be composed
    ],
)
def test_a_text_is_read(text, wishes):
    assert read_wishes(text) == wishes


def test_a_word_of_several_moods_and_instruments_is_any_of_them():
    wishes = read_wishes("A tranquil guitar")
    assert wishes.moods == {"calm", "peaceful", "serene"}
    assert {"acoustic guitar", "electric guitar"} <= set(wishes.instruments[0])


def piece_for(text: str, seed: int = 0):
    asked = compose_wish(read_wishes(text), Random(seed), 1000 * seed, 10)
    return compose(asked.pop("seed"), seconds=10, **asked)


@pytest.mark.parametrize("seed", range(5))
def test_the_piece_is_what_was_asked_for(seed):
    piece = piece_for("A slow waltz for accordion and cello in a minor key", seed)
    known = facts(piece)
    assert (known.style, known.mode, known.metre) == ("waltz", "minor", 3)
    assert {"accordion", "cello"} <= set(known.instruments)
    assert 62 <= known.tempo <= 84


def test_who_is_not_wanted_does_not_play():
    for seed in range(10):
        assert "drums" not in facts(piece_for("rock without drums", seed)).instruments


def test_what_cannot_be_played_together_is_given_up():
    known = facts(piece_for("a lullaby for flute with drums"))
    assert known.style == "lullaby" and "flute" in known.instruments


@pytest.mark.slow
def test_most_statements_of_captions_are_met():
    """Captions are the language that it reads: nine in ten of their statements hold of the piece."""
    met = []
    for seed in range(40):
        asked = caption(facts(compose(seed)), Random(seed))
        played = facts(piece_for(asked.text, seed))
        met += [holds(asked, attribute, played) is not False for attribute in asked.says - {"vocals"}]
    assert sum(met) / len(met) > 0.9
