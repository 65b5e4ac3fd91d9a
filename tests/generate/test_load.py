"""Names on the command line: each finds its system, or one sentence says what would."""

import numpy as np
import pytest

import cmi
from cmi._util.errors import InputError
from cmi.generate.load import load_generator
from cmi.generate.systems import list_systems


def test_a_class_of_ones_own_needs_only_generate():
    bare = load_generator("odd_systems:Bare")
    assert (bare.name, bare.accepts, bare.licence, bare.settings) == ("Bare", ("text",), "unknown", {})
    assert len(bare.version) == 12  # of the file's hash
    assert bare.generate(cmi.Prompt("x"), 0, None).seconds == 2.0


def test_optional_attributes_are_those_of_the_class():
    paid = load_generator("odd_systems:Paid")
    assert (paid.name, paid.concurrency, paid.price) == ("paid", 4, 0.1)
    assert not hasattr(paid, "close")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("odd_systems:NotASystem", r"has no method generate\(prompt, seed, seconds\)"),
        ("odd_systems:Deaf", "accepts is .'smell',., expected some of text, lyrics, reference"),
        ("odd_systems:Missing", "has no class 'Missing'"),
        (
            "udio-9",
            "not a generator: choose from .*studio.*module:Class, worker:COMMAND, or the TOML file",
        ),
        ("../studio", "is not a generator"),
        ("worker:", "needs the command of a worker"),
        ("worker:'", "not a command"),
        ("studio:flaw=1", "'flaw=1' is not a setting; .* Its settings: flaws, follows"),
        ("studio:flaws", "'flaws' is not a setting"),
        ("studio:flaws=2", "flaws is 2, expected a number from 0 to 1"),
        ("studio:flaws=loud", "flaws is 'loud', expected a number"),
    ],
)
def test_a_name_that_does_not_do_is_one_sentence(name, sentence):
    with pytest.raises(InputError, match=sentence):
        load_generator(name)


def test_the_studio_is_there_and_named_by_its_settings():
    assert "studio" in list_systems()
    assert cmi.load_generator("studio").name == "studio"
    flawed = cmi.load_generator("studio:flaws=0.5,follows=0.8")
    assert flawed.name == "studio-flaws-0.5-follows-0.8"
    assert flawed.settings["flaws"] == 0.5


def test_the_error_of_a_class_names_its_line(monkeypatch):
    crash = load_generator("odd_systems:Odd")
    with pytest.raises(InputError, match=r"odd_systems:Odd failed in .*odd_systems.py line \d+: ZeroDivisionError"):
        crash.generate(cmi.Prompt("crash"), 0, None)
    assert np.isnan(crash.generate(cmi.Prompt("not a number"), 0, None).samples).all()
