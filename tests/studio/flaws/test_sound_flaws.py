"""Every flaw of a recording returns a clip of the same shape, finite and within full scale, whatever it is given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi.studio.flaws import SOUND_FLAWS, TAPE_FLAWS


@pytest.mark.parametrize("flaw", [*SOUND_FLAWS, *TAPE_FLAWS], ids=lambda flaw: flaw.name)
@settings(deadline=None, max_examples=12)
@given(
    length=st.sampled_from([0, 1, 2, 3, 800, 2205, 5000, 40_000]),
    channels=st.sampled_from([1, 2]),
    rate=st.sampled_from([8_000, 22_050, 44_100, 48_000]),
    strength=st.floats(0, 1),
    peak=st.sampled_from([0.0, 1e-30, 1e-4, 1.0]),
    seed=st.integers(0, 99),
)
def test_any_clip_comes_out_in_its_shape_finite_and_within_full_scale(
    flaw, length, channels, rate, strength, peak, seed
):
    samples = (peak * np.random.default_rng(1).uniform(-1, 1, (length, channels))).astype(np.float32)
    after = flaw.apply(samples, rate, strength, np.random.default_rng(seed))
    assert after.shape == samples.shape
    assert after.dtype == np.float32
    assert after.flags.c_contiguous
    assert np.isfinite(after).all()
    assert np.abs(after).max(initial=0) <= 1
    assert np.isfinite(flaw.measure(samples, after))
