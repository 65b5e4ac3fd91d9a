"""Wordings: every data set has three of its own, complete, and users may bring theirs."""

import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.prompts import read_wordings, wordings_of

FREE = {"EMO_arousal", "EMO_valence", "Nsynth_pitch", "SDD", "MusicCaps", "DSing", "MedleyDB", "mirdata_melody"}
FREE |= {name for name in DATASETS if name.endswith("beat")}
TAGGING = {"MTT", "MTG_genre", "MTG_emotion", "MTG_instrument", "MTG_top50tags"}


@pytest.mark.parametrize("name", DATASETS)
def test_each_question_has_a_plain_a_few_shot_and_a_brief_wording(name):
    variants = wordings_of(DATASETS[name]).variants
    assert {"plain", "few-shot", "brief"} <= variants.keys()
    assert ("listed" in variants) == (name in TAGGING)
    assert [name for name, variant in variants.items() if variant.few_shot] == ["few-shot"]
    texts = [variant.wording for variant in variants.values()]
    assert len(set(texts)) == len(texts)
    assert not any("{" in text or text != text.strip() for text in texts)


@pytest.mark.parametrize("name", DATASETS)
def test_what_is_scored_by_labels_lists_them(name):
    labels = DATASETS[name].classes
    assert bool(labels) == (name not in FREE)
    wording = wordings_of(DATASETS[name]).variant("listed" if name in TAGGING else "plain").wording
    assert all(label in wording for label in labels)


@pytest.mark.parametrize("name", sorted(TAGGING))
def test_tags_are_free_unless_a_list_is_asked_for(name):
    """The paper gives no tags beforehand."""
    assert ", ".join(DATASETS[name].classes) not in wordings_of(DATASETS[name]).variant("plain").wording


def test_a_wording_of_one_s_own_stands_in(tmp_path):
    (tmp_path / "genre.toml").write_text('major = "m"\nminor = "n"\n[mine]\nwording = "Genre? {labels}"\n')
    question = wordings_of(DATASETS["GTZAN"], tmp_path)
    assert question.variant("mine").wording.startswith("Genre? blues, classical")
    assert "plain" in wordings_of(DATASETS["GS_key"], tmp_path).variants
    with pytest.raises(InputError, match="no prompt variant 'plain' for genre; there are mine"):
        question.variant("plain")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        'major = "m"\n[plain]\nwording = "w"',
        'major = "m"\nminor = "n"',
        'major = "m"\nminor = "n"\nplain = "w"',
        'major = "m"\nminor = "n"\n[plain]\nwording = " "',
        'major = "m"\nminor = "n"\n[plain]\nwording = "w"\nfew_shot = 1',
        'major = "m"\nminor = "n"\n[plain]\nwording = "w"\nfewshot = true',
    ],
)
def test_a_broken_wording_is_one_sentence(tmp_path, text):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InputError, match=r"mine\.toml: "):
        read_wordings(tmp_path / "mine.toml", "mine", ())
