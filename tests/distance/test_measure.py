"""What a distance is worth: its limit, its interval, its nulls."""

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.distance.measure import measure_distances, steps


def draw(takes: int, seed: int, shift: float = 0.0) -> list[np.ndarray]:
    return list(shift + np.random.default_rng(seed).normal(size=(takes, 4, 30)))


def test_takes_of_the_reference_s_own_distribution_are_not_told_from_it():
    for found in measure_distances(draw(60, 0), draw(60, 1)):
        assert found.p > 0.05, found
        assert found.interval.low < 0.3, found


def test_other_music_is_told_from_the_reference():
    for found in measure_distances(draw(60, 0, shift=0.5), draw(60, 1)):
        assert found.p < 0.02, found
        assert found.value > found.shuffled, found


def test_the_limit_of_fad_is_nearer_to_the_truth_than_its_value():
    found = measure_distances(draw(60, 0, shift=0.2), draw(60, 1), ["fad"])[0]
    truth = 30 * 0.2**2
    assert found.interval.low < truth < found.interval.high
    assert abs(found.limit - truth) < abs(found.value - truth) / 3


def test_the_same_sets_give_the_same_numbers_and_every_step_is_said():
    said = 0

    def step() -> None:
        nonlocal said
        said += 1

    first = measure_distances(draw(20, 0), draw(20, 1), on_step=step)
    assert first == measure_distances(draw(20, 0), draw(20, 1))
    assert said == steps(3)


@pytest.mark.parametrize("takes", [0, 9, 5001])
def test_too_few_or_too_many_takes_are_refused(takes: int):
    with pytest.raises(InputError, match="expected 10 to 5,000"):
        measure_distances([np.zeros((1, 2))] * takes, draw(10, 1))


def test_a_reference_that_is_one_sound_is_refused():
    with pytest.raises(InputError, match="the same embedding"):
        measure_distances(draw(10, 0), [np.ones((4, 30))] * 10)
