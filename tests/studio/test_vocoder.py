import numpy as np
import pytest

from cmi.studio.vocals import Frames, minimum_phase, pulses, synthesize

RATE, HOP, BINS = 22_050, 110, 513


def steady(pitch: float, frames: int = 400, periodic: float = 1.0, noise: float = 0.0) -> Frames:
    flat = np.ones((frames, BINS), np.complex64)
    return Frames(np.full(frames, pitch), flat * np.float32(periodic), flat * np.float32(noise))


def test_pulses_come_as_often_as_the_pitch_says():
    places = pulses(np.full(400, 261.63), HOP, RATE)
    assert np.diff(places) == pytest.approx(RATE / 261.63, abs=1e-6)


def test_no_pulse_falls_where_there_is_no_pitch():
    places = pulses(np.repeat([0.0, 200.0, 0.0], 100), HOP, RATE)
    assert places.min() >= 100 * HOP
    assert places.max() <= 200 * HOP


def test_power_does_not_depend_on_pitch():
    low, high = (np.mean(synthesize(steady(pitch), HOP, RATE) ** 2) for pitch in (110, 440))
    assert high == pytest.approx(low, rel=0.05)


def test_noise_and_pulses_of_equal_filters_are_equally_loud():
    voiced = np.mean(synthesize(steady(220), HOP, RATE) ** 2)
    breathed = np.mean(synthesize(steady(0, periodic=0, noise=1), HOP, RATE) ** 2)
    assert breathed == pytest.approx(voiced, rel=0.05)


def test_minimum_phase_keeps_the_spectrum_and_comes_early():
    power = 0.1 + np.hanning(2 * BINS)[None, BINS:] ** 2
    filters = minimum_phase(power)
    assert np.abs(filters) ** 2 == pytest.approx(power, rel=1e-3)
    response = np.fft.irfft(filters)[0] ** 2
    assert response[:100].sum() > 0.999 * response.sum()


def test_silence_stays_silent():
    nothing = Frames(np.zeros(50), np.zeros((50, BINS), np.complex64), np.zeros((50, BINS), np.complex64))
    assert not synthesize(nothing, HOP, RATE).any()


def test_it_sounds_as_worlds_own_synthesis_does():
    world = pytest.importorskip("pyworld", reason="needs the vocals extra")
    from cmi.studio.vocals import noise_filters, periodic_filters

    times = np.arange(RATE) / RATE
    voice = sum(np.sin(2 * np.pi * 180 * k * times) / k for k in range(1, 30)) * np.hanning(RATE)
    voice = voice + 0.01 * np.random.default_rng(1).standard_normal(RATE)
    pitch, moments = world.dio(voice, RATE, frame_period=1000 * HOP / RATE)
    power, aperiodicity = (of(voice, pitch, moments, RATE) for of in (world.cheaptrick, world.d4c))
    theirs = world.synthesize(pitch, power, aperiodicity, RATE, 1000 * HOP / RATE)
    frames = Frames(pitch, periodic_filters(power, aperiodicity), noise_filters(power, aperiodicity))
    ours = synthesize(frames, HOP, RATE)
    bands = [
        [np.sum(np.abs(part) ** 2) for part in np.array_split(np.fft.rfft(sound, RATE)[: RATE // 4], 12)]
        for sound in (theirs, ours)
    ]
    assert 10 * np.log10(np.divide(*bands)) == pytest.approx(0, abs=1.5)
