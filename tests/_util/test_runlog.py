import fcntl
import json
import math
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi._util.runlog import RunLog, read_records

KILLS = 200

WRITER = """
import itertools, os, sys
from pathlib import Path
from cmi._util.runlog import RunLog

os.write(1, b"started\\n")
with RunLog(Path(sys.argv[1])) as log:
    for i in itertools.count():
        if i not in log:
            log.append({"id": i, "square": i * i})
            os.write(1, b"%d\\n" % i)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl.partial"


def write(path: Path, *records: dict) -> None:
    with RunLog(path) as log:
        for record in records:
            log.append(record)


# Killed at any moment


def test_two_hundred_kills_lose_no_acknowledged_record_and_double_none(path, partial, tmp_path):
    script = tmp_path / "writer.py"
    script.write_text(WRITER)
    rng = random.Random(0)
    acknowledged = []
    for _ in range(KILLS):
        acknowledged += run_and_kill(script, path, after_acks=rng.randrange(12), delay=rng.uniform(0, 0.003))
        if rng.random() < 0.5:  # a small write is seldom torn by a kill: tear one by hand, as a power cut would
            with partial.open("ab") as file:
                file.write(b'{"id": 99999999, "square": 1}\n'[: rng.randrange(1, 30)])

    records = list(read_records(path))
    ids = [record["id"] for record in records]
    assert len(acknowledged) > KILLS
    assert len(acknowledged) == len(set(acknowledged)), "a finished record was computed again"
    assert ids == list(range(len(ids))), "a record is lost or there twice"
    assert set(acknowledged) <= set(ids), "an acknowledged record is lost"
    assert len(ids) - len(acknowledged) <= KILLS, (
        "at most the record in flight may be there without its acknowledgement"
    )
    assert all(record == {"id": i, "square": i * i} for i, record in enumerate(records))


def run_and_kill(script: Path, path: Path, after_acks: int, delay: float) -> list[int]:
    """Run the writer until it has acknowledged so many records and a moment more; all that it acknowledged."""
    with subprocess.Popen([sys.executable, str(script), str(path)], stdout=subprocess.PIPE) as writer:
        lines = [writer.stdout.readline() for _ in range(1 + after_acks)]
        time.sleep(delay)
        writer.kill()
        lines += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL, "the writer ended by itself"
    assert lines[0] == b"started\n"
    return [int(line) for line in lines[1:]]


def test_a_tail_torn_at_any_byte_is_cut_off_and_written_anew(path, partial):
    whole, last = {"id": "a", "text": "x"}, {"id": "b", "text": "é\ud800"}
    write(path, whole, last)
    content = partial.read_bytes()
    start_of_last = content.index(b"\n") + 1
    for length in range(start_of_last, len(content)):
        partial.write_bytes(content[:length])
        assert list(read_records(path)) == [whole]
        with RunLog(path) as log:
            assert log.done == {"a"}
            assert partial.stat().st_size == start_of_last
            log.append(last)
        assert partial.read_bytes() == content


@pytest.mark.parametrize(("torn", "whole"), [(b'{"id": 1}\n\0\0\0\n', b'{"id": 1}\n'), (b'{"id"', b"")])
def test_zeros_at_the_end_and_a_torn_first_line_are_cut_off_too(path, partial, torn, whole):
    partial.write_bytes(torn)
    assert len(list(read_records(path))) == len(whole.splitlines())
    with RunLog(path) as log:
        assert partial.read_bytes() == whole
        log.append({"id": 2})
    assert partial.read_bytes() == whole + b'{"id": 2}\n'


# Damage is reported, never repaired by guessing


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"id": 1}\n{"id": 2\n{"id": 3}\n', 2),
        (b'{"id": 1}\n\n{"id": 3}\n', 2),
        (b'\xff\xfe\n{"id": 3}\n', 1),
        (b"[" * 100_000 + b'\n{"id": 3}\n', 1),
        (b'{"id": 1}\n[1]\n', 2),
        (b'{"id": 1}\nnull\n', 2),
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_cut(path, partial, content, line):
    partial.write_bytes(content)
    with pytest.raises(InputError, match=rf"results\.jsonl\.partial line {line}: "):
        RunLog(path)
    with pytest.raises(InputError, match=rf"results\.jsonl\.partial line {line}: "):
        list(read_records(path))
    assert partial.read_bytes() == content


@pytest.mark.parametrize("second", [{}, {"id": None}, {"id": 1.5}, {"id": True}, {"id": ["a"]}, {"id": 1}])
def test_a_record_on_file_without_a_key_of_its_own_is_named(path, partial, second):
    partial.write_text('{"id": 1}\n' + json.dumps(second) + "\n")
    with pytest.raises(InputError, match=r"partial line 2: .*id"):
        RunLog(path)


def test_a_finished_log_has_no_torn_tail_to_forgive(path):
    path.write_bytes(b'{"id": 1}\n{"id": 2}')
    with pytest.raises(InputError, match=r"results\.jsonl line 2: "):
        RunLog(path)
    with pytest.raises(InputError, match=r"results\.jsonl line 2: "):
        list(read_records(path))
    assert path.read_bytes() == b'{"id": 1}\n{"id": 2}'


def test_a_failed_opening_leaves_no_lock_behind(path, partial):
    partial.write_bytes(b"[]\n")
    with pytest.raises(InputError, match="line 1"):
        RunLog(path)
    partial.write_bytes(b"")
    RunLog(path).close()


# Appending


def test_a_record_is_on_file_as_soon_as_append_returns(path):
    with RunLog(path) as log:
        log.append({"id": 1, "answer": "C minor"})
        assert list(read_records(path)) == [{"id": 1, "answer": "C minor"}]
        assert 1 in log
        assert 2 not in log


@pytest.mark.parametrize("reopen", [False, True])
def test_a_key_cannot_be_appended_twice(path, reopen):
    log = RunLog(path)
    log.append({"id": "a", "n": 1})
    if reopen:
        log.close()
        log = RunLog(path)
    with log, pytest.raises(ValueError, match="id 'a' is already in"):
        log.append({"id": "a", "n": 2})
    assert list(read_records(path)) == [{"id": "a", "n": 1}]


def test_one_and_the_string_one_are_two_keys(path):
    write(path, {"id": 1}, {"id": "1"})
    with RunLog(path) as log:
        assert log.done == {1, "1"}


def test_the_key_field_is_chosen_by_name(path):
    with RunLog(path, key="clip") as log:
        log.append({"clip": "x.wav", "id": 1})
        log.append({"clip": "y.wav", "id": 1})
    with RunLog(path, key="clip") as log:
        assert log.done == {"x.wav", "y.wav"}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1.0, {"deep": math.nan}]])
def test_a_number_that_json_cannot_hold_is_refused(path, value):
    with RunLog(path) as log:
        with pytest.raises(ValueError, match="record 'a' cannot be written as JSON"):
            log.append({"id": "a", "score": value})
        assert "a" not in log
    assert list(read_records(path)) == []


@pytest.mark.parametrize("record", [{}, {"id": None}, {"id": 1.5}, {"id": True}, {"id": ["a"]}])
def test_a_record_without_a_usable_key_is_refused(path, record):
    with RunLog(path) as log, pytest.raises(ValueError, match="'id' must be a string or an integer"):
        log.append(record)
    assert list(read_records(path)) == []


def test_surrogates_alone_or_in_pairs_stay_the_same_key(path):
    alone, pair = "\udcff", "\ud83c\udfb5"
    with RunLog(path) as log:
        log.append({"id": alone})
        log.append({"id": pair})
        assert alone in log
        assert pair in log
    with RunLog(path) as log:
        assert alone in log
        assert pair in log
        with pytest.raises(ValueError, match="already"):
            log.append({"id": pair})


@pytest.mark.parametrize("failing", ["write", "short write", "fsync"])
def test_a_record_that_could_not_be_stored_leaves_the_log_as_it_was(path, partial, monkeypatch, failing):
    def fail(*_):
        raise OSError("disk gone")

    real_write = os.write
    with RunLog(path) as log:
        log.append({"id": 1})
        with monkeypatch.context() as patch:
            if failing == "short write":
                writes = iter([lambda file, line: real_write(file, line[:5]), fail])
                patch.setattr(os, "write", lambda *given: next(writes)(*given))
            else:
                patch.setattr(os, failing, fail)
            with pytest.raises(OSError, match="disk gone"):
                log.append({"id": 2})
        assert log.done == {1}
        assert partial.read_bytes() == b'{"id": 1}\n'
        log.append({"id": 2})
    assert [record["id"] for record in read_records(path)] == [1, 2]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
keys = st.text() | st.integers()


@settings(deadline=None, max_examples=50)  # a slow disk is no failure
@given(st.dictionaries(keys, st.dictionaries(st.text(), values, max_size=4), max_size=5), st.integers(0, 5))
def test_what_is_appended_over_two_sittings_is_read_back_in_order(records, split):
    expected = [fields | {"id": key} for key, fields in records.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write(path, *expected[:split])
        write(path, *expected[split:])
        assert list(read_records(path)) == expected
        with RunLog(path) as log:
            assert log.done == set(records)
            log.finish()
        assert list(read_records(path)) == expected


# One writer at a time


def test_a_second_writer_is_refused_while_the_first_is_open(path):
    with RunLog(path) as log:
        with pytest.raises(InputError, match="another process is writing"):
            RunLog(path)
        log.append({"id": 1})
        log.finish()
        with pytest.raises(InputError, match="another process is writing"):
            RunLog(path)
    with RunLog(path) as log:
        assert 1 in log


def test_a_log_renamed_between_opening_and_locking_is_looked_up_again(path, partial, monkeypatch):
    write(path, {"id": 1})
    real_lock = fcntl.flock

    def finished_by_another_just_before(file, how):
        if partial.exists():
            partial.rename(path)
        real_lock(file, how)

    monkeypatch.setattr(fcntl, "flock", finished_by_another_just_before)
    with RunLog(path) as log:
        log.append({"id": 2})
        log.finish()
    assert [record["id"] for record in read_records(path)] == [1, 2]
    assert not partial.exists()


def test_a_closed_log_takes_nothing_more(path):
    with RunLog(path) as log:
        log.append({"id": 1})
        log.finish()
    with pytest.raises(ValueError, match="closed"):
        log.append({"id": 2})
    with pytest.raises(ValueError, match="closed"):
        log.finish()
    assert list(read_records(path)) == [{"id": 1}]


# Finished and partial


def test_the_final_name_is_there_only_while_the_log_is_whole(path, partial):
    with RunLog(path) as log:
        log.append({"id": 1})
        assert (path.exists(), partial.exists()) == (False, True)
        log.finish()
        log.finish()
        assert (path.exists(), partial.exists()) == (True, False)
    with RunLog(path) as log:
        assert log.done == {1}
        with pytest.raises(ValueError, match="already"):
            log.append({"id": 1})
        assert (path.exists(), partial.exists()) == (True, False)
        log.append({"id": 2})
        assert (path.exists(), partial.exists()) == (False, True)
    with RunLog(path) as log:
        assert log.done == {1, 2}
        log.finish()
    assert (path.exists(), partial.exists()) == (True, False)
    assert list(read_records(path)) == [{"id": 1}, {"id": 2}]


def test_the_folder_is_synced_whenever_a_name_in_it_changes(path, monkeypatch):
    real_sync = os.fsync
    synced = []

    def sync(file):
        synced.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        real_sync(file)

    monkeypatch.setattr(os, "fsync", sync)
    with RunLog(path) as log:
        assert synced == ["folder"]
        log.append({"id": 1})
        log.finish()
        assert synced == ["folder", "file", "folder"]
        log.append({"id": 2})
        assert synced == ["folder", "file", "folder", "folder", "file"]


def test_two_logs_of_one_name_are_not_chosen_between(path, partial):
    path.write_text('{"id": 1}\n')
    partial.write_text('{"id": 2}\n')
    with pytest.raises(InputError, match="both exist"):
        RunLog(path)


def test_a_log_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.*No such file or directory"):
        RunLog(tmp_path / "nowhere" / "log.jsonl")
    with pytest.raises(InputError, match="not a regular file"):
        RunLog(tmp_path)
    with pytest.raises(InputError, match="no such log"):
        list(read_records(tmp_path / "log.jsonl"))


def test_reading_holds_one_record_at_a_time(path):
    path.write_text("".join(json.dumps({"id": i, "text": "x" * 100_000}) + "\n" for i in range(100)))
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_records(path)) == 100
        with RunLog(path) as log:
            assert len(log.done) == 100
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_only_the_standard_library_is_imported():
    code = "import sys, cmi._util.runlog; print([m for m in ('numpy', 'torch', 'rich', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_forked_process_does_not_hold_the_log_of_a_parent_that_is_gone(tmp_path):
    path = tmp_path / "log.jsonl"
    code = f"""
import os, sys, time
from pathlib import Path
from cmi._util.runlog import RunLog
log = RunLog(Path({str(path)!r}))
log.append({{"id": 1}})
if os.fork() == 0:
    print("ready", flush=True)
time.sleep(30)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    try:
        parent.stdout.readline()
        with pytest.raises(InputError, match="another process"):
            RunLog(path)
        parent.kill()
        parent.wait()
        with RunLog(path) as log:
            assert 1 in log
    finally:
        os.killpg(parent.pid, signal.SIGKILL)


def test_a_device_is_not_a_log(tmp_path):
    """Its first record would rename it."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path / "pipe.jsonl", Path("/dev/null"), tmp_path):
        with pytest.raises(InputError, match="not a regular file"):
            RunLog(path)
    assert Path("/dev/null").is_char_device()
