import pytest

from cmi._util.errors import InputError
from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks.melody import evaluate, midi, parse

TRUTH = "[(10.0, 60), (10.5, 62), (11.0, 64), (12.0, 65)]"


def test_notes_are_read_in_order_and_the_first_of_equal_times_counts():
    assert parse("[(1.0, 62), (0.5, 'C4'), (1.0, 70), ('x', 1), (2.0, 300)]") == [(0.5, 60), (1.0, 62)]
    assert parse("no notes") is None


@pytest.mark.parametrize(
    ("pitch", "number"), [("A4", 69), ("c4", 60), ("Bb3", 58), ("F#5", 78), ("C-1", 0), ("69.5", 69.5)]
)
def test_note_names_are_midi_numbers(pitch, number):
    assert midi(pitch) == number


def score(answer, protocol="strict", truth=TRUTH, start=10.0):
    item = Item("", answer, truth, "r", start, None if start is None else start + 10)
    evaluation = evaluate([item], Setting("MedleyDB", protocol, "m", Tools()))
    return evaluation.values()[0, 0], evaluation.unparsed


@pytest.mark.parametrize("start", [10.0, None])
@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_an_answer_may_be_on_either_clock(protocol, start):
    assert score(TRUTH, protocol, start=start)[0] == pytest.approx(100)
    assert score("[(0.0, 60), (0.5, 62), (1.0, 64), (2.0, 65)]", protocol, start=start)[0] == pytest.approx(100)


def test_wrong_notes_and_silence_score_less():
    assert 0 < score("[(10.0, 60), (10.5, 50), (11.0, 64), (12.0, 65)]")[0] < 100
    assert score("[(10.0, 61), (10.5, 63), (11.0, 65), (12.0, 66)]")[0] == 0
    assert score("I hear a melody.") == (0, 1)


def test_midi_zero_is_silence_under_strict():
    truth = "[(0.0, 60), (1.0, 0), (2.0, 62), (3.0, 0)]"
    assert score(truth, truth=truth, start=0.0)[0] == pytest.approx(100)
    assert score("[(0.0, 60), (1.0, 60), (2.0, 62), (3.0, 62)]", truth=truth, start=0.0)[0] == pytest.approx(50)


def test_a_truth_without_notes_is_bad_input():
    with pytest.raises(InputError, match="nothing"):
        score(TRUTH, truth="nothing")
