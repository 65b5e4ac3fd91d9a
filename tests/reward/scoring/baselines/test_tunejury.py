"""TuneJury: what each branch hears, and how the three meet in the head. CLAP was also compared, once and at full size,

with LAION's own code (laion_clap 1.1.7) on random weights: 6e-8 on sounds of 3, 10 and 17 s, 9e-7 on a text.
"""

import numpy as np
import pytest
import soundfile
import torch
from torch.nn import functional
from transformers import ClapFeatureExtractor, HubertConfig, HubertModel

from cmi._util.errors import InputError
from cmi.reward.scoring import load_scorer
from cmi.reward.scoring.baselines import sources, tunejury
from cmi.take import Prompt, Take

from .conftest import laion_clap, random_state, save_tunejury_clap, tunejury_shapes


@pytest.fixture
def jury(places):
    return load_scorer(f"tunejury={','.join(map(str, places('tunejury')))}", device="cpu")


def write(path, samples, rate):
    soundfile.write(path, np.asarray(samples, np.float32), rate, subtype="FLOAT")
    return path


def test_the_score_is_the_head_of_clap_mert_and_text_in_this_order(jury, places, tmp_path):
    """By transformers' modules and the head's definition, without ours; 48 kHz is heard by CLAP as it is."""
    rng = np.random.default_rng(0)
    samples = 0.1 * rng.standard_normal(48_000 * 10)
    path = write(tmp_path / "x.wav", samples, 48_000)
    mert = HubertModel.from_pretrained(places("tunejury")[2]).eval()
    model, text = laion_clap(), "slow sad piano"
    quantised = (np.float32(samples) * np.float32(32767)).astype(np.int16) / np.float32(32767)
    mels = ClapFeatureExtractor(frequency_min=50, truncation="rand_trunc")(
        quantised, sampling_rate=48_000, return_tensors="pt"
    )
    ids = torch.tensor([[0, *_letters(text, places("tunejury")[1]), 2]])
    with torch.inference_mode():
        sound = model.audio_projection(model.audio_model(input_features=mels["input_features"]).pooler_output)
        words = model.text_projection(model.text_model(input_ids=ids).pooler_output)
        heard = mert(tunejury.load_audio(path, 24_000)[None]).last_hidden_state.mean(dim=1)
        unit = functional.normalize
        features = torch.cat([unit(sound, dim=-1), heard, unit(words, dim=-1)], dim=1)
        state = random_state(tunejury_shapes(96, 12, 8, 1))
        for i in (0, 1):
            features = functional.linear(features, state[f"net.{4 * i}.weight"], state[f"net.{4 * i}.bias"])
            norm = [state[f"net.{4 * i + 1}.{name}"] for name in ("running_mean", "running_var", "weight", "bias")]
            features = functional.batch_norm(features, *norm).relu()
        expected = float(functional.linear(features, state["net.8.weight"], state["net.8.bias"]))
    assert jury.score([Take(Prompt(text), path)])[0].musicality == pytest.approx(expected, abs=1e-5)


def _letters(text, folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False)["input_ids"]


def test_without_a_prompt_the_text_is_zeros(jury, places, tmp_path):
    path = write(tmp_path / "x.wav", 0.1 * np.sin(np.arange(48_000) / 9), 24_000)
    silent = load_scorer(f"tunejury-no-prompt={','.join(map(str, places('tunejury')))}", device="cpu")
    empty, asked = (jury.score([Take(Prompt(text), path)])[0] for text in ("", "piano"))
    assert empty != asked
    assert [silent.score([Take(Prompt(text), path)])[0] for text in ("", "piano")] == [empty, empty]


def test_clap_hears_the_middle_and_mert_all(places, tmp_path):
    rng = np.random.default_rng(1)
    middle = 0.1 * rng.standard_normal(48_000 * 10)
    long = np.concatenate([0.1 * np.sin(np.arange(48_000 * 2) / 30), middle, 0.2 * np.sin(np.arange(48_000 * 2) / 7)])
    paths = [write(tmp_path / f"{i}.wav", one, 48_000) for i, one in enumerate((middle, long))]
    scores = {}
    for name in ("tunejury-clap", "tunejury"):
        scorer = load_scorer(f"{name}={','.join(map(str, places(name)))}", device="cpu")
        scores[name] = [scorer.score([Take(Prompt(""), path)])[0].musicality for path in paths]
    assert scores["tunejury-clap"][0] == pytest.approx(scores["tunejury-clap"][1], abs=1e-6)
    assert scores["tunejury"][0] != pytest.approx(scores["tunejury"][1], abs=1e-6)


def test_mert_hears_long_recordings_in_stretches(places, tmp_path, monkeypatch):
    """Of equal stretches the mean over all frames is the mean of the stretches' means; a tail joins the last one."""
    _, network = sources.build(tunejury.MERT, [str(places("tunejury")[2])], tunejury.build_mert)
    mert = tunejury.Mert(network, False, torch.device("cpu"))
    monkeypatch.setattr(tunejury, "MERT_STRETCH", 24_000 * 2)
    sound = 0.1 * np.random.default_rng(2).standard_normal(24_000 * 4 + 500)
    parts = [sound[:48_000], sound[48_000:]]  # the last 500 samples are no stretch of their own
    with torch.inference_mode():
        whole = mert.embed_sound(write(tmp_path / "whole.wav", sound, 24_000))
        frames = [network(torch.tensor(np.float32(part))[None]).last_hidden_state[0] for part in parts]
    assert torch.allclose(whole, torch.cat(frames).mean(dim=0), atol=1e-5)


def test_a_large_mert_may_weigh_its_residuals():
    """`deepnorm` as MERT's own code has it, written out; without it the same weights give other numbers."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48}
    sizes |= {"conv_dim": [8] * 7, "num_conv_pos_embedding_groups": 4}
    torch.manual_seed(0)
    plain = HubertModel(HubertConfig(**sizes)).eval()
    ours = tunejury.build_mert(plain.state_dict(), {**sizes, "deepnorm": True, "attention_relax": 32.0})
    samples, alpha = torch.randn(1, 8000), (2 * 3) ** 0.25
    with torch.inference_mode():
        x = plain.feature_projection(plain.feature_extractor(samples).transpose(1, 2))
        x = plain.encoder.layer_norm(x + plain.encoder.pos_conv_embed(x))
        for layer in plain.encoder.layers:
            x = layer.layer_norm(alpha * x + layer.attention(x)[0])
            x = layer.final_layer_norm(alpha * x + layer.feed_forward(x))
        assert torch.allclose(ours(samples).last_hidden_state, x, atol=1e-5)
        assert not torch.allclose(plain(samples).last_hidden_state, x, atol=1e-2)
    with pytest.raises(InputError, match="deepnorm and do_stable_layer_norm"):
        tunejury.build_mert(plain.state_dict(), {**sizes, "deepnorm": True, "do_stable_layer_norm": True})


def test_a_head_for_other_encoders_is_one_sentence(places, tmp_path):
    torch.save(random_state(tunejury_shapes(40, 8, 1)), tmp_path / "tunejury.pt")
    others = ",".join(map(str, places("tunejury")[1:]))
    with pytest.raises(InputError, match="a head of 40 features, and these encoders give 96"):
        load_scorer(f"tunejury={tmp_path},{others}", device="cpu")
    torch.save({"score.0.weight": torch.zeros(3, 3)}, tmp_path / "tunejury.pt")
    with pytest.raises(InputError, match="not a head of TuneJury's"):
        load_scorer(f"tunejury={tmp_path},{others}", device="cpu")


def test_a_folder_with_the_wrong_head_names_the_right_one(places, tmp_path):
    save_tunejury_clap(tmp_path)
    with pytest.raises(InputError, match=r"no weights, expected tunejury\.safetensors or tunejury\.pt"):
        load_scorer(f"tunejury={tmp_path},{','.join(map(str, places('tunejury')[1:]))}", device="cpu")
