"""MusicEval, whose recordings lie inside parquet files."""

import hashlib
import os
import threading

import pyarrow as pa
import pytest

from cmi._util.errors import InputError
from cmi.audio import load
from cmi.rewardbench.data import count, musiceval
from cmi.rewardbench.data.parquet import prepare

RATED = "overall quality"


@pytest.fixture
def columns(make) -> dict:
    return {"audio": make.clips(0, 1, 0), RATED: [3.2, 4.4, 1.0], "textual alignment": [1.0, 2.0, 3.0]}


def test_clips_become_files_named_by_content_and_alignment_is_left_out(tmp_path, make, columns):
    make.musiceval(tmp_path, **columns)
    items = list(musiceval.DATA_SET.read(tmp_path))
    assert [item.ratings for item in items] == [{"musicality": 3.2}, {"musicality": 4.4}, {"musicality": 1.0}]
    assert [item.about for item in items[:1]] == [{"split": "test", "generator": "S000", "prompt_id": "P044"}]
    assert items[0].prompt.text == ""
    for item, seed in zip(items, (0, 1, 0), strict=True):
        assert item.takes[0].stem == hashlib.sha256(make.sound(seed)).hexdigest()
        assert load(item.takes[0], 16_000).samples.size == 1600
    assert len(list((tmp_path / "prepared" / "audio").iterdir())) == 2


def test_splits_and_shards_are_told_by_their_names(tmp_path, make, columns):
    make.musiceval(tmp_path, "test", **columns)
    make.musiceval(tmp_path, "train", "00000-of-00002", **columns)
    make.musiceval(tmp_path, "train", "00001-of-00002", **columns)
    counts = count(musiceval.DATA_SET.survey(tmp_path))
    assert (counts.kept, counts.left_out) == (3, {"split train": 6})
    assert len({item.id for item in musiceval.DATA_SET.read(tmp_path, "all")}) == 9


def test_what_was_prepared_is_not_prepared_again_unless_the_parquet_is_another(tmp_path, make, columns):
    make.musiceval(tmp_path, **columns)
    first = prepare(tmp_path).stat().st_ino
    assert prepare(tmp_path).stat().st_ino == first
    make.musiceval(tmp_path, "validation", **columns)
    prepare(tmp_path)
    assert {path.stem for path in (tmp_path / "prepared").glob("*.jsonl")} == {"test", "validation"}
    assert not (tmp_path / "prepared.partial").exists()


def test_two_readers_at_once_prepare_it_once(tmp_path, make, columns):
    make.musiceval(tmp_path, **columns)
    found: list[int] = []
    readers = [
        threading.Thread(target=lambda: found.append(len([*musiceval.DATA_SET.read(tmp_path)]))) for _ in range(4)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert found == [3] * 4


def test_missing_and_corrupt_recordings_and_nan_cost_only_themselves(tmp_path, make):
    cells = [*make.clips(0, None), {"bytes": b"noise", "path": "x/../../evil.wav"}, None]
    make.musiceval(tmp_path, audio=cells, **{RATED: [3.0, 3.0, 3.0, float("nan")]})
    items = list(musiceval.DATA_SET.read(tmp_path))
    assert [item.takes[0].exists() for item in items] == [True, False, True]
    assert items[2].takes[0].parent == tmp_path / "prepared" / "audio"
    with pytest.raises(InputError, match=r"not readable|not audio|damaged"):
        load(items[2].takes[0], 16_000)
    assert count(musiceval.DATA_SET.survey(tmp_path)).left_out == {"no rating": 1}


def test_a_suffix_comes_from_the_name_only_if_it_is_one(tmp_path, make):
    cells = [{"bytes": make.sound(i), "path": path} for i, path in enumerate(["a.FLAC", "b.w/v", None])]
    make.musiceval(tmp_path, audio=cells, **{RATED: [3.0, 3.0, 3.0]})
    assert [item.takes[0].suffix for item in musiceval.DATA_SET.read(tmp_path)] == [".flac", ".audio", ".audio"]


def test_a_missing_column_a_rating_off_the_scale_and_a_strange_column_are_named(tmp_path, make, columns):
    make.musiceval(tmp_path / "1", audio=columns["audio"])
    with pytest.raises(InputError, match=r"test.jsonl line 1: no column 'overall quality' \(audio\)"):
        list(musiceval.DATA_SET.read(tmp_path / "1"))
    make.musiceval(tmp_path / "2", **columns | {RATED: [3.0, 50.0, 3.0]})
    with pytest.raises(
        InputError, match=r"test.jsonl line 2: 'overall quality' is 50.0, expected a number from 1 to 5"
    ):
        list(musiceval.DATA_SET.read(tmp_path / "2"))
    make.musiceval(tmp_path / "3", **columns, extra=[[1], [2], [3]])
    with pytest.raises(InputError, match=r"test-00000-of-00001.parquet: column 'extra' is list<.*expected text"):
        list(musiceval.DATA_SET.read(tmp_path / "3"))
    make.musiceval(tmp_path / "4", **columns | {"audio": ["a.wav", "b.wav", "c.wav"]})
    with pytest.raises(InputError, match=r"test.jsonl line 1: 'audio' is str, expected a recording"):
        list(musiceval.DATA_SET.read(tmp_path / "4"))


@pytest.mark.parametrize("keep", [0, 3, 4, 100, -9])
def test_a_truncated_file_is_named_and_leaves_nothing_under_the_final_name(tmp_path, make, columns, keep):
    make.musiceval(tmp_path, **columns)
    shard = tmp_path / "data" / "test-00000-of-00001.parquet"
    shard.write_bytes(shard.read_bytes()[:keep])
    with pytest.raises(
        InputError, match=r"test-00000-of-00001.parquet: not a complete Parquet file \(.*download it again"
    ):
        list(musiceval.DATA_SET.read(tmp_path))
    assert not (tmp_path / "prepared").exists()


def test_damage_inside_a_file_is_named(tmp_path, make, columns):
    make.musiceval(tmp_path, **columns)
    shard = tmp_path / "data" / "test-00000-of-00001.parquet"
    content = bytearray(shard.read_bytes())
    content[4:400] = os.urandom(396)
    shard.write_bytes(content)
    with pytest.raises(InputError, match="not a complete Parquet file"):
        list(musiceval.DATA_SET.read(tmp_path))


def test_memory_does_not_follow_the_size_of_the_file(tmp_path, make):
    folder = tmp_path / "data"
    folder.mkdir()
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema([("audio", kind), (RATED, pa.float64())])
    with pa.parquet.ParquetWriter(folder / "test-00000-of-00001.parquet", schema, compression="none") as writer:
        for i in range(8):
            cells = [{"bytes": os.urandom(2**20), "path": f"{i}-{j}.wav"} for j in range(16)]
            writer.write_table(pa.table({"audio": cells, RATED: [3.0] * 16}, schema=schema))
    pool = pa.system_memory_pool()
    pa.set_memory_pool(pool)
    before = pool.max_memory()
    assert len(list(musiceval.DATA_SET.read(tmp_path))) == 128
    assert pool.max_memory() - before < 48 * 2**20
