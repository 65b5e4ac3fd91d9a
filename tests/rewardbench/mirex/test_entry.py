"""What a MIREX entry is read from, and what is wrong with a file of predictions."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.rewardbench.mirex.entry import candidate, check_predictions, prediction_record, read_entry


def write(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ROW = {"sample_id": "1", "prompt": "slow piano", "audio_A": "1a.wav", "audio_B": "1b.wav"}


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        {"id": 7, "text": "slow piano", "a": "1a.wav", "b": "1b.wav", "lyrics": None},
        {"id": "1", "prompt": "slow piano", "audio_a": "1a.wav", "audio_b": "1b.wav", "x_mine": 3},
        {
            "id": "1", "prompt": "slow piano", "audio-path": "1a.wav", "audio2": "1b.wav", "ref-audio-path": "",
            "source": "cmi-arena-annotation", "split": "test", "modality": "text",
        },
    ],
)  # fmt: skip
def test_the_spellings_of_the_task_of_cmi_and_of_the_benchmark_are_read(tmp_path, row):
    [found] = read_entry(write(tmp_path / "input.jsonl", [row])).rows
    assert found.pair.a == tmp_path / "1a.wav"
    assert found.pair.b == tmp_path / "1b.wav"
    assert found.pair.prompt.text == "slow piano"
    assert found.pair.prompt.reference is None


def test_a_json_array_lyrics_and_a_reference_are_read(tmp_path):
    path = tmp_path / "input.json"
    path.write_text(json.dumps([{**ROW, "lyrics": "la la", "ref_audio": "like.wav"}]))
    entry = read_entry(path)
    assert entry.id_field == "sample_id"
    assert entry.rows[0].pair.prompt.lyrics == "la la"
    assert entry.rows[0].pair.prompt.reference == tmp_path / "like.wav"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{**ROW, "winner": "A"}], "line 1: unknown field 'winner'.*id, prompt, audio_A, audio_B, lyrics, reference"),
        ([{**ROW, "text": "x"}], "'prompt' and 'text' mean the same"),
        ([{**ROW, "sample_id": ""}], "'id' is missing"),
        ([{k: v for k, v in ROW.items() if k != "audio_B"}], "'audio_B' is missing"),
        ([{k: v for k, v in ROW.items() if k != "prompt"}], "'prompt' is missing"),
        ([ROW, ROW], "line 2: 'id' is '1', the id of an earlier row"),
        ([ROW, {**ROW, "sample_id": 1}], "line 2: 'id' is '1', the id of an earlier row"),
        ([{**ROW, "sample_id": True}], "'id' is bool"),
        ([{**ROW, "sample_id": [1]}], "'id' is list"),
        ([{**ROW, "audio_A": "https://x.org/1.mp3"}], "is an address; download it"),
        ([{**ROW, "audio_A": 3}], "'a' is int, expected text"),
        ([{**ROW, "prompt": ["x"]}], "'text' is list, expected text"),
        ([ROW, {"id": "2", "prompt": "x", "audio_A": "1", "audio_B": "2"}], "called 'id' here and 'sample_id' before"),
        ([], "no pairs in it"),
    ],
)
def test_a_bad_row_gets_one_sentence(tmp_path, rows, sentence):
    with pytest.raises(InputError, match=sentence):
        read_entry(write(tmp_path / "input.jsonl", rows))


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers(), max_size=2))


@given(st.lists(st.dictionaries(st.sampled_from([*ROW, "id", "lyrics", "ref_audio", "x_a", "b"]), VALUES), max_size=3))
def test_any_rows_are_read_or_refused_with_a_sentence(tmp_path_factory, rows):
    path = write(tmp_path_factory.mktemp("rows") / "input.jsonl", rows)
    try:
        found = read_entry(path)
    except InputError as error:
        assert "\n" not in str(error) or any("\n" in str(value) for row in rows for value in row.values())
    else:
        assert len({row.name for row in found.rows}) == len(rows)


@pytest.fixture
def entry(tmp_path):
    return read_entry(write(tmp_path / "input.jsonl", [{**ROW, "sample_id": str(i)} for i in range(3)]))


def test_predictions_of_every_id_are_valid(tmp_path, entry):
    rows = [prediction_record(entry, row, score) for row, score in zip(entry.rows, (0.9, 0.1, 0.5), strict=True)]
    found = check_predictions(write(tmp_path / "p.jsonl", rows), entry)
    assert (found.rows, found.ties) == (3, 1)


GOOD = [{"sample_id": str(i), "preference_score": 0.9, "preferred_candidate": "A"} for i in range(3)]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (GOOD[:2], "no prediction for 1 of 3 ids, such as '2'"),
        ([*GOOD, GOOD[0]], "line 4: the id '0' was in line 1 already"),
        ([*GOOD, {**GOOD[0], "sample_id": "9"}], "'9' is not an id of the input"),
        ([{**GOOD[0], "sample_id": 0}, *GOOD[1:]], "the id 0 is '0' in the input"),
        ([{**GOOD[0], "preference_score": float("nan")}, *GOOD[1:]], "'preference_score' is nan"),
        ([{**GOOD[0], "preference_score": 1.5}, *GOOD[1:]], "expected a number from 0 to 1"),
        ([{**GOOD[0], "preference_score": 10**400}, *GOOD[1:]], "expected a number from 0 to 1"),
        ([{**GOOD[0], "preference_score": "0.9"}, *GOOD[1:]], "expected a number from 0 to 1"),
        ([{**GOOD[0], "preference_score": True}, *GOOD[1:]], "expected a number from 0 to 1"),
        ([{**GOOD[0], "preferred_candidate": "B"}, *GOOD[1:]], "a preference_score of 0.9 prefers the other"),
        ([{**GOOD[0], "preferred_candidate": "a"}, *GOOD[1:]], "expected 'A' or 'B'"),
        ([{"sample_id": "0"}, *GOOD[1:]], "'preference_score' is missing"),
        ([{**GOOD[0], "comment": "x"}, *GOOD[1:]], "unknown field 'comment'"),
    ],
)
def test_a_fault_in_predictions_is_named(tmp_path, entry, rows, sentence):
    with pytest.raises(InputError, match=sentence):
        check_predictions(write(tmp_path / "p.jsonl", rows), entry)


def test_the_coin_of_a_tie_is_fair_and_always_falls_the_same_way():
    tossed = [candidate(str(i), 0.5) for i in range(1000)]
    assert tossed == [candidate(str(i), 0.5) for i in range(1000)]
    assert 440 < tossed.count("A") < 560
