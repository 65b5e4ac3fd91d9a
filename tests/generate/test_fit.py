"""A prompt loses nothing that was asked for, unless the user says so."""

from pathlib import Path

import pytest

from cmi.generate.fit import fit_prompt
from cmi.take import Prompt, PromptRow

SONG = Prompt("a waltz", "la la", Path("like.wav"))


@pytest.mark.parametrize(
    ("accepts", "caption", "drop", "prompt", "reason"),
    [
        (("text", "lyrics", "reference"), "a harp", False, SONG, ""),
        (("text", "lyrics"), "", False, None, "needs reference"),
        (("text", "lyrics"), "a harp", False, Prompt("a waltz. It should sound like this: a harp", "la la"), ""),
        (("text", "reference"), "a harp", False, None, "needs lyrics"),
        (("text",), "", True, Prompt("a waltz"), ""),
        (("text",), "a harp", True, Prompt("a waltz. It should sound like this: a harp"), ""),
        (("lyrics",), "a harp", False, None, "needs text"),
        (("lyrics",), "a harp", True, Prompt("", "la la"), ""),
    ],
)
def test_a_prompt_is_fitted_to_what_a_system_accepts(accepts, caption, drop, prompt, reason):
    assert fit_prompt(PromptRow("1", SONG, caption), accepts, drop) == (prompt, reason)


def test_a_caption_alone_is_a_text():
    fitted = fit_prompt(PromptRow("1", Prompt(reference=Path("like.wav")), "a harp"), ["text"])
    assert fitted.prompt == Prompt("It should sound like this: a harp")


def test_nothing_is_generated_from_nothing():
    assert fit_prompt(PromptRow("1", Prompt(lyrics="la")), ["text"], True) == (None, "needs lyrics")
