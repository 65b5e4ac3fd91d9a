from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from cmi.reward.model.encoders.musicnn import (
    BANDS,
    DIM,
    HOP,
    MODELS,
    MSD_TAGS,
    MTT_TAGS,
    PATCH,
    SHORTEST,
    Branch,
    Musicnn,
    MusicnnNorm,
    Rhythm,
    Timbre,
    load_musicnn,
    mel,
    mel_filters,
    read_checkpoint,
)


class Expected(NamedTuple):
    """What the network gives for `melody()`: frames 0, 100 and 250 of the whole, in two channels of each part (two of
    timbre, three of rhythm, three layers); every twentieth unit and all tags of the first patch."""

    channels: tuple[int, ...]
    frames: tuple[tuple[float, ...], ...]
    penultimate: tuple[float, ...]
    tags: tuple[float, ...]


# The package's own graph (musicnn 0.1.0, models.py as published) run by TensorFlow 2.15.1 with its checkpoints, on
# librosa 0.9.2's melspectrogram with pad_mode='reflect', which was the default when the package was written, and
# without its rounding to float16. Frames are from a graph whose input has all 251 frames, the rest from one of 187.
EXPECTED_MEL = (  # every twelfth band of frames 0, 100, 250
    (4.86324, 3.07851, 2.76508, 3.30464, 3.17499, 2.29204, 1.73110, 1.38353),
    (0.63548, 3.23375, 1.87563, 1.67024, 2.55632, 1.21917, 0.92455, 0.91885),
    (1.59438, 3.16660, 1.64299, 1.38612, 1.80869, 1.32019, 1.12804, 0.92464),
)
# fmt: off
EXPECTED = {
    "MTT_musicnn": Expected(
        channels=(
            91, 193, 315, 370, 422, 430, 481, 484, 526, 560, 593, 600, 658, 667, 738, 742,
        ),
        frames=(
            (
                12.62233, 4.41003, 10.11625, 10.47361, -1.01706, 1.82540, -0.33100, -1.01276,
                12.17699, 21.28733, 6.00046, 4.53139, 8.75758, 10.09154, 6.45446, 22.48245,
            ),
            (
                1.69378, 13.26479, -0.56045, -0.57290, -0.97188, 0.30188, 2.30068, 3.95138, 12.38052,
                0.97668, 0.19033, -0.61388, 0.01130, -0.10147, 27.50453, -0.24234,
            ),
            (
                0.98499, -0.15210, -0.56045, 1.52152, 1.22502, -0.32201, 7.11816, 5.11846, -1.29625,
                14.65564, 0.19033, -0.61388, 0.01130, -0.10147, -0.65120, 1.86714,
            ),
        ),
        penultimate=(
            1.18892, -0.05167, 0.59127, 1.31362, -0.02769, -0.12162, -0.16636, 0.27670, 0.26627, -0.20434,
        ),
        tags=(
            0.546741, 0.011715, 0.048082, 0.014871, 0.064798, 0.039413, 0.017566, 0.123730, 0.103126,
            0.021335, 0.003425, 0.018010, 0.025707, 0.084085, 0.011027, 0.016543, 0.030333, 0.000649,
            0.072787, 0.049593, 0.061968, 0.050569, 0.002411, 0.029487, 0.003351, 0.006024, 0.012996,
            0.090248, 0.045692, 0.058652, 0.007915, 0.033390, 0.037119, 0.053046, 0.002076, 0.000333,
            0.041984, 0.003268, 0.004077, 0.059842, 0.006453, 0.004562, 0.001335, 0.011907, 0.020823,
            0.009125, 0.170940, 0.005543, 0.006827, 0.000302,
        ),
    ),
    "MSD_musicnn": Expected(
        channels=(
            59, 155, 254, 398, 446, 448, 490, 509, 520, 525, 573, 611, 629, 634, 698, 714,
        ),
        frames=(
            (
                6.32320, 19.44676, 7.64634, 7.96512, 1.48364, 0.67836, 3.86235, -2.05185, 10.92499,
                16.57530, 1.15385, 2.31225, 8.67862, 0.17497, -2.23671, 16.16237,
            ),
            (
                0.11732, -0.08607, 1.27362, -1.20979, 1.55492, 0.02009, 1.10023, -1.19278, 1.32610,
                2.13826, 0.29129, -0.02055, -1.61574, 0.17497, 7.78481, -2.30437,
            ),
            (
                9.13785, -0.08607, -9.53492, 5.65274, 0.48834, -1.21203, -0.40471, -5.63360, 5.52514,
                4.00205, -0.95575, -0.21691, -1.61574, 15.65830, 25.10958, -1.84514,
            ),
        ),
        penultimate=(
            0.63507, 0.86720, -0.13595, 1.99696, 1.41975, 0.01790, 1.80547, 2.33699, -0.75586, -0.58773,
        ),
        tags=(
            0.065190, 0.006913, 0.027190, 0.099487, 0.005447, 0.003918, 0.000717, 0.002849, 0.005078,
            0.002131, 0.005865, 0.000029, 0.000905, 0.006971, 0.010352, 0.000936, 0.039688, 0.006337,
            0.000953, 0.000721, 0.019846, 0.001279, 0.001792, 0.001005, 0.000298, 0.008156, 0.745747,
            0.000367, 0.000380, 0.005847, 0.005120, 0.000362, 0.006649, 0.000075, 0.000967, 0.000883,
            0.015876, 0.001237, 0.000314, 0.001878, 0.000304, 0.001254, 0.000022, 0.000830, 0.004526,
            0.000037, 0.006131, 0.002016, 0.000155, 0.001064,
        ),
    ),
}
# fmt: on


def melody(seconds: float = 4) -> Tensor:
    """Plucked chords, a glide and noise, by arithmetic that is the same everywhere: (1, n)."""
    count = np.arange(int(seconds * 16_000))
    time = count / 16_000
    chord = sum(
        np.sin(2 * np.pi * tone * harmonic * time) / harmonic
        for tone in (220.0, 277.18, 329.63)
        for harmonic in range(1, 9)
    )
    glide = np.sin(2 * np.pi * (100 * time + 400 * time * time))
    noise = 2 * np.modf(count * count * 0.618033988749895)[0] - 1
    samples = 0.1 * chord * np.exp(-3 * (time % 0.5)) + 0.1 * glide + 0.02 * noise
    return torch.from_numpy(samples.astype(np.float32))[None]


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def network(wheel: Path, model: str) -> Musicnn:
    return Musicnn(read_checkpoint(wheel, model))


# As TensorFlow has it.


def test_the_spectrogram_is_librosas():
    found = mel(melody())
    assert found.shape == (1, 251, BANDS)
    assert found[0, [0, 100, 250], ::12].numpy() == pytest.approx(np.array(EXPECTED_MEL), abs=2e-5)


def test_frames_are_tensorflows(network, model):
    expected = EXPECTED[model]
    found = network.frames(mel(melody()))
    assert found.shape == (1, 251, DIM)
    sampled = found[0, [0, 100, 250]][:, expected.channels].numpy()
    # In the last layer TensorFlow's own float32 is this far from the same graph in float64; we are half as far.
    assert sampled == pytest.approx(np.array(expected.frames), rel=3e-5, abs=1e-4)


def test_units_and_tags_are_tensorflows(network, model):
    patch = mel(melody())[:, :PATCH]
    assert network.penultimate(patch)[0, ::20].numpy() == pytest.approx(EXPECTED[model].penultimate, abs=5e-5)
    assert network.tags(patch)[0].numpy() == pytest.approx(EXPECTED[model].tags, abs=5e-6)


def test_every_tag_has_a_name():
    assert len(set(MTT_TAGS)) == len(set(MSD_TAGS)) == 50
    guitar, blues = np.argmax(EXPECTED["MTT_musicnn"].tags), np.argmax(EXPECTED["MSD_musicnn"].tags)
    assert (MTT_TAGS[guitar], MSD_TAGS[blues]) == ("guitar", "blues")


# As the straightforward way has it.


def straightforward(x: Tensor, kernel: Tensor, bias: Tensor, norm: MusicnnNorm) -> Tensor:
    frames = len(kernel)
    padded = functional.pad(x[:, None], (0, 0, (frames - 1) // 2, frames // 2))
    responses = functional.conv2d(padded, kernel.permute(2, 0, 1)[:, None], bias)  # (B, C, T, positions)
    return norm(functional.relu(responses).permute(0, 2, 3, 1)).amax(2)


@pytest.mark.parametrize(
    ("kind", "frames", "bands"),
    [
        (Timbre, 7, 38),
        (Timbre, 7, 67),
        (Timbre, 1, 96),
        (Timbre, 4, 95),
        (Rhythm, 128, 1),
        (Rhythm, 64, 1),
        (Rhythm, 3, 1),
    ],
)
def test_a_branch_is_convolution_rectifier_norm_and_maximum(kind: type[Branch], frames, bands):
    torch.manual_seed(frames)
    kernel, bias = torch.randn(frames, bands, 6), torch.randn(6)
    kernel[:, :, 2] *= 1e-30  # as weight decay leaves them
    bias[3] = -1e6  # never lets anything through
    norm = MusicnnNorm(torch.tensor([1.0, -2.0, 3.0, 1.0, -0.5, 0.0]), torch.randn(6))
    x = torch.randn(2, 96, BANDS)
    branch = kind(kernel, bias, norm)
    assert branch.live.tolist() == [0, 1, 4]
    torch.testing.assert_close(branch(x), straightforward(x, kernel, bias, norm), rtol=1e-5, atol=1e-4)


def test_mel_filters_have_unit_area_and_lie_one_above_the_other():
    filters = mel_filters()
    assert filters.shape == (257, BANDS)
    assert (filters.argmax(0).diff() >= 0).all()
    hertz_per_bin = 31.25
    assert filters[:, 60:].sum(0).numpy() * hertz_per_bin == pytest.approx(
        1, abs=0.05
    )  # low ones are narrower than bins


# Alone or in company.


def test_a_clip_gives_the_same_frames_alone_and_in_a_batch(network):
    sound = melody()[0]
    clips = [sound[:17_777], sound, sound[5000:35_000], sound[:SHORTEST], sound[:48_000]]
    lengths = torch.tensor([len(clip) for clip in clips])
    padded = pad_sequence(clips, batch_first=True, padding_value=float("nan"))
    spectrograms = mel(padded, lengths)
    counts = lengths // 256 + 1
    for row, count in zip(spectrograms, counts, strict=True):
        assert (row[count:] == 0).all()
        row[count:] = float("nan")
    together = network.frames(spectrograms, counts)
    for clip, row in zip(clips, together, strict=True):
        count = 1 + len(clip) // HOP
        torch.testing.assert_close(row[:count], network.frames(mel(clip[None]))[0], rtol=1e-5, atol=1e-5)
        assert (row[count:] == 0).all()


def test_zeros_around_a_clip_are_not_silence(network):
    """What a length protects from: silence is heard."""
    spectrogram = mel(melody(1))
    silent = functional.pad(spectrogram, (0, 0, 0, 64))
    count = spectrogram.shape[1]
    assert not torch.allclose(network.frames(silent)[:, :count], network.frames(spectrogram), atol=0.1)
    heard = network.frames(silent, torch.tensor([count]))[:, :count]
    torch.testing.assert_close(heard, network.frames(spectrogram), rtol=1e-5, atol=1e-5)


def test_nothing_is_trained_or_saved(network):
    assert list(network.parameters()) == []
    assert network.state_dict() == {}
    assert not network.frames(mel(melody(1)).requires_grad_()).requires_grad


def test_it_loads_by_name(wheel, monkeypatch):
    monkeypatch.setenv("CMI_CACHE", str(wheel.parent))
    assert load_musicnn("MTT_musicnn").tags(mel(melody(3))).shape == (1, 50)
