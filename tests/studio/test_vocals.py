import hashlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyworld", reason="sung lyrics need the vocals extra")

from cmi._util.errors import InputError, MissingExtra
from cmi.studio import vocals
from cmi.studio.piece import Attributes, MusicalKey, Note, Piece, even_beats
from cmi.studio.vocals import sing, sung, syllables, words

RATE = 22_050
LYRICS = "Golden river in the morning light"
CLOCK = Piece(
    "song", (), even_beats(8, 80.0), 4, MusicalKey(0, "major"), Attributes("pop", "calm", 80.0, "sparse")
).clock
MELODY = [Note(i, 0.9, pitch, 90) for i, pitch in enumerate((60, 64, 67, 65, 62, 55, 57, 59))]


def median_cents_off(sound: np.ndarray, note: Note) -> float:
    """By autocorrelation in the first half of the note, where its vowel is; in frames of 60 ms."""
    wanted = 440 * 2 ** ((note.pitch - 69) / 12)
    start, middle = (int(CLOCK(beat) * RATE) for beat in (note.start + 0.1, note.start + 0.5))
    size, found = int(0.06 * RATE), []
    for begin in range(start, middle - size, size // 2):
        frame = sound[begin : begin + size] * np.hanning(size)
        similarity = np.fft.irfft(np.abs(np.fft.rfft(frame, 2 * size)) ** 2)[:size]
        weight = np.hanning(size)
        similarity /= np.fft.irfft(np.abs(np.fft.rfft(weight, 2 * size)) ** 2)[:size] + 1e-9
        lags = np.arange(int(RATE / wanted / 1.5), int(RATE / wanted * 1.5))
        best = lags[np.argmax(similarity[lags])]
        left, top, right = similarity[best - 1 : best + 2]
        found.append(1200 * np.log2(RATE / (best + (left - right) / (2 * (left - 2 * top + right))) / wanted))
    return float(np.median(found))


def test_the_tune_is_the_melodys():
    sound = sing(MELODY, CLOCK, LYRICS, RATE)
    assert max(abs(median_cents_off(sound, note)) for note in MELODY) < 25


def test_higher_notes_sing_higher():
    higher = [note._replace(pitch=note.pitch + 5) for note in MELODY]
    sound = sing(higher, CLOCK, LYRICS, RATE)
    assert max(abs(median_cents_off(sound, note)) for note in higher) < 25


def test_it_lasts_as_long_as_the_melody_and_rests_where_that_does():
    sound = sing([MELODY[0], Note(4, 0.9, 64, 90)], CLOCK, "golden", RATE)
    assert sound.dtype == np.float32
    assert sound.shape == (round(CLOCK(4.9) * RATE),)
    rest = sound[int(CLOCK(1.2) * RATE) : int(CLOCK(3.5) * RATE)]
    assert np.abs(rest).max() < 0.01 * np.abs(sound).max()


def test_other_words_sound_otherwise():
    one, other = (sing(MELODY, CLOCK, lyrics, RATE) for lyrics in (LYRICS, "Silver mountains under evening stars"))
    assert np.abs(one - other).max() > 0.1


def test_a_different_word_changes_only_its_own_note():
    one, other = (sing(MELODY[:3], CLOCK, lyrics, RATE) for lyrics in ("see me fall", "see me far"))
    same, changed = slice(0, int(CLOCK(1.5) * RATE)), slice(int(CLOCK(2.1) * RATE), None)
    level = np.abs(one).mean()
    assert np.abs(one[same] / np.abs(one[same]).max() - other[same] / np.abs(other[same]).max()).mean() < 0.02
    assert np.abs(one[changed] - other[changed]).mean() > 0.3 * level


def test_the_same_whatever_was_sung_before_and_in_another_process():
    def digest(sound):
        return hashlib.sha256(sound.tobytes()).hexdigest()

    first = digest(sing(MELODY, CLOCK, LYRICS, RATE))
    sing(MELODY, CLOCK, "Something else to sing before", RATE)
    vocals._spoken.cache_clear()
    assert digest(sing(MELODY, CLOCK, LYRICS, RATE)) == first
    script = (
        "import importlib.util, hashlib\n"
        f"spec = importlib.util.spec_from_file_location('tests', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "module.syllables('other words first')\n"
        "sound = module.sing(module.MELODY, module.CLOCK, module.LYRICS, module.RATE)\n"
        "print(hashlib.sha256(sound.tobytes()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == first


def test_syllables_are_counted_as_they_are_spoken():
    assert [syllables(word) for word in ("light", "river", "beautiful", "little", "don't")] == [1, 2, 3, 2, 1]
    assert syllables(LYRICS) == 9


def test_words_that_find_no_note_are_not_sung():
    assert sung(9, LYRICS) == words(LYRICS)
    assert sung(5, LYRICS) == ["Golden", "river", "in"]
    assert sung(1, LYRICS) == []


def test_punctuation_and_section_marks_are_not_sung():
    assert words("[Verse 1]\nDon't stop, my heart!\n[Chorus: all]\n- La, la") == [
        "Don't",
        "stop",
        "my",
        "heart",
        "La",
        "la",
    ]


@pytest.mark.parametrize(("melody", "lyrics"), [([], LYRICS), (MELODY, "[Chorus] ..."), (MELODY[:1], "Golden")])
def test_nothing_to_sing_is_one_sentence(melody, lyrics):
    with pytest.raises(InputError):
        sing(melody, CLOCK, lyrics, RATE)


def test_without_the_library_the_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    vocals._espeak.cache_clear()
    with pytest.raises(MissingExtra, match=r"sung lyrics needs the vocals extra: pip install 'cmi\[vocals\]'"):
        vocals._espeak()
