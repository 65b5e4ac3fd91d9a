"""The sounds of the checks are what their description says."""

import io

import numpy as np
import pytest
import soundfile

from cmi.arena.audio.check_sounds import RATE, calibration_sound, headphone_samples, side_samples, trial_sound
from cmi.arena.store.checks import HEADPHONE_TRIALS, SECONDS
from cmi.features.loudness import LoudnessMeter


def tones(samples):
    step = round(1.5 * RATE)
    return [samples[place * step : place * step + RATE] for place in range(3)]


@pytest.mark.parametrize("trial", HEADPHONE_TRIALS, ids=str)
def test_one_tone_is_6_db_quieter_and_another_cancels_between_loudspeakers(trial):
    for place, tone in enumerate(tones(headphone_samples(trial))):
        level = 20 * np.log10(np.abs(tone).max())
        assert level == pytest.approx(-26 if place == trial.quiet else -20, abs=0.05)
        in_the_air = np.abs(tone.sum(axis=1)).max()
        assert (in_the_air < 1e-9) == (place == trial.inverted)
        spectrum = np.abs(np.fft.rfft(tone[:, 0]))
        assert spectrum.argmax() == 200


def test_a_side_is_silent_on_the_other_and_both_sides_play_the_same():
    left, right, both = (side_samples(side) for side in range(3))
    assert np.all(left[:, 1] == 0) and np.all(right[:, 0] == 0) and np.ptp(left[:, 0]) > 0
    assert np.array_equal(both[:, 0], left[:, 0]) and np.array_equal(both[:, 0], both[:, 1])


@pytest.mark.parametrize(("asked", "got"), [(-19.4, -19), (None, -23), (-3.0, -16), (-70.0, -40)])
def test_the_calibration_sound_is_as_loud_as_asked_and_not_clipped(asked, got):
    samples, rate = soundfile.read(io.BytesIO(calibration_sound(asked)), dtype="float32")
    meter = LoudnessMeter(rate, 2)
    meter.add(samples)
    assert meter.integrated() == pytest.approx(got, abs=0.1)
    assert np.abs(samples).max() < 1.0


@pytest.mark.parametrize("kind", ["device", "headphones"])
def test_a_trial_lasts_as_long_as_the_server_expects_before_it_takes_answers(kind):
    info = soundfile.info(io.BytesIO(trial_sound(kind, 0)))
    assert (info.duration, info.channels, info.samplerate) == (SECONDS[kind], 2, RATE)
