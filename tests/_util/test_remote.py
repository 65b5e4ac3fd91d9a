"""Files at addresses: read as local ones are, one sentence for what cannot be read, and no credentials in it."""

import gzip
import pickle
import subprocess
import sys
from pathlib import Path

import fsspec
import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from cmi import audio
from cmi._util import remote
from cmi._util.errors import InputError
from cmi._util.records import read_table
from cmi._util.remote import RemotePath, join_path, open_file, stamp, to_path
from cmi.take import read_takes


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.mark.parametrize("name", ["s3://bucket/a b/Ä.wav", "gs://bucket/x", "memory://x/y.wav", "file:///tmp/x.wav"])
def test_an_address_is_a_path_that_shows_itself(name):
    path = to_path(name)
    assert isinstance(path, Path) and isinstance(path, RemotePath)
    assert str(path) == str(path.absolute()) == name
    assert path == to_path(name) and hash(path) == hash(to_path(name))
    assert str(path.parent / path.name) == name
    assert pickle.loads(pickle.dumps(path)) == path
    assert not path.exists(), "what reads local files does not find it"


@pytest.mark.parametrize("name", ["take.wav", "/tmp/take.wav", "s3/take.wav", "s3:take.wav", "c://x", "x://y", "a::b"])
def test_other_names_are_local(name):
    assert type(to_path(name)) is type(Path(name))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("http://host/take.wav", "addresses are not read"),
        ("https://user:secret@host/take.wav?token=secret", "addresses are not read"),
        ("s3://user:secret@bucket/take.wav", "user or password"),
        ("s3://bucket//take.wav", "not the address of a file"),
        ("s3://bucket/./take.wav", "not the address of a file"),
        ("s3://bucket/takes/", "not the address of a file"),
        ("s3://", "not the address of a file"),
        ("memory:///", "not the address of a file"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_its_secrets(name, said):
    with pytest.raises(InputError, match=said) as refused:
        to_path(name)
    assert "secret" not in str(refused.value)


@given(st.text(max_size=40), st.sampled_from(["", "s3://", "file://", "memory://", "http://"]))
def test_any_name_is_a_path_or_refused(name, scheme):
    try:
        path = to_path(scheme + name)
    except InputError:
        return
    if isinstance(path, RemotePath):
        assert str(path) == scheme + name
    else:
        assert path == Path(scheme + name)


@pytest.mark.parametrize(
    ("folder", "name", "found"),
    [
        ("s3://bucket/set", "a.wav", "s3://bucket/set/a.wav"),
        ("s3://bucket/set", "../b/a.wav", "s3://bucket/b/a.wav"),
        ("s3://bucket/set", "gs://other/a.wav", "gs://other/a.wav"),
        ("s3://bucket/set", "/disk/a.wav", "/disk/a.wav"),
        ("set", "s3://bucket/a.wav", "s3://bucket/a.wav"),
        ("set", "../a.wav", "set/../a.wav"),
    ],
)
def test_names_in_a_manifest_are_relative_to_its_folder_wherever_it_is(folder, name, found):
    assert str(join_path(to_path(folder), name)) == found


def test_names_above_a_bucket_are_refused():
    with pytest.raises(InputError, match="above the top"):
        join_path(to_path("s3://bucket/set"), "../../../a.wav")


def test_a_recording_is_decoded_and_hashed_as_a_local_one_is(memory, tmp_path):
    local = tmp_path / "take.flac"
    soundfile.write(local, np.random.default_rng(0).standard_normal(44_100) / 10, 44_100)
    memory.pipe("/set/take.flac", local.read_bytes())
    link = tmp_path / "link.flac"
    link.symlink_to(local)
    for path in map(to_path, ("memory://set/take.flac", f"file://{local}", f"file://{link}")):
        assert (audio.load(path, 16_000, 0.5, 0.25).samples == audio.load(local, 16_000, 0.5, 0.25).samples).all()
        assert audio.content_hash(path) == audio.content_hash(local)
        assert audio.duration(path) == 1.0


def test_a_file_that_changed_has_another_stamp_and_is_fetched_again(memory):
    path = to_path("memory://a")
    memory.pipe("/a", b"one")
    before = stamp(path)
    assert stamp(path) == before
    with open_file(path) as file:
        assert file.read() == b"one"
    memory.pipe("/a", b"other")
    assert stamp(path) != before
    with open_file(path) as file:
        assert file.read() == b"other"


def test_what_is_remembered_is_bounded(memory, monkeypatch):
    monkeypatch.setattr(remote, "LARGEST_REMEMBERED", 10)
    monkeypatch.setattr(remote, "MOST_REMEMBERED", 20)
    recent = remote._Recent()
    monkeypatch.setattr(remote, "_recent", recent)
    for number in range(5):
        memory.pipe(f"/{number}", bytes(8))
    memory.pipe("/large", bytes(100))
    for name in ("0", "1", "2", "3", "4", "large", "0"):
        with open_file(to_path(f"memory://{name}")) as file:
            assert not any(file.read())
    assert len(recent._files) == 2


@pytest.mark.parametrize("name", ["takes.jsonl", "takes.csv", "takes.jsonl.gz", "takes.parquet"])
def test_a_manifest_of_any_format_names_recordings_beside_it(memory, name, tmp_path):
    import pyarrow
    from pyarrow.parquet import write_table

    local = tmp_path / name
    if name.endswith("parquet"):
        write_table(pyarrow.table({"audio": ["a.wav"], "text": ["piano"]}), local)
    else:
        text = "audio,text\na.wav,piano\n" if name.endswith("csv") else '{"audio": "a.wav", "text": "piano"}\n'
        local.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    memory.pipe(f"/set/{name}", local.read_bytes())
    ((_, take),) = read_takes(to_path(f"memory://set/{name}"))
    assert (str(take.audio), take.prompt.text) == ("memory://set/a.wav", "piano")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memory://set/nowhere.jsonl", "memory://set/nowhere.jsonl: No such file or directory"),
        ("memory://set", "a folder, expected a file"),
        ("file:///dev/zero", "file:///dev/zero: not a regular file"),
        ("file:///proc/1/mem/x.jsonl", "file:///proc/1/mem/x.jsonl: "),
    ],
)
def test_what_is_not_there_is_one_sentence(memory, name, said):
    memory.pipe("/set/a.jsonl", b"")
    with pytest.raises(InputError, match=said), open_file(to_path(name)):
        pass


def test_errors_of_a_store_do_not_quote_it(memory, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("the key AKIASECRET is wrong")

    monkeypatch.setattr(type(memory), "info", refuse)
    with pytest.raises(InputError) as refused:
        open_file(to_path("memory://a"))
    assert "RuntimeError" in str(refused.value) and "SECRET" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_row_with_a_wrong_address_is_named(tmp_path):
    (tmp_path / "takes.csv").write_text("audio\ns3://bucket/a.wav\nhttps://host/b.wav\n")
    with pytest.raises(InputError, match=r"takes.csv line 3: 'audio': https:// addresses are not read"):
        list(read_takes(tmp_path / "takes.csv"))


def test_without_the_packages_one_sentence_says_what_to_install():
    code = """
import sys
for name in sys.argv[1:]:
    sys.modules[name] = None
from cmi._util.remote import open_file, to_path
for name in ("s3://bucket/a", "gs://bucket/a"):
    try:
        open_file(to_path(name))
    except Exception as error:
        print(type(error).__name__, error)
"""

    def said(*missing):
        return subprocess.run([sys.executable, "-c", code, *missing], capture_output=True, text=True, check=True).stdout

    sentence = "MissingExtra reading s3:// addresses needs the remote extra: pip install 'cmi[remote]'"
    assert said("fsspec").splitlines()[0] == sentence
    without = said("s3fs", "gcsfs").splitlines()
    assert without[0] == sentence
    assert "gcsfs" in without[1]


def test_reading_a_table_imports_no_fsspec(tmp_path):
    (tmp_path / "a.csv").write_text("audio\na.wav\n")
    assert [row for _, row in read_table(tmp_path / "a.csv")] == [{"audio": "a.wav"}]
    code = "import sys, cmi.audio, cmi.take; print('fsspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
