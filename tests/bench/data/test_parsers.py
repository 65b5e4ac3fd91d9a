"""Whatever a file holds, it is read or refused with a sentence; what was written is read back."""

import math
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.bench.data import _reading, giantsteps_key, guzheng_tech99, medleydb, mtg_jamendo, vocalset
from cmi.bench.data._reading import clips_of_events, whole_clips
from cmi.bench.tasks import melody, playing_technique
from cmi.bench.tasks._times import parse as parse_times
from cmi.bench.tasks.key import TONICS

times = st.floats(0, 600)
lines = st.text(st.sampled_from("0123456789.,-+einfa \t\n"), max_size=200) | st.text(max_size=200)


@given(lines)
def test_any_text_is_beats_or_an_input_error(text):
    try:
        assert all(beat.time >= 0 and math.isfinite(beat.time) for beat in _reading.parse_beats(text))
    except InputError as error:
        assert "line" in str(error)


@given(lines)
def test_any_text_is_a_melody_or_an_input_error(text):
    try:
        assert all(time >= 0 and hertz >= 0 for time, hertz in medleydb.parse(text))
    except InputError as error:
        assert "line" in str(error)


@given(st.text(max_size=200))
def test_any_text_is_a_key_or_none(text):
    key = giantsteps_key.label(text)
    assert key is None or str(key) in {f"{tonic} {mode}" for tonic in TONICS for mode in ("major", "minor")}


@given(st.lists(times, min_size=1, max_size=50))
def test_written_beats_are_read_back_to_5_ms(values):
    read = parse_times(_reading.write_times(sorted(values)))
    assert read == pytest.approx(sorted(values), abs=0.0051)


@given(
    st.lists(
        st.tuples(times, st.just(0.0) | st.floats(20, 5000)),
        min_size=1,
        max_size=50,
        unique_by=lambda f: round(f[0], 4),
    )
)
def test_written_melodies_are_read_back_to_a_semitone(frames):
    read = dict(melody.parse(medleydb.written(frames)))
    for time, hertz in frames:
        number = read[float(f"{time:.4f}")]
        assert number == 0 if not hertz else abs(number - (69 + 12 * math.log2(hertz / 440))) <= 0.5001


@given(st.lists(st.tuples(times, st.floats(0.01, 5), st.sampled_from(list(guzheng_tech99.TECHNIQUES.values())))))
def test_written_techniques_are_read_back(notes):
    notes = [(start, start + length, name) for start, length, name in notes]
    events = playing_technique.parse(guzheng_tech99.written(notes))
    assert events is not None
    assert len(events) == sum(name is not None for _, _, name in notes)


@given(st.lists(times), st.sampled_from([3.0, 10.0, 30.0]))
def test_every_event_is_in_one_clip_and_inside_it(starts, length):
    clips = list(clips_of_events(starts, length))
    assert sorted(place for _, places in clips for place in places) == list(range(len(starts)))
    assert all(clip.start <= starts[place] < clip.end for clip, places in clips for place in places)
    assert [clip.start for clip, _ in clips] == [i * length for i in range(len(clips))]


@given(times.filter(lambda t: t > 0), st.sampled_from([3.0, 30.0]))
def test_whole_clips_lie_in_the_recording_and_leave_less_than_one(seconds, length):
    clips = whole_clips(seconds, length)
    assert clips[0].start == 0
    assert clips[-1].end <= seconds < clips[-1].end + length


@given(st.lists(st.text(st.characters(blacklist_characters="\t-", blacklist_categories=["Cs"]), min_size=1)))
def test_jamendo_tags_are_sorted_names(tags):
    assert mtg_jamendo.names("\t".join(f"genre---{tag}" for tag in tags)) == ", ".join(sorted(tags))


@pytest.mark.parametrize(("path", "singer"), [("FULL/male11/a/belt/x.wav", "m11"), ("belt/f2_x.wav", None)])
def test_a_singer_s_folder(path, singer):
    assert vocalset.singer_of_folders(PurePosixPath(path)) == singer
