"""What prompts name is read, and what cannot be heard is never called heard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.features.key import Key
from cmi.generator_report.attributes import (
    ATTRIBUTES,
    TAGGED,
    VOCABULARY,
    NamedAttribute,
    TagBank,
    TakeMeasurements,
    is_heard,
    named_in,
)
from cmi.reward.model.encoders.musicnn import MSD_TAGS, MTT_TAGS

TAGS = (*MTT_TAGS, *MSD_TAGS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("An electric piano and a piano", ["electric piano", "piano"]),
        ("hip hop with synth strings, no drums", ["hip-hop", "synth"]),
        ("without vocals", ["no voice"]),
        ("instrumental, tempo: 96", ["no voice", "96 BPM"]),
        ("a 4 minute piece at 174bpm in F# minor", ["174 BPM", "Gb minor"]),
        ("drums, drum kit and percussion", ["drums"]),
        ("rockets popped", []),
        ("", []),
    ],
)
def test_what_a_text_names(text: str, names: list[str]):
    assert [one.name for one in named_in(text)] == names


def test_every_tag_of_the_vocabulary_is_one_of_musicnns_and_every_wording_has_one_meaning():
    known = {tag.lower() for tag in TAGS}
    for attribute in TAGGED:
        for name, worded in VOCABULARY[attribute].items():
            assert set(worded.tags) | set(worded.without) <= known, name
    words = [word for named in VOCABULARY.values() for worded in named.values() for word in worded.words]
    assert len(words) == len(set(words))


def test_an_attribute_is_heard_if_its_tags_are_stronger_than_in_most_of_the_bank():
    rng = np.random.default_rng(0)
    bank = TagBank(TAGS, rng.normal(size=(200, 100)))
    odds = np.zeros(100)
    odds[TAGS.index("piano")] = 3
    heard = TakeMeasurements(bank.shares(odds), 120.0, Key(9, "minor"))
    assert is_heard(NamedAttribute("instrument", "piano"), heard).heard is True
    assert is_heard(NamedAttribute("instrument", "violin"), heard).heard is False
    assert is_heard(NamedAttribute("instrument", "trumpet"), heard).heard is None
    assert is_heard(NamedAttribute("tempo", "60 BPM"), heard).heard is True
    assert is_heard(NamedAttribute("tempo", "90 BPM"), heard).heard is False
    assert is_heard(NamedAttribute("tempo", "slow"), heard).heard is None
    assert is_heard(NamedAttribute("key", "A minor"), heard).heard is True
    assert is_heard(NamedAttribute("key", "C major"), TakeMeasurements({}, None, None)).heard is None


@given(st.text(max_size=200))
def test_any_text_is_read(text: str):
    for one in named_in(text):
        assert one.attribute in ATTRIBUTES
        is_heard(one, TakeMeasurements({}, 100.0, None))
