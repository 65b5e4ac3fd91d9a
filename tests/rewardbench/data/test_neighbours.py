"""AIME, MusicPrefs, SongEval and later months of Music Arena, in the layouts that their publishers' readers state."""

import json
import string

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.rewardbench.data import aime, count, find, music_arena, musicprefs, songeval
from cmi.rewardbench.data.data_report import check_data
from cmi.rewardbench.data.labels import read_labels

RATE = 8000


def tone(folder, seconds):
    """Bytes of a recording whose samples say their second: 0.01, 0.02, ..."""
    samples = np.repeat(np.arange(1, seconds + 1) / 100, RATE)
    path = folder / "tone.wav"
    soundfile.write(path, samples, RATE, subtype="PCM_16")
    return path.read_bytes()


def survey_row(**changes):
    row = {
        "question-type": "Music Quality",
        "description": "newage, world, celtic",
        "model-1": "Suno v3",
        "track-1-id": 3,
        "track-1-begin": "00:00:02",
        "track-1-end": "00:00:04",
        "model-2": "MusicGen Large",
        "track-2-id": 1226,
        "track-2-begin": "00:00:00",
        "track-2-end": "00:00:02",
        "answer": 1,
    }
    return row | changes


def make_aime(folder, *answers, tracks=None):
    for name in ("AIME", "AIME-survey"):
        (folder / name / "data").mkdir(parents=True)
    ids = tracks or ("00003", "01226")
    table = {
        "id": list(ids),
        "model": ["Suno v3"] * len(ids),
        "description": [["newage", "world", "celtic"]] * len(ids),
        "audio": [{"bytes": tone(folder, 5 + i), "path": f"{name}.wav"} for i, name in enumerate(ids)],
    }
    pq.write_table(pa.table(table), folder / "AIME" / "data" / "train-00000-of-00001.parquet")
    survey = folder / "AIME-survey" / "data" / "train-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(list(answers)), survey)
    return folder


def test_aime_pairs_are_the_excerpts_that_people_heard(tmp_path):
    alignment = survey_row(**{"question-type": "Text-Audio Alignment", "answer": 2})
    first, second = aime.DATA_SET.read(make_aime(tmp_path, survey_row(), alignment))
    assert {axis: vote.choice for axis, vote in first.votes.items()} == {"musicality": "a"}
    assert {axis: vote.choice for axis, vote in second.votes.items()} == {"alignment": "b"}
    assert first.prompt.text == "newage, world, celtic"
    assert (first.about["generator_a"], first.about["generator_b"]) == ("Suno v3", "MusicGen Large")
    heard, rate = soundfile.read(first.takes[0])
    assert (len(heard) / rate, rate) == (2.0, RATE)
    assert np.allclose(heard[:RATE], 0.03, atol=1e-3)  # from its third second on
    assert first.id != second.id


def test_aime_is_cut_once(tmp_path):
    make_aime(tmp_path, survey_row())
    (item,) = aime.DATA_SET.read(tmp_path)
    written = item.takes[0].stat().st_mtime_ns
    (again,) = aime.DATA_SET.read(tmp_path)
    assert again.takes[0].stat().st_mtime_ns == written


def test_aime_leaves_out_what_cannot_be_heard_and_says_why(tmp_path):
    beyond = survey_row(**{"track-1-begin": "00:05:00", "track-1-end": "00:05:10"})
    counts = count(aime.DATA_SET.survey(make_aime(tmp_path, survey_row(), survey_row(**{"track-2-id": 77}), beyond)))
    assert counts.kept == 1
    assert counts.left_out == {"a recording is missing": 1, "an excerpt lies beyond the end of its recording": 1}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"answer": 3}, "'answer' is '3', expected one of 1, 2"),
        ({"question-type": "Loudness"}, "'question-type' is 'Loudness', expected one of music quality"),
        ({"track-1-begin": "53"}, "'track-1-begin' is '53', expected a time such as 00:00:53"),
        ({"track-1-begin": "00:00:09"}, "the excerpt of track 1 ends before it begins"),
        ({"track-1-id": -4}, "'track-1-id' is '-4', expected the number of a track"),
        ({"mood": "sad"}, "unknown column 'mood'"),
    ],
)
def test_what_is_strange_in_aimes_survey_is_named(tmp_path, changes, sentence):
    make_aime(tmp_path, survey_row(**changes))
    with pytest.raises(InputError, match=sentence):
        list(aime.DATA_SET.read(tmp_path))


def test_a_missing_half_of_aime_is_named(tmp_path):
    with pytest.raises(InputError, match="no AIME-survey/data in it"):
        list(aime.DATA_SET.read(tmp_path))
    with pytest.raises(InputError, match=r"aime: not at .*hf download disco-eth/AIME"):
        find("aime", tmp_path / "nowhere")


def test_two_recordings_of_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="'id' is '3', the id of an earlier track"):
        list(aime.DATA_SET.read(make_aime(tmp_path / "aime", survey_row(), tracks=("00003", "3"))))
    make_musicprefs(tmp_path / "musicprefs", "p,m,r,x.wav,y.wav,tie,a_wins")
    cells = [{"bytes": tone(tmp_path, seconds), "path": "x.wav"} for seconds in (1, 2)]
    pq.write_table(pa.table({"audio": cells}), tmp_path / "musicprefs" / "data" / "train-00000-of-00012.parquet")
    with pytest.raises(InputError, match=r"another recording is called 'x\.wav' too"):
        list(musicprefs.DATA_SET.read(tmp_path / "musicprefs"))


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_a_time_is_the_sum_of_its_parts(hours, minutes, seconds):
    assert aime.parse_time(f"{hours:02}:{minutes:02}:{seconds:02}") == hours * 3600 + minutes * 60 + seconds


@given(st.text(string.digits + ":.- ²٣", max_size=12))
def test_a_time_is_a_number_of_seconds_or_none(text):
    found = aime.parse_time(text)
    assert found is None or (found >= 0 and ":" in text and text.isascii())


def make_musicprefs(folder, *rows, header="prompt,system_a,system_b,audio_a,audio_b,fidelity,musicality"):
    (folder / "data").mkdir(parents=True)
    cells = [{"bytes": tone(folder, 1 + i), "path": f"{name}.wav"} for i, name in enumerate("xyz")]
    pq.write_table(pa.table({"audio": cells}), folder / "data" / "train-00000-of-00012.parquet")
    (folder / "human_preference.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def test_musicprefs_votes_are_on_musicality_and_ties_are_left_out(tmp_path):
    rows = (
        "calm piano,musicgen,riffusion,x.wav,y.wav,b_wins,a_wins",
        "calm piano,musicgen,riffusion,x.wav,y.wav,a_wins,tie",
        "calm piano,musicgen,riffusion,x.wav,lost.wav,a_wins,b_wins",
        '"loud, fast",musicgen,riffusion,y.wav,z.wav,tie,B_WINS',
    )
    make_musicprefs(tmp_path, *rows)
    first, second = musicprefs.DATA_SET.read(tmp_path)
    assert (first.votes["musicality"].choice, second.votes["musicality"].choice) == ("a", "b")
    assert first.about == {"generator_a": "musicgen", "generator_b": "riffusion", "fidelity": "b"}
    assert second.prompt.text == "loud, fast"
    assert all(take.exists() for take in (*first.takes, *second.takes))
    assert first.takes[1] == second.takes[0]
    assert count(musicprefs.DATA_SET.survey(tmp_path)).left_out == {"a recording is missing": 1, "tie": 1}


@pytest.mark.parametrize(
    ("row", "header", "sentence"),
    [
        ("p,m,r,x.wav,y.wav,tie,maybe", None, "line 2: 'musicality' is 'maybe', expected one of a_wins"),
        ("p,m,r,,y.wav,tie,a_wins", None, "line 2: 'audio_a' is missing"),
        ("x.wav,y.wav,a_wins,7", "audio_a,audio_b,musicality,mood", "unknown column 'mood'"),
        ("x.wav,y.wav", "audio_a,audio_b", "no column 'musicality'"),
    ],
)
def test_what_is_strange_in_musicprefs_is_named(tmp_path, row, header, sentence):
    make_musicprefs(tmp_path, row, **({"header": header} if header else {}))
    with pytest.raises(InputError, match=sentence):
        list(musicprefs.DATA_SET.read(tmp_path))


def song(**changes):
    aspects = {"Coherence": 3, "Musicality": 4, "Memorability": 2, "Clarity": 5, "Naturalness": 1}
    others = {"Coherence": 4, "Musicality": 5, "Memorability": 2, "Clarity": 5, "Naturalness": 2}
    return {"file_name": "mp3/0.mp3", "gender": "female", "annotation": [aspects, others]} | changes


def make_songeval(folder, *rows):
    folder.mkdir(exist_ok=True)
    (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_songeval_rates_a_song_by_the_mean_of_its_raters(tmp_path):
    make_songeval(tmp_path, song(), song(file_name="mp3/1.mp3", annotation=[]))
    (item,) = songeval.DATA_SET.read(tmp_path)
    assert item.ratings == {"musicality": 4.5}
    assert item.about["coherence"] == "3.5"
    assert item.about["naturalness"] == "1.5"
    assert item.takes == (tmp_path / "mp3" / "0.mp3",)
    assert count(songeval.DATA_SET.survey(tmp_path)).left_out == {"no rating": 1}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"annotation": {"Musicality": 4}}, "'annotation' is not a list of ratings"),
        ({"annotation": [{"Musicality": 9}]}, "'Musicality' is 9, expected a number from 1 to 5"),
        ({"annotation": [{"Music": 4}]}, "unknown field 'Music'"),
        ({"file_name": "../0.mp3"}, "leads out of"),
        ({"genre": "pop"}, "unknown field 'genre'"),
    ],
)
def test_what_is_strange_in_songeval_is_named(tmp_path, changes, sentence):
    make_songeval(tmp_path, song(**changes))
    with pytest.raises(InputError, match=sentence):
        list(songeval.DATA_SET.read(tmp_path))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["Musicality", "x"]), inner),
    max_leaves=6,
)


@given(ANYTHING, ANYTHING)
def test_any_row_of_songeval_is_read_left_out_or_an_error_that_names_its_line(tmp_path_factory, name, annotation):
    folder = make_songeval(tmp_path_factory.mktemp("songs"), {"file_name": name, "annotation": annotation})
    try:
        found = list(songeval.DATA_SET.survey(folder))
    except InputError as error:
        assert "metadata.jsonl line 1" in str(error)
    else:
        assert len(found) == 1


@given(st.dictionaries(st.sampled_from(sorted(survey_row())), ANYTHING, max_size=3))
def test_any_answer_of_aime_is_read_left_out_or_an_error(changes):
    row = survey_row(**changes)
    try:
        aime._answer(row, "survey row 1", "1", {}, lambda track, begin, end: track)
    except InputError as error:
        assert str(error).startswith("survey row 1: ")


def test_splits_of_sets_without_any_are_drawn_by_prompt_or_by_song(tmp_path):
    songs = make_songeval(tmp_path / "songs", *(song(file_name=f"mp3/{i}.mp3") for i in range(60)))
    by_split = {split: {i.id for i in songeval.DATA_SET.read(songs, split)} for split in ("train", "valid", "test")}
    assert sum(map(len, by_split.values())) == 60
    assert all(by_split.values())


def test_a_later_month_of_music_arena_is_its_own_split_and_its_fields_are_all_known(tmp_path, make):
    """As gclef-cmu/music-arena writes a battle of February 2026."""
    both = {"hardware": "A6000", "system_time": 9.5, "gateway_time": 10.1, "duration": 30.0, "sample_rate": 44100}
    sided = {f"{name}_{side}": value for name, value in both.items() for side in "ab"}
    later = sided | {
        **{"is_prebaked": False, "feedback": "General: fine", "timestamp": 1770000000.5},
        **{"listen_data_a": '[["PLAY", 1.0]]', "listen_data_b": None},
        **{"total_listening_time_a": 4.0, "total_listening_time_b": 5.0},
    }
    make.battle(tmp_path, "new", "07-2026FEB", date="2026-02-13T10:00:00-05:00", **later)
    make.battle(tmp_path, "old")
    (item,) = music_arena.DATA_SET.read(tmp_path, "later")
    assert (item.id, item.about["month"], item.about["period"]) == ("new", "2026-02", "07-2026FEB")
    assert [item.id for item in music_arena.DATA_SET.read(tmp_path)] == ["old"]
    make.battle(tmp_path, "strange", mood="sad")
    with pytest.raises(InputError, match=r"strange.json: unknown field 'mood'"):
        list(music_arena.DATA_SET.read(tmp_path))


def test_check_and_labels_work_on_all_of_them(tmp_path):
    make_aime(tmp_path / "aime", survey_row())
    make_musicprefs(tmp_path / "musicprefs", "p,m,r,x.wav,y.wav,tie,a_wins")
    make_songeval(tmp_path / "songeval", song())
    for name in ("aime", "musicprefs", "songeval"):
        found = find(name, tmp_path)
        assert check_data(found).counts.kept == 1
        assert len(list(read_labels(found))) == 1


def test_the_benchmark_runs_on_all_of_them(tmp_path):
    make_aime(tmp_path / "aime", survey_row(), survey_row(**{"question-type": "Text-Audio Alignment", "answer": 2}))
    make_musicprefs(tmp_path / "musicprefs", "p,m,r,x.wav,y.wav,tie,a_wins")
    songs = make_songeval(tmp_path / "songeval", *(song(file_name=f"mp3/{i}.wav") for i in range(2)))
    (songs / "mp3").mkdir()
    for i in range(2):
        (songs / "mp3" / f"{i}.wav").write_bytes(tone(tmp_path, 1 + i))
    data = [word for name in ("aime", "musicprefs", "songeval") for word in ("--data", f"{name}={tmp_path / name}")]
    model = "cmi.rewardbench.evaluation.nulls:Louder"
    arguments = ["rewardbench", "run", "--model", model, *data, "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    for place in (
        "aime: musicality pref",
        "aime: text alignment",
        "musicprefs: musicality",
        "songeval: musicality reg",
    ):
        assert place in done.output
