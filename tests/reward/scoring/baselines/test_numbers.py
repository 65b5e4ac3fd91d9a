"""What baselines compute: the publishers' numbers on the same weights, and how a recording is cut into windows.

The publishers' numbers come from their own code (audiobox_aesthetics 0.0.4; msclap 1.3.4 with PAM's windows) on CPU,
given the small random weights of conftest.py.
"""

import numpy as np
import pytest
import soundfile
import torch
from transformers import ClapModel, ClapProcessor

from cmi.reward.model.encoders.muq_mulan import MuQ, MuQMuLanConfig
from cmi.reward.scoring import load_scorer
from cmi.reward.scoring.baselines import clamp3, muq_mulan, pam, songeval
from cmi.take import Prompt, Take


@pytest.fixture
def sweep(tmp_path):
    """A rising tone in a little noise, at the rate a model hears, so that nothing is resampled."""

    def write(rate, seconds):
        time = np.arange(int(rate * seconds)) / rate
        tone = 0.2 * np.sin(2 * np.pi * 220 * time * (1 + time / 10))
        noise = np.random.default_rng(1).standard_normal(len(time)) * 0.02
        soundfile.write(tmp_path / "sweep.wav", (tone + noise).astype(np.float32), rate, subtype="FLOAT")
        return tmp_path / "sweep.wav"

    return write


def score(name, places, sound, text="piano"):
    scorer = load_scorer(f"{name}={','.join(map(str, places(name)))}", device="cpu")
    return scorer.score([Take(Prompt(text), sound)])[0]


@pytest.mark.parametrize(
    ("name", "published"),
    [("audiobox-ce", 5.605953), ("audiobox-cu", 4.53526), ("audiobox-pc", 5.138751), ("audiobox-pq", 5.793551)],
)
def test_audiobox_gives_the_publishers_number(name, published, places, sweep):
    assert score(name, places, sweep(16_000, 12.5)).musicality == pytest.approx(published, abs=1e-5)


def test_pam_gives_the_publishers_number(places, sweep):
    assert score("pam", places, sweep(44_100, 8.0)).musicality == pytest.approx(0.601462, abs=1e-5)


def test_clap_is_the_cosine_of_what_transformers_gives(places, sweep):
    """For a recording of one whole window there is nothing to choose."""
    path = sweep(48_000, 10.0)
    (folder,) = places("clap")
    model = ClapModel.from_pretrained(folder).eval()
    processor = ClapProcessor.from_pretrained(folder)
    samples, _ = soundfile.read(path, dtype="float32")
    heard = processor.feature_extractor(samples, sampling_rate=48_000, return_tensors="pt")
    read = processor.tokenizer("piano", return_tensors="pt")
    with torch.inference_mode():
        sound = model.get_audio_features(heard["input_features"]).pooler_output[0]
        text = model.get_text_features(read["input_ids"], read["attention_mask"]).pooler_output[0]
    assert score("clap", places, path).alignment == pytest.approx(float(sound @ text), abs=1e-6)


def test_a_long_recording_is_the_mean_of_its_windows(places, tmp_path):
    """Audiobox's number of 20 s is the mean of its halves'."""
    samples = np.random.default_rng(0).standard_normal(20 * 16_000).astype(np.float32) * 0.1
    samples[160_000:] = 0.2 * np.sin(np.arange(160_000) / 20)
    values = []
    for part in (samples, samples[:160_000], samples[160_000:]):
        soundfile.write(tmp_path / "part.wav", part, 16_000, subtype="FLOAT")
        values.append(score("audiobox-ce", places, tmp_path / "part.wav").musicality)
    assert values[1] != pytest.approx(values[2], abs=1e-4)
    assert values[0] == pytest.approx((values[1] + values[2]) / 2, abs=1e-5)


def test_songeval_hears_what_the_sixth_layer_says():
    torch.manual_seed(0)
    model = MuQ(MuQMuLanConfig(4, 32, 7, 4, 48)).eval()
    states = []
    for layer in model.conformer.layers:
        layer.register_forward_hook(lambda module, inputs, output: states.append(output))
    samples = torch.randn(1, 24_000)
    with torch.inference_mode():
        model(samples, None, None)
        assert torch.equal(songeval.encode_layers(model, samples, 6), states[5])


def test_the_last_window_of_mulan_goes_on_with_the_recordings_start():
    second = 24_000
    samples = torch.arange(25.0 * second)
    windows = muq_mulan.windows_of(samples)
    assert windows.shape == (3, 10 * second)
    assert torch.equal(windows[2], torch.cat([samples[20 * second :], samples[: 5 * second]]))
    assert muq_mulan.windows_of(samples[: 20 * second]).shape == (2, 10 * second)
    assert muq_mulan.windows_of(samples[: 3 * second]).shape == (1, 6 * second)


def test_pam_hears_the_last_seven_seconds_where_something_is_left():
    second = 44_100
    samples = torch.arange(16.0 * second)
    windows = pam.windows_of(samples)
    assert windows.shape == (3, 7 * second)
    assert torch.equal(windows[2], samples[-7 * second :])
    assert pam.windows_of(samples[: 14 * second]).shape == (2, 7 * second)
    short = pam.windows_of(samples[: 3 * second])
    assert short.shape == (1, 7 * second)
    assert torch.equal(short[0, 3 * second : 6 * second], samples[: 3 * second])


def test_clamp3_weighs_stretches_by_what_is_new_in_them():
    sequence = torch.arange(300.0)[:, None].expand(-1, 2)
    heard = []

    def embed(part):
        heard.append(part[[0, -1], 0].tolist())
        return torch.tensor([1.0, 0.0]) if len(heard) < 3 else torch.tensor([0.0, 1.0])

    vector = clamp3.in_stretches(embed, sequence)
    assert heard == [[0, 127], [128, 255], [172, 299]]
    assert vector == pytest.approx(torch.tensor([256.0, 44.0]) / np.hypot(256, 44))
