"""Gradients from a score back to the waveform: they are those of the score, and following them raises it."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from cmi import InputError, Prompt, RewardModel, Take, Waveform
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.scoring.rl import axis_rewards
from cmi.reward.scoring.scorer import RewardScorer

PROMPT = Prompt("slow piano", "la la")


def noise(seed: int, seconds: float = 1.0) -> torch.Tensor:
    samples = np.random.default_rng(seed).standard_normal(int(seconds * RATE)).astype(np.float32) / 10
    return torch.from_numpy(samples)


@pytest.mark.parametrize("reference", [None, 7])
def test_the_scores_are_those_of_the_engine(tiny, reference):
    like = None if reference is None else Waveform(noise(reference).numpy(), RATE)
    prompt = Prompt(PROMPT.text, PROMPT.lyrics, like)
    waveforms = torch.stack([noise(0, 31.5), noise(1, 31.5)])  # in two chunks
    found = tiny.differentiable(prompt)(waveforms)
    known = tiny.score([Take(prompt, Waveform(row.numpy(), RATE)) for row in waveforms], cache=None)
    for axis in ("musicality", "alignment"):
        expected = [getattr(score, axis) for score in known]
        assert getattr(found, axis).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("axis", ["musicality", "alignment"])
def test_the_gradient_is_that_of_finite_differences(tiny, axis):
    model = deepcopy(tiny).double()
    score = model.differentiable(PROMPT)
    waveform = noise(0).double()[None].requires_grad_()
    (gradient,) = torch.autograd.grad(getattr(score(waveform), axis).sum(), waveform)
    assert gradient.abs().max() > 0
    step = 1e-6
    for seed in range(3):
        direction = noise(10 + seed).double()[None]
        with torch.no_grad():
            ahead, behind = (getattr(score(waveform + sign * step * direction), axis) for sign in (1, -1))
        expected = (gradient * direction).sum().item()
        assert ((ahead - behind) / (2 * step)).item() == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_a_waveforms_gradient_does_not_depend_on_its_neighbours(tiny):
    score = tiny.differentiable(PROMPT)
    both = torch.stack([noise(0), noise(1)]).requires_grad_()
    alone = noise(0)[None].requires_grad_()
    (together,) = torch.autograd.grad(score(both).musicality.sum(), both)
    (own,) = torch.autograd.grad(score(alone).musicality.sum(), alone)
    assert torch.allclose(together[0], own[0], atol=1e-9)
    assert all(parameter.grad is None for parameter in tiny.parameters())


def test_only_batches_of_mono_waveforms_are_taken(tiny):
    with pytest.raises(InputError, match=r"expected \(B, n\)"):
        tiny.differentiable(PROMPT)(noise(0))


@pytest.mark.slow
def test_a_step_along_the_gradient_raises_nanos_scores(wheel):
    """A part of nano's musicality counts (clipped samples, say), which has no gradient: only the sign is promised."""
    nano = RewardModel.from_pretrained("nano", device="cpu")
    score = nano.differentiable(Prompt("slow sad piano"))
    t = np.arange(6 * nano.encoder.rate) / nano.encoder.rate
    samples = 0.2 * np.sin(2 * np.pi * 330 * t) * np.exp(-5 * (t % 0.4)) + 0.1 * np.sin(2 * np.pi * 220 * t)
    samples += 0.01 * np.random.default_rng(0).standard_normal(t.size)
    waveform = torch.from_numpy(samples.astype(np.float32))[None].requires_grad_()
    for axis in ("musicality", "alignment"):
        now = getattr(score(waveform), axis)
        (gradient,) = torch.autograd.grad(now.sum(), waveform)
        assert gradient.isfinite().all()
        with torch.no_grad():
            better = getattr(score(waveform + 0.05 * gradient / gradient.norm()), axis)
        assert better > now


def test_two_rewards_of_a_batch_cost_one_scoring_and_another_batch_another(tiny):
    class Counting(RewardScorer):
        scored = 0

        def judge(self, takes, *rest):
            self.scored += len(takes)
            return super().judge(takes, *rest)

    scorer = Counting(tiny, cache=None)
    musicality, alignment = axis_rewards(scorer, sampling_rate=RATE)
    assert (musicality.__name__, alignment.__name__) == ("musicality", "alignment")
    sounds = [noise(0).numpy(), noise(1).numpy()]
    prompts = ["slow piano", "drums"]
    found = musicality(prompts=prompts, completions=sounds), alignment(prompts=prompts, completions=sounds)
    assert scorer.scored == 2
    known = tiny.score([Take(Prompt(p), Waveform(s, RATE)) for p, s in zip(prompts, sounds, strict=True)], cache=None)
    for rewards, axis in zip(found, ("musicality", "alignment"), strict=True):
        assert rewards == pytest.approx([getattr(score, axis) for score in known], abs=1e-6)
    sounds[0][:] = noise(5).numpy()  # a trainer that writes into its buffers
    assert musicality(prompts=prompts, completions=sounds)[0] != found[0][0]
    assert scorer.scored == 4
