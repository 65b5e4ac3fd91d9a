import mir_eval.beat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi.bench.tasks import beat, downbeat
from cmi.bench.tasks._times import GRID, f_measure


def test_a_full_stop_does_not_void_a_beat_list():
    assert beat.parse("0.5s, 1.0s, 1.5s.") == [0.5, 1.0, 1.5]
    assert beat.parse_paper("0.5s, 1.0s, 1.5s.") is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("0.0s,0.54s,1.0ss", [0.0, 0.54, 1.0]),
        ("1.0s,0.5s", [0.5, 1.0]),
        ("[0.5, 1.0, 1.5]", [0.5, 1.0, 1.5]),
        ("The beats are at 0.5s, 1.0s and then more", [0.5]),
        ("Beats: 0.5 sec, 1 second, 2 seconds", [0.5, 1.0, 2.0]),
        ("0:01.5, 1:02", [1.5, 62.0]),
        ("0.5 1.0 1.5", [0.5, 1.0, 1.5]),
        ("0.5s\n1.0s\n1.5s", [0.5, 1.0, 1.5]),
        ("0.5s, some time later, 1.5s", [0.5, 1.5]),
    ],
)
def test_what_is_no_time_is_filtered_out(answer, expected):
    assert beat.parse(answer) == expected


@pytest.mark.parametrize("answer", ["", "The tempo is 120 BPM", "[0.0s-10.0s]", "-0.5s", "nan", "1e308s", "99999.0s"])
def test_no_time_is_unparsed(answer):
    assert beat.parse(answer) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("0.0s,0.54s,1.0ss", [0.0, 0.54, 1.0]),
        ("beats, 1.0s, 0.5s", [0.5, 1.0]),
        ("1:02.5s, 3:", [62.5]),
        ("0:01:30, 1.5:20", None),  # minutes are whole numbers
        ("0:01:30", [1.0]),  # a third part is ignored
        ("0.5s, 1.0.5s", None),
        ("0.5s, 40000s", None),
        ("no idea", None),
    ],
)
def test_the_published_reading(answer, expected):
    assert beat.parse_paper(answer) == expected


TIMES = st.lists(st.integers(0, 300).map(lambda hundredth: hundredth / 100), max_size=40).map(sorted)


@given(reference=TIMES, estimated=TIMES, window=st.sampled_from([0.02, 0.07]))
@settings(max_examples=300, deadline=None)
def test_f_measure_is_that_of_mir_eval_on_the_10_ms_grid(reference, estimated, window):
    theirs = mir_eval.beat.f_measure(np.array(reference), np.array(estimated), window) if reference and estimated else 0
    assert f_measure(reference, estimated, window) == pytest.approx(theirs, abs=1e-12)


def test_downbeats_are_read_as_beats_are():
    assert downbeat.parse is beat.parse
    assert downbeat.evaluate is beat.evaluate


def test_the_grid_null_is_a_list_of_beats_every_half_second():
    assert beat.parse(GRID) == [i / 2 for i in range(60)]
