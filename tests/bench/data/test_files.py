"""Finding recordings: by name, through links, in any format, and without getting lost."""

import pytest

from cmi._util.errors import InputError
from cmi.bench.data._reading import Sounds, find_file, read_table


def test_a_recording_is_found_by_its_name_wherever_it_is(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "blues.00001.AU").touch()
    (tmp_path / ".hidden.wav").touch()
    sounds = Sounds(tmp_path)
    assert sounds.find("blues.00001") == "deep/er/blues.00001.AU"
    assert sounds.find("absent", "blues.00001") == "deep/er/blues.00001.AU"
    assert sounds.find("absent", "as absent") == "absent"
    assert sounds.paths == ["deep/er/blues.00001.AU"]


def test_links_are_followed_and_loops_end(tmp_path):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    elsewhere.mkdir()
    (elsewhere / "a.wav").touch()
    (data / "audio").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(data)
    assert Sounds(data).paths == ["audio/a.wav"]


@pytest.mark.parametrize("path", ["../x.wav", "/etc/hostname", "a/../../x.wav"])
def test_a_path_that_leads_out_is_not_there(path, tmp_path):
    (tmp_path / "x.wav").touch()
    (tmp_path / "in" / "a").mkdir(parents=True)
    assert not Sounds(tmp_path / "in").has(path)


def test_two_files_where_one_is_meant_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").touch()
    with pytest.raises(InputError, match=r"both .*a/t\.csv and .*b/t\.csv"):
        find_file(tmp_path, "t.csv")


def test_a_table_names_the_line_of_a_row_that_is_too_long(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"two\nlines",1\n1,2,3\n')
    with pytest.raises(InputError, match=r"t\.csv line 4: 3 cells, expected 2"):
        list(read_table(path, ["a"]))


def test_between_tabs_the_last_column_may_go_on(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\n1\tx\ty\n\n2\tz\n")
    assert [row for _, row in read_table(path, ["a", "b"], "\t")] == [{"a": "1", "b": "x\ty"}, {"a": "2", "b": "z"}]
