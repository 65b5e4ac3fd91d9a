"""Data sets in mirdata's layouts become questions, through mirdata's own readers."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS, find_corpus
from cmi.bench.make import MakeOptions, make
from cmi.bench.scoring.responses import read_instructions

core = pytest.importorskip("mirdata.core")


@pytest.fixture
def lay_out(tmp_path, monkeypatch):
    """Write files in mirdata's layout, with the index that mirdata would download; the data set's folder."""
    monkeypatch.setattr(core.Index, "get_path", lambda self: str(tmp_path / "index.json"))

    def write(name: str, track: str, files: dict[str, tuple[str, str]], seconds: float = 65) -> Path:
        folder = tmp_path / name
        for path, text in files.values():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.endswith(".wav"):
                soundfile.write(target, np.zeros(int(seconds * 8000), np.float32), 8000)
            else:
                target.write_text(text, encoding="utf-8")
        paths = {kind: [path, "0"] for kind, (path, _) in files.items()}
        (tmp_path / "index.json").write_text(json.dumps({"version": "1", "tracks": {track: paths}}))
        return folder

    return write


def read(folder: Path) -> dict[str, list[tuple[str, str, float, float | None]]]:
    """Make the questions of a folder; what each data set asks, by id."""
    out = folder.parent / "out"
    made = make(find_corpus("mirdata"), folder, None, out, MakeOptions())
    found = {}
    for one in made:
        asked = read_instructions(one.path, DATASETS[one.dataset])
        found[one.dataset] = [(id_, i.output, i.audio_start, i.audio_end) for id_, i in asked]
        assert all((out / i.audio_path).is_file() for _, i in read_instructions(one.path, DATASETS[one.dataset]))
    return found


BEATLES = {
    "audio": ("audio/01.wav", ""),
    "beat": ("annotations/beat/01.txt", "0.50 4\n1.00 1\n1.50 2\n2.00 3\n2.50 4\n3.00 1\n31.00 1\n"),
    "chords": ("annotations/chordlab/01.lab", "0.0 1.0 N\n1.0 65.0 D:min\n"),
    "keys": (
        "annotations/keylab/01.lab",
        "0.0\t1.0\tSilence\n1.0\t45.0\tKey\tD:minor\n45.0\t50.0\tKey\tA\n50.0\t65.0\tKey\tG#\n",
    ),
    "sections": ("annotations/seglab/01.lab", "0.0\t65.0\t0\tverse\n"),
}


def test_beats_and_keys_of_a_song(lay_out):
    """Beats of the first 30 s; each key that lasts, in at most 30 s of it, spelled with flats."""
    assert read(lay_out("beatles", "0101", BEATLES)) == {
        "mirdata_beat": [("0101", "0.5s,1.0s,1.5s,2.0s,2.5s,3.0s", 0.0, 30.0)],
        "mirdata_downbeat": [("0101", "1.0s,3.0s", 0.0, 30.0)],
        "mirdata_key": [("0101-0", "D minor", 1.0, 31.0), ("0101-1", "Ab major", 50.0, 65.0)],
    }


def test_a_key_of_the_whole_track_is_asked_in_whole_clips(lay_out):
    files = {"audio": ("audio/7.wav", ""), "key": ("keys_gs+/7.txt", "D minor\n"), "meta": ("meta/7.json", "{}")}
    found = read(lay_out("giantsteps_key", "7", files))
    assert found == {"mirdata_key": [("7-0", "D minor", 0.0, 30.0), ("7-1", "D minor", 30.0, 60.0)]}


def test_a_melody_is_asked_in_clips_with_silence_as_zero(lay_out):
    lines = [f"{i / 2},{440.0 if i % 2 else 0.0}" for i in range(25)]
    names = ("audio", "melody1", "melody2", "melody3")
    files = {kind: (f"{kind}/x.{'wav' if kind == 'audio' else 'csv'}", "\n".join(lines)) for kind in names}
    found = read(lay_out("medleydb_melody", "x", files))["mirdata_melody"]
    assert [(id_, start, end) for id_, _, start, end in found] == [("x-0", 0.0, 10.0), ("x-10", 10.0, 20.0)]
    assert found[1][1].startswith("[('10.0000', 0), ('10.5000', 69), ")


def test_a_track_without_its_files_makes_no_question(lay_out):
    folder = lay_out("beatles", "0101", BEATLES)
    (folder / BEATLES["beat"][0]).unlink()
    assert set(read(folder)) == {"mirdata_key"}


def test_what_mirdata_cannot_read_is_one_sentence_with_the_track(lay_out):
    folder = lay_out("beatles", "0101", BEATLES | {"beat": ("annotations/beat/01.txt", "soon 1\nlater 2\n")})
    with pytest.raises(InputError, match="track '0101': could not convert"):
        read(folder)


def test_without_an_index_the_sentence_says_how_to_get_it(lay_out):
    folder = lay_out("beatles", "0101", BEATLES)
    (folder.parent / "index.json").unlink()
    with pytest.raises(InputError, match=r"download\(\['index'\]\)"):
        read(folder)


def test_a_folder_that_mirdata_does_not_know(tmp_path):
    (tmp_path / "songs").mkdir()
    with pytest.raises(InputError, match="no data set 'songs'"):
        read(tmp_path / "songs")
