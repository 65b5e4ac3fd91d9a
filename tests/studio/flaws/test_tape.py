"""A flaw of a finished recording only grows, keeps the level, and never breaks the sound."""

import numpy as np
import pytest

from cmi.studio.flaws import FLAWS, TAPE_FLAWS, SoundFlaw
from cmi.studio.flaws.production import distortion, rms
from cmi.studio.flaws.tape import delays, moved

RATE = 32_000
STRENGTHS = np.linspace(0, 1, 6).tolist()
every_flaw = pytest.mark.parametrize("flaw", TAPE_FLAWS, ids=lambda flaw: flaw.name)


@pytest.fixture(scope="module")
def music() -> np.ndarray:
    """Ten seconds of plucked tones, no two alike, and a little noise."""
    rng, times = np.random.default_rng(1), np.arange(10 * RATE) / RATE
    sound = 0.01 * rng.standard_normal((times.size, 2)).astype(np.float32)
    for start in np.arange(0, 10, 0.23):
        since = times - start
        pluck = np.where(since >= 0, np.exp(-5 * since), 0)
        tone = 0.1 * np.sin(2 * np.pi * rng.uniform(110, 880) * since) * pluck
        sound += (tone[:, None] * rng.uniform(0.3, 1, 2)).astype(np.float32)
    return sound


def spoilt(flaw: SoundFlaw, samples: np.ndarray, strength: float, seed: int = 0, rate: int = RATE) -> np.ndarray:
    return flaw.apply(samples, rate, strength, np.random.default_rng(seed))


@every_flaw
def test_strength_0_is_the_input_and_not_a_view_of_it(flaw, music):
    after = spoilt(flaw, music, 0.0)
    assert np.array_equal(after, music)
    assert not np.shares_memory(after, music)


@every_flaw
@pytest.mark.parametrize("seed", range(3))
def test_the_measure_grows_with_every_step_of_strength(flaw, seed, music):
    measured = [flaw.measure(music, spoilt(flaw, music, strength, seed)) for strength in STRENGTHS]
    assert measured[0] == 0
    assert (np.diff(measured) > 0).all(), measured


@every_flaw
@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
def test_the_level_stays_and_so_does_the_input(flaw, strength, music):
    before = music.copy()
    assert rms(spoilt(flaw, music, strength)) == pytest.approx(rms(music), rel=1e-3)
    assert np.array_equal(music, before)


@every_flaw
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(flaw, music):
    one, again, other = (spoilt(flaw, music, 0.5, seed) for seed in (5, 5, 6))
    assert one.tobytes() == again.tobytes()
    assert not np.array_equal(one, other)


def test_what_wavers_is_nowhere_farther_off_than_said(music):
    after = spoilt(FLAWS["wavering"], music, 1.0)
    assert 0.01 * RATE < delays(music, after) < 0.06 * RATE


def test_a_delay_is_measured_as_long_as_it_is(music):
    assert delays(music[:-384], music[384:]) == pytest.approx(384, abs=64)


def test_fragments_are_all_still_there_but_for_their_edges(music):
    after = spoilt(FLAWS["fragments"], music, 1.0)
    assert moved(music, after) > 0.8
    quantiles = (np.quantile(np.abs(sound), [0.5, 0.9, 0.99]) for sound in (music, after))
    assert np.divide(*quantiles) == pytest.approx(1, abs=0.05)


def test_what_is_stuck_repeats_itself(music):
    after = spoilt(FLAWS["stuck"], music, 1.0).sum(axis=1)
    end = after[-4 * RATE :]
    alike = np.fft.irfft(np.abs(np.fft.rfft(end, 2 * end.size)) ** 2)[: int(2.6 * RATE)]
    assert alike[int(0.45 * RATE) :].max() > 0.3 * alike[0]


def test_a_copy_of_equal_level_is_heard_beside_the_music(music):
    assert 0.25 < distortion(music, spoilt(FLAWS["detuned-copy"], music, 1.0)) < 0.6
