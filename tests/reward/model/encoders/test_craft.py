"""What is counted of a recording: each number moves with the flaw it is for, and polarity moves none."""

import pytest
import torch

from cmi.reward.model.encoders.craft import (
    counted,
    deviation,
    edges,
    lines,
    long_spectrum,
    ordered,
    outlines,
    peaks,
    phases,
    quantile,
    ringing,
    smallest,
    spectra,
    tuning,
)
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
    assert lines(outlines(long_spectrum(music + hum)))[0, place] > lines(outlines(long_spectrum(music)))[0, place] + 1


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
    assert (phases(spectra(smeared, 1024), 1024)[0, bands] < phases(spectra(music, 1024), 1024)[0, bands] - 0.1).all()


def test_a_shift_of_frequencies_puts_octaves_out_of_tune(music):
    def heard(sound: torch.Tensor) -> torch.Tensor:
        return tuning(long_spectrum(sound))[0]

    times = torch.arange(music.shape[1]) / RATE
    analytic = torch.fft.ifft(torch.fft.fft(music) * (torch.fft.fftfreq(music.shape[1]) > 0) * 2)
    shifted = (analytic * torch.exp(2j * torch.pi * 17 * times)).real
    assert heard(shifted)[12] < heard(music)[12] - 0.1  # agreement of all on semitones


def filtered(sound: torch.Tensor, gain) -> torch.Tensor:
    """Multiplied along frequency by `gain`, a function of hertz."""
    hertz = torch.fft.rfftfreq(sound.shape[1], 1 / RATE)
    return torch.fft.irfft(torch.fft.rfft(sound) * gain(hertz), n=sound.shape[1])


@pytest.fixture(scope="module")
def broad(music) -> torch.Tensor:
    """The chords with something at all frequencies, as recordings have."""
    noise = torch.randn(music.shape, generator=torch.Generator().manual_seed(0))
    return music + 0.1 * filtered(noise, lambda hertz: (hertz + 100) ** -0.5)


def test_a_weak_low_pass_and_a_weak_high_pass_make_the_edges_steeper(broad):
    upper, lower = slice(130, 135), slice(135, 140)  # the steepest fall above 900 Hz, and rise below 320 Hz
    dull = filtered(broad, lambda hertz: (1 + (hertz / 6000) ** 8) ** -0.5)
    thin = filtered(broad, lambda hertz: 1 - (1 + (hertz / 120) ** 8) ** -0.5)
    assert (edges(spectra(dull, 4096))[0, upper] < edges(spectra(broad, 4096))[0, upper] - 1).all()
    assert (edges(spectra(thin, 4096))[0, lower] > edges(spectra(broad, 4096))[0, lower] + 1).all()


def test_reverberation_slows_what_falls(broad):
    seconds = torch.arange(RATE) / RATE
    room = torch.randn(RATE, generator=torch.Generator().manual_seed(1)) * torch.exp(-3.5 * seconds)
    wet = torch.fft.irfft(torch.fft.rfft(broad, 8 * RATE) * torch.fft.rfft(room, 8 * RATE), 8 * RATE)
    wet = wet[:, : broad.shape[1]]
    mixed = broad + 0.3 * wet * broad.std() / wet.std()
    falls = slice(140, 156)  # the fastest hundredth of falls within a tenth of a second, in each half octave
    assert edges(spectra(mixed, 4096))[0, falls].mean() > edges(spectra(broad, 4096))[0, falls].mean()


def test_a_tube_is_heard_as_what_comes_again_along_frequency(broad):
    delay, ring = 0.0031, 0.9
    tube = filtered(broad, lambda hertz: 1 / (1 - ring * torch.exp(-2j * torch.pi * hertz * delay)))
    mixed = broad + 0.3 * tube * broad.std() / tube.std()
    teeth = slice(10, 16)  # of the mean spectrum
    with_tube, without = (ringing(outlines(long_spectrum(sound)))[0, teeth] for sound in (mixed, broad))
    assert (with_tube > without).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 37), (1, 1000), (1, 30, 7)])
def test_numpys_sorting_gives_torchs_numbers_to_the_last_bit(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    for dim in range(1, x.ndim):
        assert torch.equal(ordered(x, dim), x.sort(dim=dim).values)
        for shares in (0.15, (0.03, 0.2, 0.97), (0.0, 0.5, 1.0)):
            assert torch.equal(quantile(x, shares, dim), x.quantile(torch.tensor(shares), dim=dim))
    flat, places = x.flatten(1), torch.tensor([0, x[0].numel() // 2, x[0].numel() - 1])
    assert torch.equal(smallest(flat, places), flat.sort(dim=1).values[:, places])


def test_the_deviation_is_that_of_torch_and_0_of_what_is_constant():
    x = torch.randn(2, 625, 30, generator=torch.Generator().manual_seed(0)) * 10
    x[:, :, 7] = 0.1
    assert torch.allclose(deviation(x), x.std(dim=1), rtol=1e-6, atol=0)
    assert (deviation(x)[:, 7] == 0).all()
