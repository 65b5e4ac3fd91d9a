"""What was heard is kept whole or not at all, within the limit, by any number of processes."""

import os
import subprocess
import sys
import time
import warnings

import pytest
import torch

from cmi._util.errors import InputError
from cmi.reward.engine.token_cache import ABANDONED_AFTER, CachedTokens, TokenCache, TokenMemory

MANY = """
import sys, torch
from pathlib import Path
from cmi.reward.engine.token_cache import CachedTokens, TokenCache
cache = TokenCache(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    for i in range(40):
        cache.put(f"{i:064x}", CachedTokens(torch.full((500, 64), float(i)), i, False))
"""


def entry(value: float, dtype: torch.dtype = torch.float32) -> CachedTokens:
    return CachedTokens(torch.full((10, 4), value, dtype=dtype), 9600, False)


def key(number: int) -> str:
    return f"{number:064x}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_kept_comes_back_as_it_was(tmp_path, dtype):
    TokenCache(tmp_path).put(key(1), CachedTokens(torch.randn(10, 4).to(dtype), 9600, True))
    found = TokenCache(tmp_path).get(key(1))
    assert found.tokens.dtype == dtype
    assert (found.samples, found.silent) == (9600, True)
    assert TokenCache(tmp_path).get(key(2)) is None


def test_killed_writers_leave_nothing_that_is_read(tmp_path):
    """Two writers at a time, killed at any moment: every entry that can be read is whole."""
    for round_ in range(4):
        writers = [
            subprocess.Popen([sys.executable, "-c", MANY, str(tmp_path)], stdout=subprocess.PIPE) for _ in range(2)
        ]
        for writer in writers:
            assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.02 + 0.05 * round_)
        for writer in writers:
            writer.kill()
            writer.wait()
        cache = TokenCache(tmp_path)
        for i in range(40):
            found = cache.get(key(i))
            assert found is None or torch.equal(found.tokens, torch.full((500, 64), float(i)))


def test_a_damaged_file_is_encoded_again(tmp_path):
    cache = TokenCache(tmp_path)
    cache.put(key(1), entry(1))
    (path,) = tmp_path.glob("*/*")
    for damage in (b"", b"nonsense", path.read_bytes()[:-7]):
        path.write_bytes(damage)
        assert cache.get(key(1)) is None
        assert not path.exists()
        cache.put(key(1), entry(1))
        assert cache.get(key(1)) is not None


def test_above_the_limit_what_was_used_longest_ago_goes(tmp_path):
    TokenCache(tmp_path / "one").put(key(0), entry(0))
    size = next((tmp_path / "one").glob("*/*")).stat().st_size
    cache = TokenCache(tmp_path / "ten", limit=10 * size)
    for i in range(6):
        cache.put(key(i), entry(i))
        os.utime(cache._path(key(i)), (1000 + i, 1000 + i))
    assert cache.get(key(0)) is not None  # used now
    for i in range(6, 14):
        cache.put(key(i), entry(i))
    kept = [i for i in range(14) if cache._path(key(i)).exists()]
    assert 0 in kept
    assert 13 in kept
    assert 1 not in kept
    assert sum(path.stat().st_size for path in cache.folder.glob("*/*")) <= 11 * size


def test_what_killed_writers_left_is_cleared_away_but_not_what_is_being_written(tmp_path):
    cache = TokenCache(tmp_path)
    cache.put(key(1), entry(1))
    folder = cache._path(key(1)).parent
    old, new = folder / "old.unfinished", folder / "new.unfinished"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - ABANDONED_AFTER - 10,) * 2)
    TokenCache(tmp_path).put(key(2), entry(2))
    assert not old.exists()
    assert new.exists()


def test_a_disk_that_can_not_be_written_is_said_once(tmp_path):
    cache = TokenCache(tmp_path)
    (tmp_path / key(1)[:2]).write_text("a file where a folder must be")
    with pytest.warns(UserWarning, match="continuing without"):
        cache.put(key(1), entry(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(key(1), entry(1))
    assert cache.get(key(1)) is None


def test_a_cache_that_was_emptied_meanwhile_is_filled_again(tmp_path):
    cache = TokenCache(tmp_path / "tokens")
    (tmp_path / "tokens").rmdir()
    cache.put(key(1), entry(1))
    assert cache.get(key(1)) is not None


def test_no_folder_no_cache(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be used for the cache"):
        TokenCache(tmp_path / "file" / "cache")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_entry_with_a_flipped_or_zeroed_byte_anywhere_is_never_used(tmp_path, dtype):
    """What a failing disk or a power failure leaves: names, header and tokens alike."""
    cache = TokenCache(tmp_path)
    whole = CachedTokens(torch.randn(6, 4).to(dtype), 9600, silent=False, stated=10.5)
    cache.put(key(1), whole)
    path = cache._path(key(1))
    content = path.read_bytes()
    changed = [content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(len(content))]
    changed += [content[:i] + bytes(len(content) - i) for i in range(0, len(content), 16)]
    for damaged in changed:
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = cache.get(key(1))
        if found is None:
            assert not path.exists()
        else:  # in what means nothing, such as a space of the header
            assert torch.equal(found.tokens, whole.tokens)
            assert found[1:] == whole[1:]


def test_an_entry_under_another_name_is_not_used(tmp_path):
    cache = TokenCache(tmp_path)
    cache.put(key(1), entry(1))
    cache._path(key(1)).rename(cache._path(key(2)))
    with pytest.warns(UserWarning, match="a damaged entry was deleted and will be computed again"):
        assert cache.get(key(2)) is None


def test_damage_is_said_once_by_all_processes(tmp_path):
    cache = TokenCache(tmp_path)
    for i in range(3):
        cache.put(key(i), entry(i))
        cache._path(key(i)).write_bytes(b"damaged")
    child = os.fork()
    if child == 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                os._exit(cache.get(key(0)) is not None)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert cache.get(key(1)) is None
        assert cache.get(key(2)) is None
    assert not told


def test_memory_forgets_what_was_used_longest_ago_and_never_holds_more_than_its_limit():
    size = entry(0.0).tokens.nbytes
    memory = TokenMemory(3 * size)
    memory.put_many({key(i): entry(i) for i in range(3)})
    assert memory.get(key(0)).tokens[0, 0] == 0.0  # used just now
    memory.put_many({key(3): entry(3.0), key(0): entry(9.0)})
    assert [memory.get(key(i)) is not None for i in range(4)] == [True, False, True, True]
    assert memory.get(key(0)).tokens[0, 0] == 0.0, "one that is known is not counted twice"
    memory.put_many({key(4): CachedTokens(torch.zeros(1000, 4), 9600, False)})
    assert all(memory.get(key(i)) is None for i in range(5)), "too large on its own"
