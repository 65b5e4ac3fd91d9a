"""Tempo over time: clicks of known tempo, at any level; noise and silence have none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.features.tempo import RATE, find_tempo, is_same_tempo


def clicks(*parts: tuple[float, float], level: float = 0.5) -> np.ndarray:
    """Short bursts of noise: parts are (beats a minute, seconds)."""
    rng = np.random.default_rng(0)
    sound = 0.001 * rng.normal(size=round(RATE * sum(seconds for _, seconds in parts)))
    start = 0.0
    for tempo, seconds in parts:
        for beat in np.arange(start, start + seconds - 0.05, 60 / tempo):
            place = round(beat * RATE)
            sound[place : place + 800] += rng.normal(size=800) * np.exp(-np.arange(800) / 150)
        start += seconds
    return (level * sound).astype(np.float32)


@pytest.mark.parametrize("tempo", [72, 100, 120, 143, 170])
@pytest.mark.parametrize("level", [0.5, 0.001])
def test_the_tempo_of_clicks(tempo: int, level: float):
    found = find_tempo(clicks((tempo, 12), level=level))
    assert found is not None
    assert is_same_tempo(found.tempo, tempo)
    assert np.ptp(found.tempos) < 0.03 * tempo


def test_each_window_has_its_own_tempo():
    found = find_tempo(clicks((100, 15), (115, 15)))
    assert found is not None
    assert found.tempos[0] / found.tempos[-1] == pytest.approx(100 / 115, rel=0.02)
    assert found.times[0] == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize("sound", [np.zeros(20 * RATE), np.random.default_rng(1).normal(size=20 * RATE), np.zeros(0)])
def test_silence_and_noise_have_no_tempo(sound: np.ndarray):
    assert find_tempo(sound.astype(np.float32)) is None


@given(st.integers(0, 3 * RATE))
def test_what_is_too_short_has_no_tempo(length: int):
    assert find_tempo(np.ones(length, np.float32)) is None


def test_double_and_half_count_as_the_same():
    assert is_same_tempo(60, 121)
    assert is_same_tempo(120, 60.5)
    assert not is_same_tempo(60, 121, octaves=False)
    assert not is_same_tempo(100, 133)
