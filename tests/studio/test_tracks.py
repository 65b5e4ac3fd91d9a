import json
import shutil
import subprocess

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.studio import tracks
from cmi.studio.tracks import LICENCES, PACKAGES, fetch_debian, find_tracks, read_licences

RATE = 8_000
SMALL = "fb-music-high"  # 1.5 MB


def write(path, seconds, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.random.default_rng(seed).normal(0, 0.1, int(seconds * RATE)), RATE)
    return path


def test_tracks_are_found_and_named_by_content(tmp_path):
    long = write(tmp_path / "album" / "long.flac", 21, 1)
    exact = write(tmp_path / "exact.WAV", 20, 2)
    (tmp_path / "notes.txt").write_text("not audio")
    found = find_tracks(tmp_path)
    assert {track.path for track in found} == {long, exact}
    assert all(track.name == content_hash(track.path) for track in found)
    assert sorted(track.seconds for track in found) == [20.0, 21.0]


def test_order_depends_on_content_not_on_names(tmp_path):
    for i in range(4):
        write(tmp_path / "one" / f"{i}.wav", 20, i)
        write(tmp_path / "two" / f"{9 - i}.wav", 20, i)
    one, two = find_tracks(tmp_path / "one"), find_tracks(tmp_path / "two")
    assert [track.name for track in one] == [track.name for track in two] == sorted(track.name for track in one)


def test_jingles_copies_and_broken_files_are_left_out(tmp_path):
    write(tmp_path / "a.wav", 20)
    shutil.copy(tmp_path / "a.wav", tmp_path / "b.wav")
    write(tmp_path / "jingle.wav", 19.9)
    (tmp_path / "broken.ogg").write_bytes(b"OggS and then noise" * 100)
    (tmp_path / "empty.mp3").touch()
    assert [track.path.name for track in find_tracks(tmp_path)] == ["a.wav"]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="nowhere: not a folder"):
        find_tracks(tmp_path / "nowhere")


def test_packages_have_hours_and_words():
    assert sum(hours for hours, _ in PACKAGES.values()) > 25
    assert all(name == name.lower() and words for name, (_, words) in PACKAGES.items())


@pytest.fixture
def apt(tmp_path):
    """Skips where no package can be downloaded."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip("no apt-get or dpkg-deb on this machine")
    try:
        shown = subprocess.run(["apt-get", "download", "--print-uris", SMALL], capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        pytest.skip("apt-get does not answer")
    if shown.returncode:
        pytest.skip(f"apt-get knows no package {SMALL} here")


def test_a_package_is_fetched_with_its_licence_and_only_once(apt, tmp_path, monkeypatch):
    folder = tmp_path / "music"
    try:
        (fetched,) = fetch_debian([SMALL], folder)
    except InputError as error:
        pytest.skip(f"no connection to Debian's archive: {error}")
    assert fetched.package == SMALL
    assert fetched.version
    assert (folder / fetched.copyright).read_text()
    assert list((folder / fetched.files).rglob("*.xm"))
    assert json.loads((folder / LICENCES).read_text()) == fetched._asdict()
    assert sorted(path.name for path in folder.iterdir()) == [SMALL, LICENCES]
    monkeypatch.setattr(tracks, "_run", None)  # a second download would fail
    assert fetch_debian([SMALL, SMALL], folder) == [fetched]


def test_a_package_that_is_not_there_is_one_sentence_and_leaves_nothing(apt, tmp_path):
    with pytest.raises(InputError, match="no-such-music-package cannot be downloaded"):
        fetch_debian(["no-such-music-package"], tmp_path)
    assert not list(tmp_path.glob("*music*"))
    assert not list(tmp_path.glob(".fetching*"))


def test_without_apt_get_the_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get is missing"):
        fetch_debian(["hyperrogue-music"], tmp_path)


@pytest.mark.parametrize("name", ["", "-o=Dir::Etc=x", "../up", "a/b", "a b", "Upper"])
def test_a_name_that_is_no_package_is_never_run(tmp_path, monkeypatch, name):
    monkeypatch.setattr(tracks, "_run", None)
    with pytest.raises(InputError, match="not a Debian package's name"):
        fetch_debian([name], tmp_path)


def test_a_record_cut_off_in_its_last_line_is_resumed(tmp_path):
    line = json.dumps(dict.fromkeys(tracks.Fetched._fields, "x"))
    (tmp_path / LICENCES).write_text(f'{line}\n{{"package": "half')
    assert [fetched.package for fetched in read_licences(tmp_path)] == ["x"]


def test_a_record_that_is_none_is_one_sentence(tmp_path):
    (tmp_path / LICENCES).write_text('["x"]\n')
    with pytest.raises(InputError, match=LICENCES):
        read_licences(tmp_path)
