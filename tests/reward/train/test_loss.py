"""What a loss must do, whatever the numbers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from cmi.reward.train.loss import RatingLoss, confidence_weight, ordinal_loss, pair_loss

scores = st.floats(-30, 30, width=32)
ratings = st.floats(1, 5, width=32)
smoothings = st.floats(0, 0.9)
A, B = torch.tensor([1.0]), torch.tensor([0.0])


def at(value: float) -> torch.Tensor:
    return torch.tensor([value], requires_grad=True)


@given(scores, smoothings)
def test_the_two_takes_are_treated_alike(difference, smoothing):
    forth, back = pair_loss(at(difference), A, smoothing), pair_loss(at(-difference), B, smoothing)
    assert forth.item() == pytest.approx(back.item(), abs=1e-5)


@given(st.floats(-30, 2, width=32))
def test_the_preferred_take_is_pushed_up_until_it_is_sure_enough(difference):
    x = at(difference)
    pair_loss(x, A, 0.2).sum().backward()
    assert x.grad.item() < 0  # log(0.9 / 0.1) = 2.197 apart is where the smoothed loss ends
    over = at(difference + 4.5 + max(0.0, -difference))
    pair_loss(over, A, 0.2).sum().backward()
    assert over.grad.item() > 0


@given(scores, st.floats(0.01, 0.9))
def test_smoothing_sets_a_floor(difference, smoothing):
    p = smoothing / 2
    floor = -(p * math.log(p) + (1 - p) * math.log(1 - p))
    assert pair_loss(at(difference), A, smoothing).item() >= floor - 1e-5
    lowest = math.log((1 - p) / p)
    assert pair_loss(at(lowest), A, smoothing).item() == pytest.approx(floor, abs=1e-5)


@given(scores, st.booleans(), smoothings)
def test_it_is_the_cross_entropy_over_two_classes(difference, a_preferred, smoothing):
    logits = torch.tensor([[difference, 0.0]])
    target = torch.tensor([0 if a_preferred else 1])
    expected = functional.cross_entropy(logits, target, label_smoothing=smoothing)
    ours = pair_loss(at(difference), torch.tensor([float(a_preferred)]), smoothing)
    assert ours.item() == pytest.approx(expected.item(), abs=1e-4)


def test_without_smoothing_equal_scores_cost_log_two():
    assert pair_loss(at(0.0), A).item() == pytest.approx(math.log(2))


def test_confidence_counts_in_proportion_and_may_be_absent():
    assert [confidence_weight(c) for c in (None, 1, 3, 5)] == pytest.approx([1, 1 / 3, 1, 5 / 3])


@given(scores, ratings, st.sampled_from(["tanh", "linear", "none", "ordinal"]))
def test_every_mapping_is_finite_and_can_be_learned_from(score, rating, mapping):
    x, loss = at(score), RatingLoss(mapping)
    value = loss(x, torch.tensor([rating]))
    value.sum().backward()
    assert value.item() >= 0
    assert math.isfinite(value.item())
    assert math.isfinite(x.grad.item())
    assert all(torch.isfinite(p.grad).all() for p in loss.parameters())


@pytest.mark.parametrize("mapping", ["tanh", "linear", "none", "ordinal"])
def test_the_best_take_is_pushed_up_and_the_worst_down(mapping):
    for rating, sign in ((5.0, -1), (1.0, 1)):
        x = at(3.0 if mapping == "none" else 0.0)
        RatingLoss(mapping)(x, torch.tensor([rating])).sum().backward()
        assert x.grad.item() * sign > 0


def test_the_mappings_begin_in_the_middle_of_the_scale():
    assert RatingLoss("tanh")(at(0.0), torch.tensor([3.0])).item() == pytest.approx(0)
    assert RatingLoss("tanh")(at(20.0), torch.tensor([5.0])).item() == pytest.approx(0, abs=1e-6)
    assert RatingLoss("linear")(at(1.0), torch.tensor([5.0])).item() == pytest.approx(0)
    assert RatingLoss("none")(at(4.5), torch.tensor([4.5])).item() == 0


@pytest.mark.parametrize("mapping", ["tanh", "linear"])
def test_a_scale_never_turns_round(mapping):
    """Ratings that say the opposite of the scores flatten the scale, they do not reverse it."""
    loss, x = RatingLoss(mapping), torch.tensor([-1.0, 1.0])
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss(x, torch.tensor([5.0, 1.0])).sum().backward()
        optimizer.step()
    assert 0 < loss.log_scale.exp().item() < 0.1


@given(st.lists(ratings, min_size=1, max_size=8), st.lists(scores, min_size=8, max_size=8), st.floats(0.01, 3))
def test_thresholds_stay_in_order(marks, values, rate):
    loss = RatingLoss("ordinal")
    optimizer = torch.optim.SGD(loss.parameters(), lr=rate)
    for _ in range(10):
        optimizer.zero_grad()
        loss(torch.tensor(values[: len(marks)]), torch.tensor(marks)).sum().backward()
        optimizer.step()
    thresholds = loss.thresholds()
    assert (thresholds.diff() >= 0).all()


@given(scores)
def test_the_ordinal_probabilities_add_up_to_one(score):
    thresholds = RatingLoss("ordinal").thresholds()
    each = [ordinal_loss(at(score), torch.tensor([float(k)]), thresholds).item() for k in range(1, 6)]
    assert sum(math.exp(-loss) for loss in each) == pytest.approx(1, abs=1e-4)


def test_a_rating_between_two_marks_counts_as_either_in_proportion():
    thresholds = RatingLoss("ordinal").thresholds()
    three, four, between = (
        ordinal_loss(at(0.7), torch.tensor([rating]), thresholds).item() for rating in (3.0, 4.0, 3.25)
    )
    assert between == pytest.approx(0.75 * three + 0.25 * four, rel=1e-5)
