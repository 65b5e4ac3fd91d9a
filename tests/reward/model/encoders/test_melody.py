"""A tune is known by its intervals: in another key, on another instrument and begun later it is the same tune."""

import torch

from cmi.reward.model.encoders.melody import MELODY, RATE, melody

TUNE = (60, 62, 64, 60, 60, 62, 64, 60, 64, 65, 67, 67, 64, 65, 67, 67)
OTHER = (67, 64, 60, 67, 69, 71, 72, 72, 64, 59, 60, 62, 57, 65, 64, 60)


def played(notes: tuple[int, ...], transposed: int = 0, overtones: tuple[float, ...] = (1.0, 0.5, 0.2)) -> torch.Tensor:
    times = torch.arange(int(0.4 * RATE)) / RATE
    fade = torch.minimum(times / 0.01, torch.exp(-3 * times)).clamp(max=1)
    hertz = [440 * 2 ** ((note + transposed - 69) / 12) for note in notes]
    waves = [
        sum(share * torch.sin(2 * torch.pi * f * n * times) for n, share in enumerate(overtones, 1)) for f in hertz
    ]
    return torch.cat([fade * wave for wave in waves]) * 0.1


def test_a_tune_is_like_itself_in_another_key_and_sound_and_unlike_another_tune():
    tune, same, other = melody(played(TUNE)), melody(played(TUNE, 5, (0.6, 1.0, 0.1, 0.4))), melody(played(OTHER))
    assert len(tune) == MELODY and float(tune.norm()) > 0.999
    assert float(tune @ same) > 0.8 > float(tune @ other) + 0.2


def test_a_tune_begun_later_is_the_same_tune():
    tune = played(TUNE * 2)
    assert float(melody(tune) @ melody(torch.roll(tune, RATE))) > 0.9


def test_what_is_too_short_for_a_tune_gives_finite_numbers():
    for samples in (8_000, 12_345):
        assert melody(torch.zeros(samples)).isfinite().all() and melody(torch.rand(samples)).isfinite().all()
