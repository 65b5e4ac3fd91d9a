"""Whatever JSON a row is, a reader takes it or says in one sentence what is wrong with it."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.arena.exchange.importing import read_source
from cmi.preferences import FIELDS, read_pairs, read_preferences
from cmi.reward.pick.candidates import read_manifest
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.reading import read_examples
from cmi.rewardbench.data import cmi_pref, cmi_pref_pseudo, music_arena, musiceval, own, released
from cmi.rewardbench.data.parquet import PREPARED
from cmi.take import read_takes

WORDS = st.sampled_from(["a", "b", "x.wav", "musicality", "alignment", "None", ".", "..", "\0", "\udcff", "\ud800"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | WORDS
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=3), v, max_size=2))

PREFERENCE = {"a": "1.wav", "b": "2.wav", "axis": "musicality", "choice": "a", "confidence": 3, "text": "slow"}
TAKE = {"audio": "1.wav", "text": "slow", "musicality": 3}
PUBLISHED = {
    **{"audio-path": "1.wav", "audio2": "2.wav", "prompt": "slow", "preference-musicality": "a"},
    **{"preference-alignment": "b", "confidence_preference-alignment": 3, "source": "cmi-arena-annotation"},
    "split": "test",
}
RATED = {"source": "PAM", "split": "test", "audio-path": "1.wav", "musicality": 3}
BATTLE = {"preference": "A", "audio_a": "1.mp3", "audio_b": "2.mp3", "date": "2025-07-01"}
CLIP = {"audio": {"file": "1.wav", "name": "S001_P001.wav"}, "overall quality": 3}

Read = Callable[[Path], Iterable[Any]]
# name of the file in its folder, what reads it (given the file and the folder), and a row that is right
READERS: dict[str, tuple[str, Callable[[Path, Path], Iterable[Any]], dict[str, Any], tuple[str, ...]]] = {
    "takes": ("t.jsonl", lambda file, folder: read_takes(file), TAKE, ("id", "lyrics", "reference")),
    "candidates": ("t.jsonl", lambda file, folder: read_manifest(file), TAKE, ("group", "truth")),
    "preferences": ("p.jsonl", lambda file, folder: read_preferences(file), PREFERENCE, FIELDS),
    "pairs": ("p.jsonl", lambda file, folder: read_pairs(file), PREFERENCE, FIELDS),
    "arena": ("p.jsonl", lambda file, folder: read_source(file), PREFERENCE, ("gold", "truth", "generator_a", *FIELDS)),
    "own pairs": ("p.jsonl", lambda file, folder: own.rows(file), PREFERENCE, ("month", "split", *FIELDS)),
    "own takes": ("p.jsonl", lambda file, folder: own.rows(file), TAKE, ("alignment", "split", *FIELDS)),
    "to learn from": (
        "p.jsonl", lambda file, folder: read_examples([TrainingSource(file)]), PREFERENCE, ("split", *FIELDS)
    ),
    "rated": ("p.jsonl", lambda file, folder: read_examples([TrainingSource(ratings=file)]), TAKE, ("alignment", "id")),
    "cmi-pref": ("cmi_test.jsonl", lambda file, folder: cmi_pref.rows(folder), PUBLISHED, ("user id", "lyrics")),
    "pseudo": ("x_train.jsonl", lambda file, folder: cmi_pref_pseudo.rows(folder), PUBLISHED, ("prompt id",)),
    "released pairs": ("all_test.jsonl", lambda file, folder: released.rows(folder), PUBLISHED, ("modality", "lyrics")),
    "released takes": ("all_test.jsonl", lambda file, folder: released.rows(folder), RATED, ("modality", "lyrics")),
    "music-arena": ("battle_data/1/b.json", lambda file, folder: music_arena.rows(folder), BATTLE, ("prompt",)),
    "musiceval": (f"{PREPARED}/test.jsonl", lambda file, folder: musiceval.rows(folder), CLIP, ()),
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_of_any_field_is_read_or_refused(kind: str, data: st.DataObject, tmp_path_factory):
    name, read, right, others = READERS[kind]
    folder = tmp_path_factory.mktemp("rows")
    changed = data.draw(st.dictionaries(st.sampled_from((*right, *others)), VALUES, min_size=1, max_size=3))
    removed = data.draw(st.sets(st.sampled_from(sorted(right)), max_size=1))
    row = {field: value for field, value in (right | changed).items() if field not in removed}
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(row))
    if kind == "musiceval":
        shard = "test-00000-of-00001.parquet"
        (folder / "data").mkdir()
        (folder / "data" / shard).touch()
        (file.parent / "from.json").write_text(json.dumps({shard: 0}))
    try:
        list(read(file, folder))
    except InputError as error:
        assert str(error).startswith(str(folder))


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, max_size=3))
def test_any_json_is_read_or_refused(tmp_path_factory, rows):
    for file in (tmp_path_factory.mktemp("rows") / "p.jsonl", tmp_path_factory.mktemp("rows") / "p.json"):
        whole = "\n".join(map(json.dumps, rows)) if file.suffix == ".jsonl" else json.dumps(rows)
        file.write_text(whole)
        for _, read, _, _ in READERS.values():
            try:
                list(read(file, file.parent))
            except InputError as error:
                assert str(error).startswith(str(file.parent))


@pytest.mark.parametrize("value", [[], {}, True, 3, [["x"]]])
@pytest.mark.parametrize("read", [read_preferences, read_pairs, own.rows])
def test_an_axis_that_is_not_text_is_one_sentence(tmp_path: Path, read: Read, value: object):
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(PREFERENCE | {"axis": value}))
    with pytest.raises(InputError, match=rf"line 1: 'axis' is {type(value).__name__}, expected text"):
        list(read(path))
