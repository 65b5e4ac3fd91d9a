import numpy as np
import pytest

from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks.playing_technique import Event, evaluate, folded, frames, parse, parse_paper

VIBRATO, POINT_NOTE, UPWARD = 0, 1, 2
EXAMPLE = "[('5.5', '6.0', 'Upward Portamento'), ('7.0', '8.0', 'vibrato')]"


def test_every_event_is_read():
    events = [Event(5.5, 6.0, UPWARD), Event(7.0, 8.0, VIBRATO)]
    assert parse(EXAMPLE) == events
    assert parse(f"Here you are: {EXAMPLE.replace(chr(39), '')} and that is all.") == events
    assert parse_paper(EXAMPLE, whole=True) == events
    assert parse_paper(EXAMPLE, whole=False) == events[:1]


@pytest.mark.parametrize("text", ["[('0.0', '10.0', 'No Tech')]", "No Tech", "[]"])
def test_no_technique_is_an_answer(text):
    assert parse(text) == []


@pytest.mark.parametrize("text", ["", "A guzheng.", "[('start', 'end', 'Vibrato')]", "[('3.0', '2.0', 'Vibrato')]"])
def test_what_lists_nothing_is_unparsed(text):
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[\"[('5.5', '6.0', 'Point Note')]\"]", [Event(5.5, 6.0, POINT_NOTE)]),
        ("so: [('5.5', 6.0, 'Point_Note'), ('7', 8, 'Vibrato')]", [Event(5.5, 6.0, POINT_NOTE)]),
        ("so: [(5.5, 6.0, 'Point Note')]", None),  # a start without quotes
        ("The guzheng (a zither) plays [('5.5', '6.0', 'Point Note')]", None),  # a parenthesis before the list
        ("[\"('5.5', '6.0', 'Point Note')\"]", None),
        ("[('start_time', 'end_time', 'Vibrato')]", []),
        ("[('1.0', '2.0', 'Whistling')]", []),
        ("techniques = []\nfor note in notes: techniques.append(('Vibrato', note.start, note.end))", None),
        ("no list", None),
    ],
)
def test_the_published_reading(text, expected):
    assert parse_paper(text, whole=False) == expected


def test_events_are_cut_at_the_ends_of_the_clip():
    sounding = frames([Event(-1.0, 0.5, VIBRATO), Event(9.5, 12.0, UPWARD)])
    assert sounding.shape == (1000, 7)
    assert np.flatnonzero(sounding[:, VIBRATO]).tolist() == list(range(50))
    assert np.flatnonzero(sounding[:, UPWARD]).tolist() == list(range(950, 1000))


def test_the_published_fold_loses_an_event_across_a_boundary():
    assert not frames(folded([Event(19.5, 20.4, VIBRATO)])).any()
    assert frames(folded([Event(19.5, 20.0, VIBRATO)]))[:, VIBRATO].sum() == 50


def f1(truth, answer, protocol="strict", start=None, model="m"):
    item = Item("", answer, truth, "r", start, None if start is None else start + 10)
    evaluation = evaluate([item], Setting("Guzheng_Tech", protocol, model, Tools()))
    return dict(zip([metric.name for metric in evaluation.metrics], evaluation.values()[0], strict=True))


def test_an_answer_may_be_on_either_clock():
    truth = "[('12.0', '13.0', 'Vibrato'), ('19.5', '20.4', 'Vibrato')]"
    for start in (10.0, None):
        assert f1(truth, truth, start=start) == {"maF1": 100, "miF1": 100}
        assert f1(truth, "[('2.0', '3.0', 'Vibrato'), ('9.5', '10.0', 'Vibrato')]", start=start)["miF1"] == 100


def test_macro_counts_the_techniques_that_occur_and_paper_all_seven():
    truth = "[('0.0', '1.0', 'Vibrato')]"
    assert f1(truth, "[('0.0', '1.0', 'Vibrato'), ('5.0', '6.0', 'Tremolo')]") == {
        "maF1": 50,
        "miF1": pytest.approx(200 / 3),
    }
    assert f1(truth, truth, "paper") == {"maF1": 100, "miF1": pytest.approx(100 / 7)}  # names swapped, as printed


def test_only_qwen2_was_read_whole():
    truth = "[('0.0', '1.0', 'Vibrato'), ('5.0', '6.0', 'Tremolo')]"
    answer = "[('2.0', '3.0', 'Vibrato'), ('5.0', '6.0', 'Tremolo')]"
    assert f1(truth, answer, "paper")["maF1"] == 0
    assert f1(truth, answer, "paper", model="qwen2")["maF1"] == 50
