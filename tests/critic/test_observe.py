"""Observations: each finds what it is about, says when, and is silent about music without it."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.critic import KINDS, Observation, observe
from cmi.critic.observe import NO_VOICE, ObservedSound, observe_sound, observe_voice

RATE = 22_050


def music(seconds: float = 8.0, channels: int = 1) -> np.ndarray:
    """Chords that change, with noise as of a recording, and an end that fades."""
    rng = np.random.default_rng(0)
    time = np.arange(round(seconds * RATE)) / RATE
    sound = 0.02 * rng.normal(size=(len(time), channels))
    for start in np.arange(0, seconds, 0.37):
        length = time[time >= start] - start
        for pitch in rng.uniform(100, 3000, 3):
            sound[time >= start] += (0.1 * np.exp(-3 * length) * np.sin(2 * np.pi * pitch * length))[:, None]
    fade = np.clip((seconds - time) / 1.0, 0, 1) ** 2
    return (sound * fade[:, None]).astype(np.float32)


def found(sound: np.ndarray, kind: str) -> list[Observation]:
    return [one for one in observe_sound(ObservedSound(sound, RATE)) if one.kind == kind]


def test_nothing_is_wrong_with_plain_music():
    assert observe_sound(ObservedSound(music(), RATE)) == []
    assert observe_sound(ObservedSound(music(channels=2), RATE)) == []


def test_a_gap_is_told_with_its_seconds():
    sound = music()
    sound[3 * RATE : 4 * RATE] = 0
    (gap,) = found(sound, "gap")
    assert gap.start == pytest.approx(3, abs=0.02)
    assert gap.end == pytest.approx(4, abs=0.02)
    assert gap.sentence.startswith("No sound from 0:0")


def test_dropouts_are_counted():
    sound = music()
    for start in (1.0, 2.5, 4.0):
        sound[round(start * RATE) : round((start + 0.05) * RATE)] = 0
    (dropouts,) = found(sound, "dropouts")
    assert dropouts.value == 3
    assert dropouts.start == pytest.approx(1, abs=0.01)


def test_music_that_breaks_off_is_told_also_before_silence():
    broken = music()[: 4 * RATE]
    assert found(broken, "cut")[0].end == pytest.approx(4, abs=0.02)
    padded = np.concatenate([broken, np.zeros((3 * RATE, 1), np.float32)])
    assert found(padded, "cut")[0].end == pytest.approx(4, abs=0.02)
    assert found(padded, "tail")[0].value == pytest.approx(3, abs=0.05)


def test_flat_tops_are_clipping_at_any_level():
    loud = np.clip(music(), -0.05, 0.05)
    for gain in (1.0, 0.3):
        assert found(gain * loud, "clipping")


def test_a_recording_without_highs_is_muffled():
    spectrum = np.fft.rfft(music()[:, 0])
    spectrum[3000 * 8 :] = 0
    muffled = np.fft.irfft(spectrum, 8 * RATE).astype(np.float32)[:, None]
    (observation,) = found(muffled, "muffled")
    assert observation.value == pytest.approx(3000, abs=150)


@pytest.mark.parametrize("mains", [50, 60])
def test_hum_is_named_by_its_frequency(mains: int):
    time = np.arange(8 * RATE) / RATE
    hum = sum(np.sin(2 * np.pi * mains * k * time) / k for k in (1, 2, 3))
    (observation,) = found(music() + 0.05 * hum[:, None].astype(np.float32), "hum")
    assert str(mains) in observation.sentence


def test_a_loop_that_does_not_end_is_stuck():
    sound = music(16)
    for place in range(4 * RATE, 16 * RATE, RATE):
        sound[place : place + RATE] = sound[3 * RATE : 4 * RATE]
    (observation,) = found(sound, "stuck")
    assert observation.start == pytest.approx(4, abs=1.1)
    assert "1 s" in observation.sentence


def test_channels_are_compared():
    left = music()
    assert found(np.concatenate([left, 0.05 * left], axis=1), "one-sided")[0].sentence.startswith("The right")
    assert found(np.concatenate([left, -left], axis=1), "phase")


def beats(*parts: tuple[float, float]) -> np.ndarray:
    """Noise bursts on the beat, over soft noise: parts are (beats a minute, seconds)."""
    rng = np.random.default_rng(0)
    sound = 0.02 * rng.normal(size=(round(RATE * sum(seconds for _, seconds in parts)), 1)).astype("f4")
    start = 0.0
    for tempo, seconds in parts:
        for beat in np.arange(start, start + seconds, 60 / tempo):
            burst = sound[round(beat * RATE) : round(beat * RATE) + 1500]
            burst += (0.5 * rng.normal(size=burst.shape) * np.exp(-np.arange(len(burst)) / 300)[:, None]).astype("f4")
        start += seconds
    return sound


def test_a_jump_of_the_tempo_is_told_with_its_moment():
    (jump,) = found(beats((100, 14), (112, 14)), "tempo jump")
    assert jump.start == pytest.approx(14, abs=1)
    assert jump.value == pytest.approx(0.12, abs=0.02)
    assert "from 100 to 112" in jump.sentence
    assert found(beats((100, 28)), "tempo jump") == []


def test_lyrics_without_a_voice_are_told():
    (said,) = observe_voice(0.1, 30.0)
    assert said.kind == NO_VOICE
    assert "90%" in said.sentence
    assert observe_voice(0.9, 30.0) == []


def test_music_that_fades_into_silence_is_not_stuck():
    sound = music(12)
    sound[7 * RATE :] = 0
    assert found(sound, "stuck") == []


@given(st.integers(1, 3000), st.integers(1, 3), st.sampled_from([0.0, 1e-9, 0.5, 1.0]), st.integers(0, 99))
def test_any_sound_is_looked_at_without_a_fault(length: int, channels: int, level: float, seed: int):
    sound = level * np.random.default_rng(seed).normal(size=(length, channels)).astype(np.float32)
    for one in observe_sound(ObservedSound(sound, 8000)):
        assert one.kind in KINDS
        assert 0 <= one.start <= one.end <= length / 8000 + 0.02
        assert np.isfinite(one.value)


def test_a_file_is_heard_as_it_is_and_a_broken_one_is_an_error(tmp_path: Path):
    soundfile.write(tmp_path / "a.wav", np.clip(music(), -0.05, 0.05), RATE, subtype="FLOAT")
    assert "clipping" in {one.kind for one in observe(tmp_path / "a.wav")}
    (tmp_path / "b.wav").write_text("not a sound")
    with pytest.raises(InputError, match=r"b\.wav"):
        observe(tmp_path / "b.wav")
