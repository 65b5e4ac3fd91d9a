"""What is made of musicnn's tags, by plain numbers; the network itself is tested with the encoders."""

import pytest

pytest.importorskip("torch")

import numpy as np

from cmi.bench.ask import Question
from cmi.bench.ask.reference.tags import (
    AROUSED,
    CALM,
    STANDING_FOR,
    LabelSkill,
    asks_for_valence,
    caption,
    family,
    held_level,
    rank,
    rating,
)
from cmi.bench.catalog import DATASETS
from cmi.bench.metrics.text import squash
from cmi.reward.model.encoders.musicnn import MSD_TAGS, MTT_TAGS

TAGS = {tag.lower() for tag in (*MTT_TAGS, *MSD_TAGS)}


def _lifts(**raised: float) -> dict[str, float]:
    return dict.fromkeys(TAGS, -2.0) | {tag.replace("_", " "): lift for tag, lift in raised.items()}


class _Tagger:
    def __init__(self, lifts: dict[str, float]) -> None:
        self._lifts = lifts

    def lifts(self, question: Question) -> dict[str, float]:
        return self._lifts


def test_every_tag_that_stands_for_a_label_exists():
    known = {squash(tag) for tag in TAGS}
    named = {squash(tag) for tags in STANDING_FOR.values() for tag in tags}
    assert named <= known
    assert set(STANDING_FOR) <= {label for dataset in DATASETS.values() for label in dataset.classes}


def _label(dataset: str, **raised: float) -> str:
    return LabelSkill(_Tagger(_lifts(**raised))).answer(Question("1", "?", None, dataset=dataset))


def test_one_genre_where_one_is_asked_for_and_several_where_any_number_may_be_given():
    assert _label("GTZAN", jazz=3.0, rock=1.0) == "jazz"
    assert _label("MTG_genre", jazz=3.0, rock=1.0).split(", ")[:2] == ["jazz", "rock"]
    assert _label("MTT", harp=3.0, solo=2.0).split(", ")[:2] == ["harp", "solo"]


def test_a_label_without_a_tag_is_never_given():
    assert "bongo" not in dict(rank(_lifts(), DATASETS["MTG_instrument"].classes))


def test_louder_and_faster_is_more_aroused():
    calm = rating(_lifts(slow=2.0, soft=2.0), AROUSED, CALM)
    wild = rating(_lifts(loud=2.0, fast=2.0), AROUSED, CALM)
    assert 1 <= calm < 5 < wild <= 9


@pytest.mark.parametrize(
    ("text", "dataset", "expected"),
    [
        ("Estimate the arousal score", "EMO_valence", False),
        ("Rate the valence", "EMO_arousal", True),
        ("How does it feel?", "EMO_valence", True),
        ("Valence or arousal?", "EMO_arousal", False),
    ],
)
def test_the_question_decides_what_is_rated(text, dataset, expected):
    assert asks_for_valence(Question("1", text, None, dataset=dataset)) is expected


def test_a_caption_says_what_was_heard():
    said = caption(_lifts(jazz=3.0, piano=2.0, slow=1.0, sad=1.0, instrumental=1.0, no_vocals=1.0))
    assert said.startswith("A slow jazz song with piano")
    assert "without vocals" in said
    assert "sad" in said


def test_families_by_envelope_octaves_and_tags():
    choice = set(DATASETS["Nsynth_instrument"].classes)
    low, middle, stack = (np.zeros(88, np.float32) for _ in range(3))
    low[10], middle[40], stack[40], stack[52] = 0.8, 0.8, 0.8, 0.5
    assert family(_lifts(), 0.1, low, choice) == "bass"
    assert family(_lifts(piano=2.0), 0.1, middle, choice) == "keyboard"
    assert family(_lifts(), 0.9, stack, choice) == "organ"
    assert family(_lifts(violin=2.0), 0.9, middle, choice) == "string"
    assert family(_lifts(violin=2.0), 0.9, None, {"flute", "vocal"}) in {"flute", "vocal"}


def test_a_struck_note_fades_and_a_held_one_does_not():
    times = np.arange(3 * 16_000) / 16_000
    tone = np.sin(2 * np.pi * 220 * times).astype(np.float32)
    assert held_level(tone, 16_000) > 0.9
    assert held_level(tone * np.exp(-3 * times).astype(np.float32), 16_000) < 0.2
    assert held_level(tone[:100], 16_000) == 1.0
