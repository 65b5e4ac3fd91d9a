"""A production flaw only grows, betrays itself by nothing but the flaw, and never breaks the sound."""

import numpy as np
import pytest

from cmi.studio.flaws import FLAWS, SOUND_FLAWS, SoundFlaw
from cmi.studio.flaws.production import _convolved, decibels_lost, distortion, octaves_brighter, octaves_darker, rms

RATE = 16_000
STRENGTHS = np.linspace(0, 1, 11).tolist()
every_flaw = pytest.mark.parametrize("flaw", SOUND_FLAWS, ids=lambda flaw: flaw.name)
level_honest = pytest.mark.parametrize(
    "flaw", [f for f in SOUND_FLAWS if f.name != "level"], ids=lambda flaw: flaw.name
)


def music(seconds: float = 1.0, rate: int = RATE, channels: int = 2, gain: float = 0.15) -> np.ndarray:
    """Plucked chords with a bass and hi-hats, different in each channel; peaks well below full scale."""
    t = np.arange(round(seconds * rate)) / rate
    hats = np.random.default_rng(3).normal(0, 0.4, (t.size, channels)) * np.exp(-40 * (t % 0.25))[:, None]
    pluck = np.exp(-4 * (t % 0.5))
    chords = [
        sum(np.sin(2 * np.pi * f * (1 + c / 100) * t) for f in (80, 220, 277, 330, 1760)) for c in range(channels)
    ]
    return (gain * (np.stack(chords, axis=1) * pluck[:, None] / 3 + hats)).astype(np.float32)


def spoilt(flaw: SoundFlaw, samples: np.ndarray, strength: float, seed: int = 0, rate: int = RATE) -> np.ndarray:
    return flaw.apply(samples, rate, strength, np.random.default_rng(seed))


@every_flaw
def test_strength_0_is_the_input_and_not_a_view_of_it(flaw):
    samples = music()
    after = spoilt(flaw, samples, 0.0)
    assert np.array_equal(after, samples)
    assert not np.shares_memory(after, samples)


@every_flaw
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_the_input_is_not_written_to(flaw, strength):
    samples = music()
    spoilt(flaw, samples, strength)
    assert np.array_equal(samples, music())


@every_flaw
@pytest.mark.parametrize("seed", range(3))
def test_the_measure_grows_with_every_step_of_strength(flaw, seed):
    samples = music()
    measured = [flaw.measure(samples, spoilt(flaw, samples, strength, seed)) for strength in STRENGTHS]
    assert measured[0] == pytest.approx(0, abs=1e-12)
    assert (np.diff(measured) > 0).all(), measured


@every_flaw
@pytest.mark.parametrize("seed", range(3))
def test_the_measure_never_falls_on_a_steady_tone(flaw, seed):
    """A tone meets what is added at its own frequency, where the two could cancel."""
    tone = (0.3 * np.sin(2 * np.pi * 100 * np.arange(RATE) / RATE)).astype(np.float32)[:, None]
    measured = [flaw.measure(tone, spoilt(flaw, tone, strength, seed)) for strength in STRENGTHS]
    assert (np.diff(measured) > -1e-6).all(), measured


@every_flaw
def test_the_same_seed_gives_the_same_bytes(flaw):
    assert spoilt(flaw, music(), 0.5, seed=5).tobytes() == spoilt(flaw, music(), 0.5, seed=5).tobytes()


@pytest.mark.parametrize("name", ["noise", "hum", "dropouts", "smear", "pumping", "over-reverb", "ringing"])
def test_another_seed_gives_another_flaw(name):
    assert not np.array_equal(spoilt(FLAWS[name], music(), 0.5, seed=5), spoilt(FLAWS[name], music(), 0.5, seed=6))


@level_honest
@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
def test_loudness_does_not_betray_the_flaw(flaw, strength):
    samples = music(gain=0.05)
    assert rms(spoilt(flaw, samples, strength)) == pytest.approx(rms(samples), rel=1e-4)


@every_flaw
@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
def test_loud_input_stays_within_full_scale(flaw, strength):
    samples = music()
    samples /= np.abs(samples).max()
    after = spoilt(flaw, samples, strength)
    assert np.abs(after).max() <= 1
    assert rms(after) <= rms(samples) * 1.0001


@every_flaw
def test_silence_stays_silent(flaw):
    silence = np.zeros((800, 2), dtype=np.float32)
    assert np.array_equal(spoilt(flaw, silence, 1.0), silence)
    assert flaw.measure(silence, silence) == 0


@every_flaw
@pytest.mark.parametrize("strength", [-0.01, 1.01, float("nan")])
def test_a_strength_out_of_range_is_refused(flaw, strength):
    with pytest.raises(ValueError, match="from 0 to 1"):
        spoilt(flaw, music(0.1), strength)


def test_gaps_at_a_lesser_strength_are_gaps_at_a_greater_one():
    samples = np.full((4 * RATE, 1), 0.1, dtype=np.float32)
    gaps = [spoilt(FLAWS["dropouts"], samples, strength) == 0 for strength in (0.3, 0.6, 0.9)]
    assert (gaps[0] <= gaps[1]).all()
    assert (gaps[1] <= gaps[2]).all()
    assert gaps[0].any()
    assert gaps[2].mean() < 0.5


def test_noise_at_strength_1_is_6_db_below_the_music():
    samples = music()
    share = distortion(samples, spoilt(FLAWS["noise"], samples, 1.0))
    assert 10 * np.log10((1 - share) / share) == pytest.approx(6, abs=0.2)


def test_hum_is_at_the_mains_frequency_and_its_harmonics():
    samples = np.random.default_rng(0).normal(0, 0.01, (RATE, 1)).astype(np.float32)
    spectrum = np.abs(np.fft.rfft(spoilt(FLAWS["hum"], samples, 1.0)[:, 0]))  # bins of 1 Hz
    loudest = np.argsort(spectrum)[-3:]
    mains = loudest.min()
    assert mains in (50, 60)
    assert set(loudest) <= set(range(mains, 8 * mains + 1, mains))


def test_low_pass_keeps_lows_and_thin_keeps_highs():
    t = np.arange(2 * RATE) / RATE
    samples = (0.2 * np.sin(2 * np.pi * 100 * t) + 0.2 * np.sin(2 * np.pi * 6000 * t)).astype(np.float32)[:, None]
    for name, kept, lost in [("low-pass", 200, 12_000), ("thin", 12_000, 200)]:
        spectrum = np.abs(np.fft.rfft(spoilt(FLAWS[name], samples, 1.0)[:, 0]))
        assert spectrum[lost] < spectrum[kept] / 1000, name


def test_reverb_comes_after_the_sound_and_rings_on():
    click = np.zeros((3 * RATE, 1), dtype=np.float32)
    click[RATE] = 0.5
    after = spoilt(FLAWS["over-reverb"], click, 1.0)
    assert np.abs(after[:RATE]).max() < 1e-6
    early, late = rms(after[RATE + 1 : RATE + 4000]), rms(after[RATE + 16_000 : RATE + 20_000])
    assert 0 < late < early / 10  # 30 dB in the second after


def test_reverb_is_the_same_as_direct_convolution_across_blocks():
    rng = np.random.default_rng(0)
    samples, tail = rng.normal(size=(1000, 2)).astype(np.float32), rng.normal(size=(2, 64)).astype(np.float32)
    direct = np.stack([np.convolve(samples[:, c], tail[c])[:1000] for c in range(2)], axis=1)
    np.testing.assert_allclose(_convolved(samples, np.fft.rfft(tail, 128)), direct, atol=1e-4)


def test_ringing_is_a_feedback_comb():
    click = np.zeros((RATE // 2, 1), dtype=np.float32)
    click[0] = 0.5
    after = spoilt(FLAWS["ringing"], click, 1.0)[:, 0]
    echoes = np.flatnonzero(after)
    assert len(set(np.diff(echoes))) == 1
    np.testing.assert_allclose(after[echoes[2:]] / after[echoes[1:-1]], 0.97, rtol=1e-4)


def test_clipping_leaves_no_sample_above_its_threshold():
    samples = music(gain=0.05)
    after = np.abs(spoilt(FLAWS["clipping"], samples, 0.5))
    assert (after > 0.999 * after.max()).mean() > 0.05


def test_level_falls_by_40_db():
    assert decibels_lost(music(), spoilt(FLAWS["level"], music(), 1.0)) == pytest.approx(40, abs=1e-3)


def test_measures_do_not_hear_gain():
    samples = music()
    assert distortion(samples, samples / 8) == pytest.approx(0, abs=1e-9)
    assert octaves_darker(samples, samples / 8) == pytest.approx(0, abs=1e-6)
    assert octaves_brighter(samples, samples / 8) == pytest.approx(0, abs=1e-6)
