import multiprocessing
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cmi._util.cache import FILE_NAME, KEYS_PER_QUERY, VectorCache, cache_folder, content_key
from cmi._util.errors import InputError


def vector(value: float) -> np.ndarray:
    return np.full(3, value, np.float32)


def test_what_is_put_is_found_again_after_reopening(tmp_path):
    exact = np.array([0.1, -1e-30, np.float32(1) / 3], np.float32)
    with VectorCache(tmp_path) as cache:
        cache.put_many("minilm@1", [(b"a", exact)])
    with VectorCache(tmp_path) as cache:
        found = cache.get_many("minilm@1", [b"a", b"absent"])
    assert list(found) == [b"a"]
    assert found[b"a"].dtype == np.float32
    assert np.array_equal(found[b"a"], exact)


def test_encoders_do_not_see_each_others_vectors(tmp_path):
    with VectorCache(tmp_path) as cache:
        cache.put_many("minilm@1", [(b"a", vector(1))])
        cache.put_many("minilm@2", [(b"a", vector(2))])
        assert cache.get_many("minilm@1", [b"a"])[b"a"][0] == 1
        assert cache.get_many("minilm@2", [b"a"])[b"a"][0] == 2
        assert cache.get_many("bge", [b"a"]) == {}


def test_the_first_vector_stays(tmp_path):
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", [(b"a", vector(1))])
        cache.put_many("e", [(b"a", vector(2)), (b"b", vector(3))])
        found = cache.get_many("e", [b"a", b"b"])
    assert found[b"a"][0] == 1
    assert found[b"b"][0] == 3


def test_more_keys_than_sqlite_takes_in_one_query(tmp_path):
    keys = [content_key(str(i)) for i in range(3 * KEYS_PER_QUERY + 7)]
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", [(key, vector(i)) for i, key in enumerate(keys)])
        found = cache.get_many("e", keys)
    assert [found[key][0] for key in keys] == list(range(len(keys)))


def test_a_batch_that_fails_leaves_nothing_behind(tmp_path):
    with VectorCache(tmp_path) as cache:
        with pytest.raises(InputError):
            cache.put_many("e", [(b"a", vector(1)), (None, vector(2))])
        assert cache.get_many("e", [b"a"]) == {}
        cache.put_many("e", [(b"a", vector(3))])
        assert cache.get_many("e", [b"a"])[b"a"][0] == 3


def test_content_keys_tell_texts_apart_and_take_lone_surrogates():
    texts = ["", "a", "A", "ä", "a\u0308", "\ud800", "\ufffd"]
    assert len({content_key(text) for text in texts}) == len(texts)
    assert content_key("abc").hex().startswith("ba7816bf")  # NIST's test vector for SHA-256


def test_the_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("CMI_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "cmi"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "cmi"
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    with VectorCache() as cache:
        assert cache.path.parent == tmp_path / "mine"


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"not a database, but long enough to have a header" * 100)
    with pytest.raises(InputError, match=rf"{FILE_NAME}.*delete it"):
        VectorCache(tmp_path)


def test_a_damaged_database_is_named(tmp_path):
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", [(content_key(str(i)), vector(i)) for i in range(2000)])
        cache._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises(InputError, match=rf"{FILE_NAME}.*delete it"), VectorCache(tmp_path) as cache:
        cache.get_many("e", [content_key(str(i)) for i in range(2000)])


def test_a_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="CMI_CACHE"):
        VectorCache(tmp_path / "file" / "cache")


def test_a_place_that_can_not_be_written_is_named(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(InputError, match="CMI_CACHE"):
        VectorCache(tmp_path)


def _fill(job: tuple[Path, int]) -> None:
    folder, worker = job
    with VectorCache(folder) as cache:
        for batch in range(20):
            cache.put_many("e", [(content_key(f"{worker} {batch} {i}"), vector(worker)) for i in range(10)])


def test_processes_that_open_and_fill_it_together_lose_nothing(tmp_path):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for attempt in range(10):
            pool.map(_fill, [(tmp_path / str(attempt), worker) for worker in range(4)], chunksize=1)
    for attempt in range(10):
        with VectorCache(tmp_path / str(attempt)) as cache:
            keys = [content_key(f"{w} {b} {i}") for w in range(4) for b in range(20) for i in range(10)]
            assert len(cache.get_many("e", keys)) == len(keys)


ENDLESS_WRITER = """
import sys
from pathlib import Path
import numpy as np
from cmi._util.cache import VectorCache, content_key

with VectorCache(Path(sys.argv[1])) as cache:
    batch = 0
    while True:
        cache.put_many("e", [(content_key(f"{batch} {i}"), np.full(384, batch, np.float32)) for i in range(50)])
        print(batch, flush=True)
        batch += 1
"""


def test_a_writer_does_not_keep_readers_waiting(tmp_path):
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", [(b"a", vector(1))])
        writer = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        writer.execute("BEGIN EXCLUSIVE")
        cache._connection.execute("PRAGMA busy_timeout = 0")
        assert cache.get_many("e", [b"a"])[b"a"][0] == 1
        writer.close()


def test_what_was_kept_survives_kill_9(tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", ENDLESS_WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    for _ in range(5):
        writer.stdout.readline()
    time.sleep(0.05)
    writer.kill()
    kept = 5 + len([line for line in writer.stdout.read().splitlines() if line])
    writer.wait()
    with VectorCache(tmp_path) as cache:
        for batch in range(kept):
            found = cache.get_many("e", [content_key(f"{batch} {i}") for i in range(50)])
            assert len(found) == 50
            assert all((row == batch).all() for row in found.values())
        cache.put_many("e", [(b"after", vector(1))])
        assert b"after" in cache.get_many("e", [b"after"])
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_damaged_vectors_are_discarded_said_and_made_again(tmp_path):
    """Bytes that changed in the file, and SQLite, which has no checksums, does not notice."""
    with VectorCache(tmp_path) as cache:
        cache.put_many("e", [(b"a", vector(1.5)), (b"b", vector(2.5))])
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    path = tmp_path / FILE_NAME
    content = path.read_bytes()
    place = content.index(vector(1.5).tobytes())
    path.write_bytes(content[:place] + bytes(4) + content[place + 4 :])
    with VectorCache(tmp_path) as cache:
        with pytest.warns(UserWarning, match="1 damaged vectors were deleted and will be computed again"):
            assert list(cache.get_many("e", [b"a", b"b"])) == [b"b"]
        cache.put_many("e", [(b"a", vector(1.5))])
        assert cache.get_many("e", [b"a"])[b"a"][0] == 1.5


def test_vectors_of_versions_without_checksums_are_let_go(tmp_path):
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("CREATE TABLE vectors (encoder TEXT, key BLOB, vector BLOB, PRIMARY KEY (encoder, key))")
    database.execute("INSERT INTO vectors VALUES ('e', ?, ?)", (b"a", vector(1).tobytes()))
    database.commit()
    database.close()
    with VectorCache(tmp_path) as cache:
        assert cache.get_many("e", [b"a"]) == {}
        cache.put_many("e", [(b"a", vector(2))])
        assert cache.get_many("e", [b"a"])[b"a"][0] == 2
