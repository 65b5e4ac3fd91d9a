import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.studio.corpus import corpus_names, read_score
from cmi.studio.piece import MusicalKey
from cmi.studio.render import render

SCALES = {"major": {0, 2, 4, 5, 7, 9, 11}, "minor": {0, 2, 3, 5, 7, 8, 10, 11}}
NAMES = corpus_names()
SOME = [*NAMES[::60], "bach/bwv66.6"]


@pytest.fixture(scope="module")
def pieces():
    return {name: read_score(name) for name in SOME}


def music_xml(name: str) -> ElementTree.Element:
    """The score as the zip file has it, read without music21's parser."""
    import music21

    path = Path(music21.__file__).parent / "corpus" / f"{name}.mxl"
    with zipfile.ZipFile(path) as archive:
        inside = next(n for n in archive.namelist() if n.endswith(".xml") and not n.startswith("META-INF"))
        return ElementTree.fromstring(archive.read(inside))


def test_there_are_hundreds_each_once_and_on_disk():
    import music21

    folder = Path(music21.__file__).parent / "corpus"
    assert len(NAMES) >= 200
    assert len(set(NAMES)) == len(NAMES)
    assert all((folder / f"{name}{'.mxl' if name.startswith('bach') else '.abc'}").is_file() for name in NAMES)


def test_listing_does_not_import_music21():
    script = "import sys; from cmi.studio.corpus import corpus_names; corpus_names(); print('music21' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_chorale_known_by_heart(pieces):
    chorale = pieces["bach/bwv66.6"]
    assert chorale.key == MusicalKey(6, "minor")
    assert chorale.metre == 4
    assert [part.role for part in chorale.parts] == ["melody", "harmony", "harmony", "bass"]
    assert [note.pitch for note in chorale.parts[0].notes[:4]] == [73, 71, 69, 71]  # C#5 B4 | A4 B4
    assert [note.start for note in chorale.parts[0].notes[:4]] == [3.0, 3.5, 4.0, 5.0]  # a pickup of a beat


@pytest.mark.parametrize("name", [name for name in SOME if name.startswith("bach")])
def test_no_note_is_lost_or_made_up(pieces, name):
    root = music_xml(name)
    for part, written in zip(pieces[name].parts, root.findall("part"), strict=True):
        begun = [
            note
            for note in written.iter("note")
            if note.find("pitch") is not None
            and note.find("grace") is None
            and not any(tie.get("type") == "stop" for tie in note.findall("tie"))
        ]
        steps = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
        pitches = sorted(
            12 * (int(n.findtext("pitch/octave")) + 1)
            + steps[n.findtext("pitch/step")]
            + int(n.findtext("pitch/alter") or 0)
            for n in begun
        )
        assert sorted(note.pitch for note in part.notes) == pitches


def test_pieces_are_sane(pieces):
    for name, piece in pieces.items():
        beats = len(piece.beats) - 1
        assert beats % piece.metre == 0, name
        assert beats / piece.metre >= 8, name
        assert np.all(np.diff(piece.beats) > 0), name
        notes = [note for part in piece.parts for note in part.notes]
        assert all(note.start >= 0 and note.start + note.length <= beats + 1e-6 and note.length > 0 for note in notes)
        assert all(24 < note.pitch < 100 for note in notes), name
        assert all(part.notes == tuple(sorted(part.notes)) for part in piece.parts), name


def test_notes_belong_to_the_key(pieces):
    for name, piece in pieces.items():
        pitches = [(note.pitch - piece.key.tonic) % 12 for part in piece.parts for note in part.notes]
        assert np.mean([pitch in SCALES[piece.key.mode] for pitch in pitches]) > 0.85, name
        assert (piece.parts[-1].notes[-1].pitch - piece.key.tonic) % 12 == 0, name


@pytest.mark.parametrize("name", [name for name in SOME if name.startswith("bach")])
def test_bars_begin_where_the_score_has_them(pieces, name):
    """By the lengths of the top part's bars in the file: each whole bar begins on a downbeat, with the note it has."""
    piece, part = pieces[name], music_xml(name).find("part")
    divisions = int(part.findtext(".//divisions")) * 4 / int(part.findtext(".//beat-type"))
    bars = [[n for n in bar.findall("note") if n.find("chord") is None] for bar in part.findall("measure")]
    lengths = [sum(int(n.findtext("duration") or 0) for n in notes) / divisions for notes in bars]
    starts = piece.metre - min(lengths[0], piece.metre) + np.cumsum([0, *lengths[:-1]])
    whole = [
        (start, notes[0]) for start, length, notes in zip(starts, lengths, bars, strict=True) if length == piece.metre
    ]
    assert len(whole) >= 6
    begun = {note.start for note in piece.parts[0].notes}
    for start, first in whole:
        tied = any(tie.get("type") == "stop" for tie in first.findall("tie"))
        assert start % piece.metre == 0
        assert start in begun or tied or first.find("rest") is not None


def test_a_score_can_be_heard(pieces):
    sound = render(pieces["bach/bwv66.6"])
    assert np.isfinite(sound).all()
    assert np.abs(sound).max() > 0.1


def test_the_same_each_time(pieces):
    assert read_score(SOME[0]) == pieces[SOME[0]]


@pytest.mark.parametrize("name", ["bach/bwv0", "", "palestrina/Agnus_0", "../../secret", "bach/../bach/bwv66.6"])
def test_an_unknown_score_is_one_sentence(name):
    with pytest.raises(InputError, match="corpus_names"):
        read_score(name)
