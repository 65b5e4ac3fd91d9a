"""The limits of what is a take."""

import numpy as np
import pytest

from cmi.audio import Waveform
from cmi.generate import GeneratedSound, GenerationError
from cmi.generate.checks import check_sound

RATE = 8000


def sine(seconds: float, level: float = 1.0) -> Waveform:
    times = np.arange(round(seconds * RATE)) / RATE
    return Waveform((level * np.sin(2 * np.pi * 441 * times)).astype(np.float32), RATE)


def reason(made: object, seconds: float | None = None) -> str:
    with pytest.raises(GenerationError) as caught:
        check_sound(made, seconds)
    return caught.value.kind


@pytest.mark.parametrize(("length", "asked"), [(1.0, None), (1200.0, None), (9.1, 10.0), (30.0, 10.0), (1.0, 1.0)])
def test_lengths_that_do(length, asked):
    assert len(check_sound(sine(length), asked).samples) == length * RATE


@pytest.mark.parametrize(
    ("length", "asked", "why"),
    [(0.99, None, "too short"), (1201.0, None, "too long"), (8.9, 10.0, "too short"), (30.1, 10.0, "too long")],
)
def test_lengths_that_do_not(length, asked, why):
    assert reason(sine(length), asked) == why


def test_a_sine_at_full_scale_is_not_clipped_but_a_square_wave_is():
    check_sound(sine(2.0), None)
    assert reason(Waveform(np.sign(sine(2.0).samples), RATE)) == "clipped"
    check_sound(Waveform(np.float32(0.5) * np.sign(sine(2.0).samples), RATE), None)


def test_quiet_music_is_not_silence_but_hiss_at_minus_70_is():
    check_sound(sine(2.0, 0.002), None)
    assert reason(sine(2.0, 0.0003)) == "silent"


@pytest.mark.parametrize("shape", [(16_000,), (2, 16_000), (16_000, 3)])
def test_samples_of_another_shape_are_not_audio(shape):
    assert reason(GeneratedSound(np.full(shape, 0.1, np.float32), RATE)) == "not audio"


def test_a_rate_that_no_file_has_is_not_audio():
    assert reason(GeneratedSound(np.full((16_000, 1), 0.1, np.float32), 1)) == "not audio"
