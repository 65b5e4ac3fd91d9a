"""A folder belongs to the command that began it, with its settings."""

import pytest

from cmi._util.errors import InputError
from cmi._util.files import SETTINGS, claim, write_whole


def test_the_same_settings_resume_and_others_are_refused(tmp_path):
    folder = tmp_path / "new" / "set"
    claim(folder, {"seed": 1}, "cmi studio make")
    (folder / "made.jsonl").write_text("")
    claim(folder, {"seed": 1}, "cmi studio make")
    with pytest.raises(InputError, match="created with other settings"):
        claim(folder, {"seed": 2}, "cmi studio make")


def test_a_folder_with_files_of_others_is_left_alone(tmp_path):
    (tmp_path / "song.flac").write_text("mine")
    with pytest.raises(InputError, match="not empty, and not created by `cmi studio make`"):
        claim(tmp_path, {}, "cmi studio make")
    assert [path.name for path in tmp_path.iterdir()] == ["song.flac"]


def test_a_run_that_was_killed_before_its_settings_were_written_resumes(tmp_path):
    (tmp_path / f"{SETTINGS}.0a1b2c3d.unfinished").write_text('{"se')
    claim(tmp_path, {"seed": 1}, "cmi studio make")
    assert (tmp_path / SETTINGS).read_text() == '{"seed": 1}\n'


@pytest.mark.parametrize("content", ["{", "\xff"])
def test_settings_that_cannot_be_read_are_one_sentence(tmp_path, content):
    (tmp_path / SETTINGS).write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=tmp_path.name):
        claim(tmp_path, {}, "cmi studio make")


def test_a_file_is_replaced_whole(tmp_path):
    write_whole(tmp_path / "a.txt", "one ♪")
    write_whole(tmp_path / "a.txt", "two ♪")
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [("a.txt", "two ♪")]
