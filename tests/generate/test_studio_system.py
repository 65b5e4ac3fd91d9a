"""The studio as a system: the same take from the same seed, in the words of the prompt, worse with flaws."""

import numpy as np
import pytest

from cmi.audio import Waveform
from cmi.generate.checks import check_sound
from cmi.generate.load import load_generator
from cmi.take import Prompt

WALTZ = Prompt("A slow waltz for accordion and cello, no drums")


def mono(sound) -> Waveform:
    return Waveform(sound.samples.mean(axis=1), sound.rate)


def test_the_same_seed_gives_the_same_take_and_another_another():
    studio = load_generator("studio")
    first, again, other = (studio.generate(WALTZ, seed, 5.0) for seed in (0, 0, 1))
    assert np.array_equal(first.samples, again.samples)
    assert not np.array_equal(first.samples, other.samples)


@pytest.mark.parametrize("seconds", [1.0, 4.5, 12.0])
def test_takes_are_as_long_as_asked(seconds):
    sound = check_sound(load_generator("studio").generate(WALTZ, 0, seconds), seconds)
    assert sound.samples.shape == (round(seconds * 32_000), 2)


def test_flaws_change_the_take_and_not_the_piece():
    clean = load_generator("studio").generate(WALTZ, 3, 5.0)
    flawed = load_generator("studio:flaws=0.9").generate(WALTZ, 3, 5.0)
    assert clean.samples.shape == flawed.samples.shape
    assert not np.array_equal(clean.samples, flawed.samples)


@pytest.mark.parametrize(
    "text", ["", "qwertz", "90 bpm", "3/4 " * 50, "drums", "tuba, tuba, harp, flute, oboe, violin, cello"]
)
def test_any_text_makes_a_take(text):
    for seed in range(3):
        check_sound(load_generator("studio:flaws=0.5,follows=0.5").generate(Prompt(text, "la"), seed, 2.0), 2.0)
