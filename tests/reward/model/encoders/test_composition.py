"""`Composition` hears which notes sound when, and level does not matter."""

import torch

from cmi.reward.model.encoders import composition
from cmi.reward.model.encoders.composition import FARTHEST, LAGS, LOWEST, RATE, SEMITONES, Composition, hear, recurrence


def tune(*pitches: int, seconds: float = 0.4) -> torch.Tensor:
    """Tones one after the other: (n,)."""
    times = torch.arange(int(seconds * RATE)) / RATE
    return torch.cat([0.1 * torch.sin(2 * torch.pi * 440 * 2 ** ((p - 69) / 12) * times) for p in pitches])


def test_the_note_that_sounds_stands_out():
    for pitch in (48, 60, 69, 84):
        pitches, _ = hear(tune(pitch, seconds=2.0)[None])
        assert int(pitches[0, 5:-5].mean(dim=0).argmax()) == pitch - LOWEST


def test_shapes_are_those_of_the_length():
    for seconds in (0.5, 3.0, 30.0):
        pitches, rises = hear(torch.randn(2, int(seconds * RATE)))
        assert pitches.shape == (2, round(seconds * 5) * 4, SEMITONES)
        assert rises.shape[1] == pitches.shape[1]


def test_what_comes_again_is_found_at_its_lag():
    pitches, _ = hear(tune(*(60, 64, 67, 71) * 4)[None])  # 1.6 s, 8 tokens
    alike = recurrence(pitches)[0, 16:].mean(dim=0)
    assert alike.shape == (LAGS,)
    assert int(alike[:12].argmax()) == 7


@torch.inference_mode()
def test_level_does_not_matter():
    torch.manual_seed(0)
    network, sound = Composition().eval(), tune(60, 64, 67, 72, 67, 64)[None]
    assert torch.allclose(network.judge(*hear(sound)), network.judge(*hear(3 * sound)), atol=1e-4)


@torch.inference_mode()
def test_only_what_is_below_usual_is_taken_off_and_not_without_bounds(monkeypatch):
    network, sound = Composition().eval(), tune(60, 64, 67, 72)[None]
    told = float(network.judge(*hear(sound)))
    for usual, taken in ((told - 1, 0.0), (told + 0.4, 0.4), (told + 9, FARTHEST)):
        monkeypatch.setattr(composition, "USUAL", usual)
        assert abs(float(network(sound)) - taken) < 1e-4
