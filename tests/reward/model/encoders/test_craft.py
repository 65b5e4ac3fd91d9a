"""What is counted of a recording: each number moves with the flaw it is for, and polarity moves none."""

import pytest
import torch

from cmi.reward.model.encoders.craft import LINE_FRAME, counted, lines, peaks, phases, spectra, tuning
from cmi.reward.model.encoders.ear import RATE, log_mel


@pytest.fixture(scope="module")
def music() -> torch.Tensor:
    """Six seconds of chords, at one level: (1, n)."""
    times = torch.arange(6 * RATE) / RATE
    chords = torch.stack([sum(torch.sin(2 * torch.pi * 220 * 2 ** (k / 12) * times + k) for k in c) for c in CHORDS])
    which = (times // 1.5).long()
    sound = chords.gather(0, which[None])[0] * torch.exp(-2 * (times % 0.5))
    return (0.1 * sound / sound.square().mean().sqrt())[None]


CHORDS = ((0, 4, 7, 12), (5, 9, 12, 17), (7, 11, 14, 19), (0, 4, 7, 12))


def test_nothing_counted_changes_with_polarity(music):
    mel = log_mel(music)
    assert torch.allclose(counted(music, mel), counted(-music, mel), atol=1e-3)


def test_hum_is_a_line_that_stands_still(music):
    times = torch.arange(music.shape[1]) / RATE
    hum = 0.01 * sum(torch.sin(2 * torch.pi * 50 * n * times) / n for n in range(1, 9))
    place = 27  # the best comb of harmonics, of what is always there
    assert lines(music + hum)[0, place] > lines(music)[0, place] + 1


def test_clipping_flattens_peaks(music):
    ceiling = 0.6 * float(music.abs().max())
    near = slice(7, 11)  # shares of samples near the highest, and of flat ones among the high
    assert (peaks(music.clamp(-ceiling, ceiling))[0, near] > peaks(music)[0, near]).all()


def test_smeared_phases_are_less_regular_where_tones_are(music):
    window = torch.hann_window(1024)
    spectrum = torch.stft(music, 1024, 256, window=window, return_complex=True)
    angle = 3 * torch.rand(spectrum.shape, generator=torch.Generator().manual_seed(0))
    turned = spectrum * torch.polar(torch.ones_like(angle), angle)
    smeared = torch.istft(turned, 1024, 256, window=window, length=music.shape[1])
    bands = slice(3, 6)  # 300 to 1,000 Hz
    assert (phases(smeared, 1024)[0, bands] < phases(music, 1024)[0, bands] - 0.1).all()


def test_a_shift_of_frequencies_puts_octaves_out_of_tune(music):
    def heard(sound: torch.Tensor) -> torch.Tensor:
        return tuning(spectra(sound, LINE_FRAME).abs().clamp(min=1e-4).log())[0]

    times = torch.arange(music.shape[1]) / RATE
    analytic = torch.fft.ifft(torch.fft.fft(music) * (torch.fft.fftfreq(music.shape[1]) > 0) * 2)
    shifted = (analytic * torch.exp(2j * torch.pi * 17 * times)).real
    assert heard(shifted)[12] < heard(music)[12] - 0.1  # agreement of all on semitones
