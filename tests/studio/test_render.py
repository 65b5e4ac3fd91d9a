import hashlib
import subprocess
import sys

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.studio import render as rendering
from cmi.studio.piece import Attributes, InstrumentPart, MusicalKey, Note, Piece, even_beats
from cmi.studio.render import LOUDNESS, PEAK, levelled, render, soundfont
from cmi.studio.soundfont import open_font

RATE = 44_100
PIANO, ORGAN, GUITAR, BASS, VIOLIN, STRINGS, CLARINET, SQUARE = 0, 16, 25, 33, 40, 48, 71, 80
ATTRIBUTES = Attributes("pop", "calm", 120.0, "moderate")


def piece(*parts: InstrumentPart, beats=None) -> Piece:
    return Piece("test", parts, beats or even_beats(8, 120.0), 4, MusicalKey(0, "major"), ATTRIBUTES)


def part(notes, program=PIANO, role="melody", cents=0.0) -> InstrumentPart:
    return InstrumentPart(role, "instrument", program, tuple(notes), cents)


def single(pitch, program=SQUARE, velocity=100, cents=0.0, role="melody") -> Piece:
    return piece(part([Note(0, 4, pitch, velocity)], program, role, cents), beats=even_beats(4, 120.0))


def onsets(sound: np.ndarray, rate: int = RATE) -> np.ndarray:
    """When the energy in 2 ms jumps to ten times what it was in the 20 ms before, for isolated notes."""
    hop = rate // 1000
    energy = (sound[: len(sound) // hop * hop].astype(np.float64) ** 2).reshape(-1, hop, 2).sum((1, 2))
    threshold = energy.max() * 1e-3
    found = []
    for i in range(len(energy)):
        before = energy[max(0, i - 20) : i].max(initial=0)
        if energy[i] > threshold and energy[i] > 10 * before and (not found or i - found[-1] > 50):
            found.append(i)
    return np.array(found) * hop / rate


def cents_off(sound: np.ndarray, pitch: int, rate: int = RATE) -> float:
    """How far a held note is from a MIDI pitch, by autocorrelation over ever more periods."""
    signal = sound.sum(1)[rate // 3 : rate].astype(np.float64)
    spectrum = np.fft.rfft(signal - signal.mean(), 2 * signal.size)
    similarity = np.fft.irfft(np.abs(spectrum) ** 2)[: signal.size]
    wanted = 440 * 2 ** ((pitch - 69) / 12)
    period = rate / wanted
    for periods, reach in ((1, 0.06), (4, 0.2), (16, 0.3)):
        middle, width = period * periods, max(3, int(period * reach))
        lags = np.arange(int(middle) - width, int(middle) + width + 2)
        best = lags[np.argmax(similarity[lags])]
        left, top, right = similarity[best - 1 : best + 2]
        period = (best + (left - right) / (2 * (left - 2 * top + right))) / periods
    return float(1200 * np.log2(rate / period / wanted))


def example() -> Piece:
    drums = part([Note(i / 2, 0.25, (36, 42, 38, 42)[i % 4], 90) for i in range(16)], role="drums")
    chords = part([Note(2 * i, 2, p, 70) for i in range(4) for p in (60, 64, 67)], STRINGS, "harmony")
    return piece(part([Note(i, 1, 60 + i, 80 + i) for i in range(8)], PIANO), chords, drums)


@pytest.mark.parametrize("program", [PIANO, GUITAR, BASS, SQUARE])
def test_notes_are_heard_within_10_ms_of_the_note_list(program):
    starts = [0.0, 1.3, 2.77, 4.001, 5.5, 7.123]
    notes = [Note(start, 0.2, pitch, 90) for start, pitch in zip(starts, (45, 48, 55, 60, 64, 72), strict=True)]
    written = piece(part(notes, program), beats=even_beats(8, 97.0))
    heard = onsets(render(written))
    assert len(heard) == len(starts)
    assert np.abs(heard - written.clock(starts)).max() < 0.010


@pytest.mark.parametrize("drum", [35, 36, 38, 42, 46, 49, 51])
def test_drums_are_heard_within_4_ms(drum):
    starts = [0.0, 3.1, 6.2]
    written = piece(part([Note(start, 0.25, drum, 100) for start in starts], role="drums"), beats=even_beats(8, 60.0))
    heard = onsets(render(written))
    assert np.abs(heard[[0, -1]] - [0.0, 6.2]).max() < 0.004


def test_tempo_changes_are_followed():
    beats = (0.0, 0.5, 1.0, 1.8, 2.6, 3.0, 3.4, 4.7, 6.0)
    written = piece(part([Note(i, 0.2, 60, 90) for i in range(8)], SQUARE), beats=beats)
    assert np.abs(onsets(render(written)) - beats[:-1]).max() < 0.005


@pytest.mark.parametrize("rate", [16_000, 24_000, 48_000])
def test_other_rates_have_the_same_times_and_pitch(rate):
    notes = [Note(0, 4, 69, 90)]
    sound = render(piece(part(notes, SQUARE), beats=even_beats(4, 120.0)), rate)
    assert len(sound) == 3 * rate
    assert abs(cents_off(sound, 69, rate)) < 3
    later = render(piece(part([Note(3.2, 0.2, 69, 90)], SQUARE)), rate)
    assert np.abs(onsets(later, rate) - 1.6).max() < 0.005


@pytest.mark.parametrize("program", [PIANO, ORGAN, GUITAR, BASS, VIOLIN, CLARINET, SQUARE])
@pytest.mark.parametrize("pitch", [48, 55, 60, 64, 69, 76])
def test_notes_are_in_tune(program, pitch):
    assert abs(cents_off(render(single(pitch, program)), pitch)) < 5


@pytest.mark.parametrize("cents", [-50.0, -1.0, 7.0, 33.3])
@pytest.mark.parametrize("program", [ORGAN, SQUARE])
def test_a_part_is_out_of_tune_by_just_its_cents(program, cents):
    in_tune = cents_off(render(single(64, program)), 64)
    assert cents_off(render(single(64, program, cents=cents)), 64) - in_tune == pytest.approx(cents, abs=0.5)


def test_every_program_and_drum_sounds_at_every_key():
    """TimGM6mb has no recording for E4 on the alto saxophone, so that a neighbour's has to do."""
    font = open_font(soundfont())
    for program in range(128):
        assert all(font.voice(0, program, key, 80).regions for key in range(128))
    notes = [Note(i / 4, 0.25, 35 + i, 100) for i in range(47)]
    for note in notes:
        assert np.abs(render(single(note.pitch, role="drums"))).max() > 0.05
    assert np.abs(render(single(64, 65))).max() > 0.05


def test_drums_play_the_kit_not_the_program():
    kit = render(single(38, PIANO, role="drums"))
    assert np.array_equal(kit, render(single(38, STRINGS, role="drums")))
    assert not np.array_equal(kit, render(single(38, PIANO)))
    spectrum = np.abs(np.fft.rfft(kit.sum(1)[: RATE // 4]))
    assert spectrum[500:].sum() > spectrum[:500].sum()  # above 2 kHz: a snare, not D1 on a piano


def test_louder_notes_are_louder_by_the_square_of_velocity():
    both = piece(part([Note(0, 1, 60, 100), Note(4, 1, 60, 50)], SQUARE), beats=even_beats(8, 120.0))
    sound = render(both)
    ratio = np.abs(sound[: RATE // 2]).max() / np.abs(sound[2 * RATE : 2 * RATE + RATE // 2]).max()
    assert ratio == pytest.approx(4, rel=0.02)


def test_a_note_ends():
    sound = render(piece(part([Note(0, 1, 60, 90)], ORGAN)))
    assert np.abs(sound[: RATE // 2]).max() > 20 * np.abs(sound[RATE * 3 // 2 :]).max()


@pytest.mark.parametrize("tail", [0.0, 0.5, 1.0, 2.3])
def test_length_is_the_pieces_and_the_tail(tail):
    written = piece(part([Note(0, 100, 60, 90)], ORGAN), beats=even_beats(8, 93.7))
    sound = render(written, tail=tail)
    assert sound.shape == (round((written.seconds + tail) * RATE), 2)
    assert sound.dtype == np.float32
    assert not tail or np.abs(sound[-100:]).max() < 0.01


def test_level_is_set_and_never_clips():
    sound = render(example())
    assert np.sqrt((sound.astype(np.float64) ** 2).mean()) == pytest.approx(LOUDNESS, rel=0.01)
    one_hit = render(piece(part([Note(0, 0.25, 36, 127)], role="drums")))
    assert np.abs(one_hit).max() == pytest.approx(PEAK, abs=1e-3)
    assert not render(piece(part([]))).any()


@pytest.mark.parametrize("span", [(0.0, 1.5), (0.7, 2.1), (1.0, 100.0)])
def test_a_span_is_what_the_whole_has_there_but_for_the_level(span):
    begin, end = (round(min(seconds, 1000) * 44_100) for seconds in span)
    apart, whole = render(example(), span=span), levelled(render(example())[begin:end])
    assert apart.shape == whole.shape
    assert np.abs(apart - whole).max() < 1e-5


def test_a_span_after_the_end_is_empty():
    assert render(example(), span=(1000.0, 1030.0)).shape == (0, 2)


def test_the_same_in_any_order_and_in_another_process():
    def digest(sound):
        return hashlib.sha256(sound.tobytes()).hexdigest()

    first = digest(render(example()))
    render(single(60, PIANO))
    assert digest(render(example())) == first
    script = (
        "import importlib.util, hashlib\n"
        f"spec = importlib.util.spec_from_file_location('tests', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(hashlib.sha256(module.render(module.example()).tobytes()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == first


def test_what_can_not_be_played_is_one_sentence():
    with pytest.raises(InputError, match="cannot be played"):
        render(single(128))
    with pytest.raises(InputError, match="cannot be played"):
        render(piece(part([Note(0, 0, 60, 90)])))
    with pytest.raises(InputError, match="no program 200 in this soundfont"):
        render(single(60, 200))


def test_a_file_that_is_no_soundfont_is_one_sentence(tmp_path):
    path = tmp_path / "noise.sf2"
    with pytest.raises(InputError, match=r"noise\.sf2"):
        render(single(60), font=path)
    path.write_bytes(b"noise")
    with pytest.raises(InputError, match="not a SoundFont 2 file"):
        render(single(60), font=path)
    path.write_bytes(soundfont().read_bytes()[:100_000])
    with pytest.raises(InputError, match="not a complete SoundFont 2 file"):
        render(single(60), font=path)


def test_an_installed_soundfont_is_preferred(tmp_path, monkeypatch):
    path = tmp_path / "FluidR3_GM.sf2"
    path.write_bytes(soundfont().read_bytes())
    monkeypatch.setattr(rendering, "WELL_KNOWN", (path,))
    soundfont.cache_clear()
    try:
        assert soundfont() == path
    finally:
        soundfont.cache_clear()
