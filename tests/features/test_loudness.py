"""Loudness after ITU-R BS.1770-4, against its own reference tone and against pyloudnorm."""

import numpy as np
import pyloudnorm
import pytest

from cmi.features.loudness import LoudnessMeter, k_weighting


def lufs(samples: np.ndarray, rate: int, portion: int = 1000) -> float | None:
    meter = LoudnessMeter(rate, samples.shape[1])
    for start in range(0, len(samples), portion):
        meter.add(samples[start : start + portion].astype(np.float32))
    return meter.integrated()


def sine(rate: int, level: float, seconds: float = 5.0, frequency: float = 997.0) -> np.ndarray:
    return level * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)


def test_the_coefficients_at_48_khz_are_the_standards():
    shelf, high_pass = k_weighting(48_000)
    assert shelf == pytest.approx(
        [1.53512485958697, -2.69169618940638, 1.19839281085285, 1.0, -1.69065929318241, 0.73248077421585], abs=1e-8
    )
    assert high_pass == pytest.approx([1.0, -2.0, 1.0, 1.0, -1.99004745483398, 0.99007225036621], abs=1e-8)


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000, 96_000])
def test_a_997_hz_sine_on_one_of_two_channels_is_three_decibels_below_full_scale(rate: int):
    tone = sine(rate, 1.0)
    assert lufs(np.stack([tone, 0 * tone], axis=1), rate) == pytest.approx(-3.01, abs=0.05)


def test_a_mono_file_is_as_loud_as_the_same_on_both_channels():
    tone = sine(44_100, 0.3)
    assert lufs(tone[:, None], 44_100) == pytest.approx(lufs(np.stack([tone, tone], axis=1), 44_100), abs=1e-6)


def test_music_like_noise_with_pauses_agrees_with_pyloudnorm():
    rng = np.random.default_rng(0)
    rate = 44_100
    noise = rng.normal(0, 0.1, (12 * rate, 2)) * np.repeat([1, 0, 0.3, 0.001, 1, 0.02], 2 * rate)[:, None]
    expected = pyloudnorm.Meter(rate, filter_class="DeMan").integrated_loudness(noise)
    assert lufs(noise, rate) == pytest.approx(expected, abs=0.1)


def test_portions_do_not_matter_and_silence_has_no_loudness():
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, (2 * 22_050, 2))
    assert lufs(noise, 22_050, 777) == pytest.approx(lufs(noise, 22_050, 44_100), abs=1e-9)
    assert lufs(np.zeros((22_050, 1)), 22_050) is None
    assert lufs(noise[:5000], 22_050) is None, "shorter than a block"


def test_short_term_loudness_is_told_once_a_second():
    rate = 16_000
    meter = LoudnessMeter(rate, 1)
    meter.add(np.concatenate([sine(rate, 0.5, 5.0), np.zeros(5 * rate)])[:, None].astype(np.float32))
    found = meter.short_term()
    assert len(found) == 8
    assert found[:3] == pytest.approx([found[0]] * 3, abs=0.1)
    assert found[-1] == -70.0
    assert LoudnessMeter(rate, 1).short_term() == []
