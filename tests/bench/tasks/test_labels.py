import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.text import mentions, squash
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks import _labels, genre, pitch


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("lip trill", "lip_trill"),
        ("The technique is Lip-Trill.", "lip_trill"),
        ("trill", "trill"),
        ("trillo", "trillo"),
        ("vocal fry!", "vocal_fry"),
        ("trill, trillo", None),
        ("thrilling", None),
        ("", None),
    ],
)
def test_a_label_is_a_whole_word(answer, expected):
    assert _labels.parse(answer, DATASETS["VocalSet_tech"].classes) == expected


def test_the_published_reading_finds_labels_inside_labels():
    classes = [squash(name) for name in DATASETS["VocalSet_tech"].classes]
    assert _labels.parse_paper("lip trill", classes) is None  # 'trill' is in it too
    assert _labels.parse_paper("belt", classes) == "belt"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("69", "69"),
        ("The MIDI pitch is 49.", "49"),
        ("A4: 69", "69"),
        ("69 (440 Hz)", "69"),
        ("60.5", None),
        ("between 60 and 62", None),
        ("440", None),
        ("A4", None),
        ("-5", None),
        ("069", "69"),
    ],
)
def test_a_pitch_is_a_whole_number(answer, expected):
    assert pitch.parse(answer) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("female vocal", {"female vocal"}),
        ("female, vocal", {"female", "vocal"}),
        ("a New-Age track with no vocals", {"new age", "no vocals"}),
        ("man and woman singing", {"man", "woman", "singing"}),
        ("beats", {"beats"}),
        ("['rock', 'pop']", {"rock", "pop"}),
    ],
)
def test_the_longest_label_wins_and_punctuation_parts(text, expected):
    assert mentions(text, DATASETS["MTT"].classes) == expected


def test_run_together_tags_are_found_in_plain_words():
    found = mentions(
        "Drum 'n' bass, acoustic guitar; hip-hop and rock'n'roll",
        DATASETS["MTG_genre"].classes + DATASETS["MTG_instrument"].classes,
    )
    assert found == {"drumnbass", "acousticguitar", "hiphop", "rocknroll"}


def accuracy(dataset, protocol, pairs):
    module = genre if dataset == "GTZAN" else pitch
    items = [Item("", answer, truth, str(i)) for i, (truth, answer) in enumerate(pairs)]
    return module.evaluate(items, Setting(dataset, protocol, "m", Tools()))


def test_accuracy_counts_an_unparsed_answer_as_wrong():
    evaluation = accuracy(
        "GTZAN", "strict", [("rock", "rock"), ("pop", "pop or rock"), ("jazz", ""), ("hiphop", "Hip-Hop")]
    )
    assert evaluation.values()[0, 0] == 50
    assert evaluation.unparsed == 2


def test_the_published_class_list_is_what_occurs_in_the_file():
    pairs = [("69", "69"), ("49", "49")]
    assert accuracy("Nsynth_pitch", "paper", pairs).values()[0, 0] == 100
    assert accuracy("Nsynth_pitch", "paper", [*pairs, ("9", "9")]).values()[0, 0] == pytest.approx(100 / 3)
    assert accuracy("Nsynth_pitch", "strict", [*pairs, ("9", "9")]).values()[0, 0] == 100


def test_a_truth_outside_the_fixed_classes_is_bad_input():
    with pytest.raises(InputError, match="polka"):
        accuracy("GTZAN", "strict", [("polka", "polka")])


def test_the_null_is_the_majority_class():
    items = [Item("", "", truth, "") for truth in ("rock", "pop", "rock")]
    (null,) = genre.nulls(items)
    assert null.answer(items[1]) == "rock"
