"""Degradations harm more the stronger they are, and what is harmless does next to nothing."""

import pytest
import torch
from degrade import DEGRADATIONS, degraded, harmless, varied

RATE = 32_000


@pytest.fixture(scope="module")
def music() -> torch.Tensor:
    """Four clips of three seconds: chords of different pitches with drums, at different levels."""
    times = torch.arange(3 * RATE) / RATE
    rng = torch.Generator().manual_seed(0)
    beats = torch.exp(-25 * (times % 0.5))
    clips = []
    for pitch in (110.0, 147.0, 196.0, 262.0):
        chord = sum(torch.sin(2 * torch.pi * pitch * k * times) / k for k in (1, 2, 2.52, 3, 6, 12, 24))
        clips.append(
            0.1 * chord * torch.exp(-1.5 * (times % 1)) + 0.2 * beats * torch.randn(times.shape, generator=rng)
        )
    return torch.stack(clips) * torch.tensor([[0.1], [0.3], [1.0], [2.0]])


def spectra(x: torch.Tensor) -> torch.Tensor:
    """Log-magnitudes at one level up to 10 kHz, (B, F, T)."""
    level = x / x.square().mean(dim=1, keepdim=True).sqrt()
    window = torch.hann_window(1024)
    return torch.stft(level, 1024, 512, window=window, return_complex=True)[:, :320].abs().clamp(min=1e-2).log()


def harm(before: torch.Tensor, after: torch.Tensor) -> float:
    return float((spectra(before) - spectra(after)).abs().mean())


@pytest.mark.parametrize("name", DEGRADATIONS)
def test_stronger_is_worse(music, name):
    weak, strong = (
        harm(music, DEGRADATIONS[name](music, torch.full((4,), strength), torch.Generator().manual_seed(1)))
        for strength in (0.15, 1.0)
    )
    assert weak > 0.01
    assert strong > 1.1 * weak or (name in ("speed_jumps", "frequency_shift", "flutter") and strong > 0.9 * weak)


@pytest.mark.parametrize("name", DEGRADATIONS)
def test_whatever_is_degraded_stays_finite_and_as_long(music, name):
    for clips in (music, torch.zeros(2, RATE), music[:1, : RATE // 3 + 7]):
        found = DEGRADATIONS[name](clips, torch.full((len(clips),), 0.6), torch.Generator().manual_seed(2))
        assert found.shape == clips.shape
        assert found.isfinite().all()


def test_each_row_is_degraded_in_its_own_way(music):
    kinds = ["muffled", "few_bits", "muffled", "gaps"]
    strength = torch.tensor([0.2, 0.5, 0.9, 0.7])
    found = degraded(music, strength, kinds, torch.Generator().manual_seed(3))
    alone = DEGRADATIONS["muffled"](music[[0, 2]], strength[[0, 2]], torch.Generator().manual_seed(3))
    assert torch.allclose(found[[0, 2]], alone, atol=1e-6)
    assert not torch.allclose(found[1], music[1])


def test_the_same_seed_degrades_alike(music):
    for name, deed in DEGRADATIONS.items():
        twice = [deed(music, torch.full((4,), 0.5), torch.Generator().manual_seed(5)) for _ in range(2)]
        assert torch.equal(*twice), name


def test_what_is_harmless_leaves_the_spectrum_but_for_silence_in_front(music):
    clips = music.repeat(8, 1)
    found = harmless(clips, torch.Generator().manual_seed(4))
    silent = (found.abs() > 1e-6).float().argmax(dim=1) / RATE
    assert 0.3 > silent.max() > 0.02
    for row, clip, late in zip(found, clips, silent, strict=True):
        if late == 0:
            assert harm(clip[None], row[None]) < 0.15


def test_a_varied_recording_says_how_much_faster_it_is():
    rng = torch.Generator().manual_seed(0)
    tone = torch.sin(2 * torch.pi * 440 * torch.arange(RATE) / RATE)[None].repeat(16, 1)
    changed, octaves = varied(tone, rng)
    pitch = torch.fft.rfft(changed[:, : RATE // 2]).abs().argmax(dim=1) * 2
    assert pitch.float() == pytest.approx((440 * 2**octaves).numpy(), rel=0.01)
    assert (octaves == 0).any() and octaves.abs().max() > 0.05
