"""Sounds: measured once, known by their bytes, and only what browsers play."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.arena.audio.measure import PEAKS, measure
from cmi.arena.audio.sounds import find, register
from cmi.arena.store import projects
from cmi.arena.store.errors import NotFound


def test_a_file_is_measured_as_it_is(tmp_path: Path, tone):
    path = tone(tmp_path / "a.wav", seconds=2.0, level=0.5, channels=2)
    found = measure(path)
    assert (found.seconds, found.rate, found.channels, found.media_type) == (2.0, 8_000, 2, "audio/wav")
    assert len(found.peaks) == PEAKS and found.peaks[10] == pytest.approx(0.5, abs=0.02)
    assert found.lufs == pytest.approx(-6, abs=1) and found.gain_db == pytest.approx(-23 - found.lufs, abs=0.01)


def test_the_gain_keeps_a_peak_below_full_scale(tmp_path: Path):
    click = np.full(16_000, 1e-4, np.float32) * np.sign(np.sin(np.arange(16_000)))
    click[8_000] = 0.9
    soundfile.write(tmp_path / "a.flac", click, 8_000)
    found = measure(tmp_path / "a.flac")
    assert found.gain_db == pytest.approx(-1 - 20 * np.log10(0.9), abs=0.02) and max(found.peaks) > 0.89


def test_silence_is_a_take_too_and_gets_no_gain(tmp_path: Path):
    soundfile.write(tmp_path / "a.wav", np.zeros(8_000, np.float32), 8_000)
    found = measure(tmp_path / "a.wav")
    assert (found.lufs, found.gain_db, max(found.peaks)) == (None, 0.0, 0.0)


@pytest.mark.parametrize(("suffix", "kind"), [("flac", "audio/flac"), ("mp3", "audio/mpeg"), ("ogg", "audio/ogg")])
def test_the_bytes_tell_the_type_not_the_name(tmp_path: Path, tone, suffix: str, kind: str):
    path = tone(tmp_path / f"a.{suffix}")
    path.rename(tmp_path / "a.txt")
    assert measure(tmp_path / "a.txt").media_type == kind


def test_a_very_short_file_has_as_many_peaks(tmp_path: Path):
    soundfile.write(tmp_path / "a.wav", np.full(210, 0.5, np.float32), 4_000)
    assert len(measure(tmp_path / "a.wav").peaks) == PEAKS


def test_what_can_not_be_played_to_its_end_is_refused_with_its_name(tmp_path: Path, tone):
    cases = {"empty.wav": b"", "text.wav": b"hello" * 50}
    whole = tone(tmp_path / "whole.flac", seconds=20, frequency=300).read_bytes()
    cases["cut.flac"] = whole[: len(whole) // 2]
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    tone(tmp_path / "apple.aiff")
    soundfile.write(tmp_path / "nan.wav", np.array([0.1, np.nan] * 500, np.float32), 8_000, subtype="FLOAT")
    tone(tmp_path / "short.wav", seconds=0.01)
    for name in (*cases, "apple.aiff", "nan.wav", "short.wav", "nowhere.wav"):
        with pytest.raises(InputError, match=name.replace(".", r"\.")):
            measure(tmp_path / name)


def test_the_same_bytes_are_one_sound_and_no_other_projects(database, tmp_path: Path, tone):
    path = tone(tmp_path / "a.wav")
    (tmp_path / "copy.wav").write_bytes(path.read_bytes())
    one, two = projects.create(database, "One"), projects.create(database, "Two")
    with database.writing() as connection:
        first = register(connection, one.id, path)
        assert register(connection, one.id, tmp_path / "copy.wav") == first
        other = register(connection, two.id, path)
    assert find(database, one.id, first).path == str(path)
    for strange in (other, "nothing", "../etc/passwd", "\x00", ""):
        with pytest.raises(NotFound):
            find(database, one.id, strange)
