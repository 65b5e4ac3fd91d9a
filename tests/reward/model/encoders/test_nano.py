"""nano's encoder gives a clip the tokens it gives alone, and hears no difference where there is none to hear."""

import pytest
import torch
from torch.nn import functional

from cmi import Prompt, Take, Waveform
from cmi.reward.model.blend import EXTRA
from cmi.reward.model.encoders.ear import FRAME, WIDTH, WORD, WORD_FRAMES, Ear
from cmi.reward.model.encoders.musicnn import windows
from cmi.reward.model.encoders.nano import (
    DIM,
    RATE,
    TEXT_TOKENS,
    TOKEN,
    Nano,
    Reduction,
    _half_band,
    begun,
    halve_rate,
    load_tokenizer,
)
from cmi.reward.model.encoders.spectrograms import made_once
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.scoring.scorer import RewardScorer


@pytest.fixture(scope="module")
def nano(wheel) -> RewardModel:
    """The model that comes with cmi; `wheel` skips where musicnn can't be had."""
    return RewardModel.from_pretrained("nano", device="cpu")


@pytest.fixture(scope="module")
def encoder(nano) -> Nano:
    return nano.encoder


@pytest.fixture(scope="module")
def sound() -> torch.Tensor:
    """Four seconds of chords with drums."""
    times = torch.arange(4 * RATE) / RATE
    chord = sum(torch.sin(2 * torch.pi * f * times) for f in (131, 165, 196, 392))
    drums = torch.randn(times.shape, generator=torch.Generator().manual_seed(0)) * torch.exp(-30 * (times % 0.5))
    return 0.1 * (chord * torch.exp(-2 * (times % 1)) + drums)


@torch.inference_mode()
def test_a_shorter_clip_gives_the_tokens_it_gives_alone(encoder, sound):
    short = sound[: 2 * RATE + 123]
    batch = torch.stack([sound, torch.cat([short, torch.full((len(sound) - len(short),), 9.0)])])
    together = encoder.encode_sound(batch, torch.tensor([len(sound), len(short)]))
    for row, alone in zip(together, (sound, short), strict=True):
        tokens = encoder.encode_sound(alone[None])[0]
        assert len(tokens) == encoder.count(len(alone))
        assert (row[: len(tokens)] - tokens).abs().max() < 1e-3


@pytest.mark.parametrize("samples", [RATE // 2, TOKEN - 1, TOKEN, TOKEN + 1, 3 * TOKEN + 5])
@torch.inference_mode()
def test_every_length_gives_as_many_tokens_as_counted(encoder, sound, samples):
    tokens = encoder.encode_sound(sound[None, :samples])
    assert tokens.shape == (1, encoder.count(samples), DIM + EXTRA + 1)
    assert tokens.isfinite().all()


@pytest.mark.parametrize("gain", [0.5, 2.0, -1.0])
@torch.inference_mode()
def test_gain_and_polarity_change_nothing(encoder, sound, gain):
    assert (encoder.encode_sound(gain * sound[None]) - encoder.encode_sound(sound[None])).abs().max() < 1e-2


@torch.inference_mode()
def test_texts_of_different_lengths_share_a_call(encoder):
    tokenize = load_tokenizer()
    long, short = tokenize("a slow sad piano with rain and a distant choir"), tokenize("rock")
    ids = torch.tensor([long, short + [0] * (len(long) - len(short))])
    mask = torch.tensor([[True] * len(long), [i < len(short) for i in range(len(long))]])
    together = encoder.encode_text(ids, mask)
    assert (together[1, : len(short)] - encoder.encode_text(torch.tensor([short]))[0]).abs().max() < 1e-4
    assert len(tokenize("word " * 1000)) > TEXT_TOKENS  # and not cut here: the reader says so and cuts


def test_fewer_than_ten_million_parameters_were_trained_and_the_file_is_small(nano):
    trained = sum(p.numel() for part in (nano.head, nano.encoder.ear) for p in part.parameters())
    assert trained < 10_000_000
    assert (nano.folder / "model.safetensors").stat().st_size < 40_000_000
    assert nano.full_name.startswith("nano@")


def test_saved_and_loaded_it_is_the_same(nano, sound, tmp_path):
    nano.save_pretrained(tmp_path / "copy")
    again = RewardModel.from_pretrained(tmp_path / "copy", device="cpu")
    assert again.encoder_name == nano.encoder_name
    with torch.inference_mode():
        assert torch.equal(again.hear(sound), nano.hear(sound))


@torch.inference_mode()
def test_the_ear_has_a_frame_for_every_5120_samples_begun(sound):
    ear = Ear().eval()
    for samples in (FRAME, FRAME + 1, len(sound)):
        assert ear.frames(sound[None, :samples]).shape == (1, -(-samples // FRAME), WIDTH)


@torch.inference_mode()
def test_the_ear_has_a_word_for_every_six_frames_begun(sound):
    ear = Ear().eval()
    frames = ear.frames(sound[None])
    count = -(-frames.shape[1] // WORD_FRAMES)
    words = ear.words(frames, count)
    assert words.shape == (1, count, WORD)
    assert torch.allclose(words[:, :2], ear.words(frames[:, : 2 * WORD_FRAMES], 2), atol=1e-5)


def test_halving_the_rate_keeps_what_is_below_8_khz_and_nothing_above():
    times = torch.arange(RATE) / RATE
    low, high = (halve_rate(torch.sin(2 * torch.pi * f * times)[None])[0, 500:-500] for f in (1000.0, 12_000.0))
    assert low.square().mean() == pytest.approx(0.5, abs=0.01)
    assert high.square().mean() < 1e-5


@pytest.mark.parametrize("samples", [1, 2, 61, 64, 65, 4095, 32_001])
def test_halving_the_rate_by_a_matrix_product_is_the_convolution(samples):
    sound = torch.randn(2, samples, generator=torch.Generator().manual_seed(0))
    plain = functional.conv1d(sound[:, None], _half_band(), stride=2, padding=31)[:, 0]
    assert halve_rate(sound).shape == plain.shape
    assert torch.allclose(halve_rate(sound), plain, atol=2e-6)


def test_takes_scored_at_once_on_several_cores_score_as_one_by_one(nano, sound):
    takes = [Take(Prompt("slow piano" * (i % 2)), Waveform(sound[: RATE * (1 + i)].numpy(), RATE)) for i in range(4)]
    together = RewardScorer(nano, workers=3).score(takes)
    assert together == [RewardScorer(nano, workers=1).score([take])[0] for take in takes]


def test_windows_are_of_the_frames_that_are_there():
    frames = torch.arange(10.0).view(1, 10, 1)
    mean, most, count = windows(frames, 4, 3, torch.tensor([6]))
    assert mean[0, :, 0].tolist() == [1.5, 4.5, 0]
    assert most[0, :, 0].tolist() == [3, 5, 0]
    assert count[0, :, 0].tolist() == [4, 2, 0]


def test_reduced_features_have_unit_variance_and_are_uncorrelated():
    rng = torch.Generator().manual_seed(0)
    rows = torch.randn(500, 6, generator=rng) @ torch.randn(6, 20, generator=rng) + 3
    reduction = Reduction(20, 4)
    reduction.fit(rows)
    reduced = reduction(rows)
    assert torch.cov(reduced.detach().T).numpy() == pytest.approx(torch.eye(4).numpy(), abs=0.02)


@torch.inference_mode()
def test_silence_in_front_hardly_moves_a_token(encoder, sound):
    late = torch.cat([torch.zeros(640), sound])[None]  # 20 ms
    heard, moved = encoder.encode_sound(sound[None]), encoder.encode_sound(late)
    last = moved.shape[1] - 2  # the one that the end of the sound moved in, and the bridge
    assert (heard[:, : last - 1] - moved[:, : last - 1]).abs().mean() < 0.1 * heard.std()


def test_silence_at_the_beginning_moves_to_the_end_of_what_is_there():
    sounds = torch.tensor([[0.0, 0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.0, 0.0]])
    assert begun(sounds)[0].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.0, 0.0])
    assert begun(sounds, torch.tensor([5, 3]))[1].tolist() == pytest.approx([0.1, 0.2, 0.0, 0.0, 0.0])
    assert begun(torch.zeros(1, 4)).tolist() == [[0.0] * 4]


def test_what_is_made_once_in_inference_mode_takes_part_in_gradients():
    """A score before the first gradient of a process must not spoil the constants that both use."""
    made = made_once(lambda: torch.ones(3))
    with torch.inference_mode():
        made()
    x = torch.zeros(3, requires_grad=True)
    (x * made()).sum().backward()
    assert torch.equal(x.grad, torch.ones(3))
