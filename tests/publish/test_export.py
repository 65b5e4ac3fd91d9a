"""Exports: any set becomes rows and recordings that every command reads; a stopped export goes on."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cmi._util.errors import InputError
from cmi.preferences import read_preferences, read_ratings
from cmi.publish.export import export_record, export_set, export_table
from cmi.rewardbench.data import find

from ..rewardbench.data import conftest


@pytest.fixture
def make():
    """Makers of data sets in the published layouts."""
    return conftest


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def put(folder, make, *names):
    for seed, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make.sound(seed))


@pytest.fixture
def pref(tmp_path, make):
    """CMI-Pref with 60 pairs, one of which lacks a recording."""
    folder = tmp_path / "published"
    put(folder, make, *(f"gen-audio/{i}.mp3" for i in range(60)), "gen-audio/b.mp3", "ref-audio/r.mp3")
    votes = [make.vote(prompt=f"p{i}", **{"audio-path": f"cmi-pref/gen-audio/{i}.mp3"}) for i in range(61)]
    votes[0] |= {"ref-audio-path": "cmi-pref/ref-audio/r.mp3", "lyrics": "la"}
    make.lines(folder / "cmi_train.jsonl", *votes[:50], votes[60])
    make.lines(folder / "cmi_test.jsonl", *votes[50:60])
    return find(f"cmi-pref={folder}")


def test_an_export_says_what_the_data_set_says(pref, tmp_path):
    out = tmp_path / "out"
    done = export_set(pref, out)
    rows = rows_of(out / "preferences.jsonl")
    assert len(rows) == 2 * 60
    first = next(row for row in rows if row["text"] == "p0")
    assert (first["a"], first["reference"]) == ("audio/gen-audio/0.mp3", "audio/ref-audio/r.mp3")
    assert (first["source"], first["generator_b"], first["rater"], first["confidence"]) == ("cmi-pref", "yue", "604", 3)
    assert {row["split"] for row in rows} == {"train", "valid", "test"}
    assert done.left_out == {"a recording is missing": 2}
    assert done.recordings == 62
    assert (out / "audio/gen-audio/0.mp3").is_symlink()
    assert (out / "audio/gen-audio/0.mp3").read_bytes() == (pref.folder / "gen-audio/0.mp3").read_bytes()
    for split in ("train", "valid", "test"):
        read = list(read_preferences(out / "preferences.jsonl", split))
        assert len(read) == sum(number for (_, own, _), number in done.rows.items() if own == split)
    assert sum(row["rows"] for row in export_record(pref, out, done)["rows"]) == 120
    shown = export_table(pref, out, done)
    assert [row[:2] for row in shown.rows] == [["preferences", split] for split in ("train", "valid", "test")]
    assert shown.headers == ["kind", "split", "text", "text+lyrics+audio", "rows"]


def test_copies_stand_alone_and_replace_links(pref, tmp_path):
    out, original = tmp_path / "out", pref.folder / "gen-audio/0.mp3"
    content = original.read_bytes()
    export_set(pref, out)
    export_set(pref, out, copies=True)
    copy = out / "audio/gen-audio/0.mp3"
    assert not copy.is_symlink()
    assert original.read_bytes() == content
    original.unlink()
    assert copy.read_bytes() == content


def test_the_same_command_completes_what_was_missing(pref, tmp_path, make):
    export_set(pref, tmp_path / "out")
    put(pref.folder, make, "gen-audio/60.mp3")
    done = export_set(pref, tmp_path / "out")
    assert done.left_out == {}
    assert len(rows_of(tmp_path / "out" / "preferences.jsonl")) == 122


def test_another_set_does_not_go_into_the_same_folder(pref, tmp_path, make):
    export_set(pref, tmp_path / "out")
    other = find(f"pam={make.pam(tmp_path / 'pam', 'musicldm,1,a tango,4,5')}")
    with pytest.raises(InputError, match="created with other settings"):
        export_set(other, tmp_path / "out")


def test_rated_sets_become_ratings(tmp_path, make):
    pam = find(f"pam={make.pam(tmp_path / 'pam', 'musicldm,1,a tango,4,5', 'real,1,a tango,2,nan')}")
    export_set(pam, tmp_path / "out")
    one, two = read_ratings(tmp_path / "out" / "ratings.jsonl", "test")
    assert (one.ratings, one.prompt.text) == ({"musicality": 4, "alignment": 5}, "a tango")
    assert (two.ratings, two.about["generator"]) == ({"musicality": 2}, "real")
    assert not (tmp_path / "out" / "preferences.jsonl").exists()
    scores = {"overall quality": [3.0, 4.0], "textual alignment": [1.0, 1.0]}
    musiceval = find(f"musiceval={make.musiceval(tmp_path / 'me', 'validation', audio=make.clips(1, 2), **scores)}")
    assert export_set(musiceval, tmp_path / "me-out").rows == {("ratings", "valid", "text"): 2}


def test_battles_become_preferences_and_keep_their_later_split(tmp_path, make):
    for name, date in (("one", "2025-08-13"), ("two", "2026-02-01")):
        make.battle(tmp_path / "ma", name, date=f"{date}T10:00:00-04:00")
        put(tmp_path / "ma", make, *(f"audio_files/01-2025JULAUG/{name}-{side}.mp3" for side in "ab"))
    done = export_set(find(f"music-arena={tmp_path / 'ma'}"), tmp_path / "out")
    assert set(done.rows) == {("preferences", "test", "text"), ("preferences", "later", "text")}
    assert {row["axis"] for row in rows_of(tmp_path / "out" / "preferences.jsonl")} == {"overall"}


def test_a_folder_of_labels_keeps_its_columns_and_collects_its_recordings(tmp_path, make):
    """As a judge or an arena leaves it: no split, and recordings in other folders."""
    put(tmp_path, make, "labels/audio/x.wav", "labels/x.wav", "takes/x.wav")
    row = {"text": "tone", "a": "audio/x.wav", "b": "x.wav", "axis": "musicality", "choice": "a", "rater": "judge"}
    rows = [{**row, "soft": 0.7, "feedback": "good"}, {**row, "axis": "alignment", "b": "../takes/x.wav"}]
    make.lines(tmp_path / "labels" / "preferences.jsonl", *rows)
    export_set(find(str(tmp_path / "labels")), tmp_path / "out", copies=True)
    one, two = rows_of(tmp_path / "out" / "preferences.jsonl")
    assert (one["soft"], one["feedback"], one["split"]) == (0.7, "good", two["split"])
    sounds = [tmp_path / "out" / path for path in (one["a"], one["b"], two["b"])]
    assert [sound.read_bytes() for sound in sounds] == [make.sound(seed) for seed in range(3)]
    assert len({*sounds}) == 3


@pytest.mark.slow
def test_a_killed_export_goes_on(tmp_path, make):
    folder, out = tmp_path / "published", tmp_path / "out"
    put(folder, make, *(f"gen-audio/{i}.mp3" for i in range(400)), "gen-audio/b.mp3")
    votes = [make.vote(prompt=f"p{i}", **{"audio-path": f"gen-audio/{i}.mp3"}) for i in range(400)]
    make.lines(folder / "cmi_train.jsonl", *votes)
    command = [sys.executable, "-m", "cmi", "data", "export", f"cmi-pref={folder}", str(out), "--copy"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})
    while process.poll() is None and len(list(out.glob("audio/gen-audio/*.mp3"))) < 20:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / "preferences.jsonl").exists()
    begun = {path: path.stat().st_mtime_ns for path in out.glob("audio/gen-audio/*.mp3")}
    assert 0 < len(begun) < 401
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    (record,) = json.loads(again.stdout)["datasets"]
    assert (record["recordings"], record["left_out"]) == (401, {})
    assert {path: path.stat().st_mtime_ns for path in begun} == begun  # nothing is copied twice
    assert not list(out.glob("*.unfinished"))
    assert len(rows_of(out / "preferences.jsonl")) == 800
