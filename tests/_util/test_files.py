"""A file is whole or absent, and the file that is blamed is the one that failed."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi._util.files import copy_whole, move_into_place, whole_file, write_whole


def test_the_bytes_are_on_disk_before_the_name_is(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), fsync(handle)))
    monkeypatch.setattr(os, "rename", None)
    monkeypatch.setattr(os, "replace", lambda *names: (order.append("rename"), replace(*names)))
    write_whole(tmp_path / "a.txt", "♪")
    assert order == ["sync", "rename", "sync"]
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "♪"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    with pytest.raises(RuntimeError), whole_file(path) as unfinished:
        unfinished.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_names_the_file_that_was_being_written(tmp_path, monkeypatch):
    source = tmp_path / "source.wav"
    source.write_bytes(b"sound")

    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))  # shutil names the source

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(InputError, match=r"target\.wav: the disk is full"):
        copy_whole(source, tmp_path / "target.wav")


def test_a_missing_source_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(InputError, match=r"gone\.wav: No such file"):
        copy_whole(tmp_path / "gone.wav", tmp_path / "target.wav")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"a\.txt: No such file"):
        write_whole(tmp_path / "no" / "a.txt", "x")


def test_a_device_is_written_to_and_a_link_followed(tmp_path):
    write_whole(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(InputError, match="/dev/full: the disk is full"):
        write_whole(Path("/dev/full"), "x")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "x"


def test_half_characters_are_written_as_escapes_that_json_reads_back(tmp_path):
    write_whole(tmp_path / "a.json", json.dumps(["bad\udcff.wav", "♪"], ensure_ascii=False))
    assert json.loads((tmp_path / "a.json").read_bytes()) == ["bad\udcff.wav", "♪"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    path = tmp_path / ("琴" * 85)  # 255 bytes
    write_whole(path, "x")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_folder_with_a_link_to_nowhere_is_moved(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    (made / "font.ttf").symlink_to("/nowhere/font.ttf")
    move_into_place(made, tmp_path / "kept")
    assert (tmp_path / "kept" / "font.ttf").is_symlink()
