"""The model as users hold it: scores, comparisons, rewards, and a head on another encoder."""

import math
import subprocess
import sys

import numpy as np
import pytest
import soundfile
import torch
from torch import Tensor, nn

from cmi import Prompt, RewardModel, Take, Waveform
from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.reward.model.encoders import make_encoder
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.model.head import HeadConfig, RewardHead, mask_of
from cmi.reward.scoring.rl import reward_function
from cmi.reward.scoring.scorer import RewardScorer


def noise(seed: int, seconds: float = 1.0, rate: int = RATE) -> Waveform:
    return Waveform(np.random.default_rng(seed).standard_normal(int(seconds * rate)).astype(np.float32) / 10, rate)


def test_importing_cmi_is_light():
    code = "import sys, cmi; from cmi import Prompt; print('torch' in sys.modules, cmi.Prompt('a').text)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "a"]
    with pytest.raises(ImportError, match="Nothing"):
        from cmi import Nothing  # noqa: F401


def test_one_take_has_one_score_and_several_have_several(tiny):
    takes = [Take(Prompt("a"), noise(i)) for i in range(3)]
    assert tiny.score(takes[1], cache=None) == pytest.approx(tiny.score(takes, cache=None)[1], abs=1e-6)


def test_the_better_take_wins_and_the_odds_add_up(tiny):
    a, b = (Take(Prompt("a"), noise(i)) for i in range(2))
    forth, back = tiny.compare(a, b, cache=None), tiny.compare(b, a, cache=None)
    for odds, other in zip(forth, back, strict=True):
        assert odds + other == pytest.approx(1)
    first, second = tiny.score([a, b], cache=None)
    assert (forth.musicality > 0.5) == (first.musicality > second.musicality)
    assert math.log(forth.alignment / back.alignment) == pytest.approx(first.alignment - second.alignment, abs=1e-6)
    same = tiny.compare(a, a, cache=None)
    assert same == (0.5, 0.5, 0.5)


def test_bf16_is_close_to_fp32_and_says_so(tiny, tmp_path):
    tiny.save_pretrained(tmp_path)
    exact, rough = (RewardModel.from_pretrained(tmp_path, device="cpu", precision=p) for p in ("fp32", "bf16"))
    rough._tokenize = exact._tokenize = tiny.tokenize
    take = Take(Prompt("a", "la"), noise(0, 3))
    one, other = exact.score(take, cache=None), rough.score(take, cache=None)
    assert one == pytest.approx(other, abs=0.05)
    assert one != other
    assert rough.full_name == f"{exact.full_name} in bf16"
    assert rough.encoder_name != exact.encoder_name


@pytest.mark.parametrize("name", ["gpu", "cuda:x:y", "cpu:z", ""])
def test_an_unknown_device_is_bad_input(name):
    with pytest.raises(InputError, match="device"):
        choose_device(name)


def test_the_device_is_found():
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else choose_device("auto").type)


class TestRewards:
    """Called as TRL calls it: keywords for everything, with columns that are of no concern here."""

    def test_texts_and_recordings_in_rewards_out(self, tiny, tmp_path):
        path = tmp_path / "take.wav"
        soundfile.write(path, noise(2).samples, RATE, subtype="FLOAT")
        scorer = RewardScorer(tiny)
        rewards = reward_function(scorer)(
            prompts=["slow piano", "slow piano", "drums"],
            completions=[noise(0), str(path), {"array": noise(1).samples, "sampling_rate": RATE}],
            completion_ids=[[1], [2], [3]],
            trainer_state=object(),
            lyrics=["la", None, ""],
            reference=[None, noise(5), None],
            genre=["a", "b", "c"],
        )
        takes = [
            Take(Prompt("slow piano", "la"), noise(0)),
            Take(Prompt("slow piano", "", noise(5)), noise(2)),
            Take(Prompt("drums"), noise(1)),
        ]
        assert rewards == pytest.approx([sum(score) / 2 for score in scorer.score(takes)], abs=1e-6)
        assert all(type(reward) is float for reward in rewards)

    def test_conversations_and_channels(self, tiny):
        scorer = RewardScorer(tiny)
        chat = [
            {"role": "system", "content": "You make music."},
            {"role": "user", "content": [{"type": "text", "text": "slow piano"}, {"type": "audio"}]},
        ]
        mono = noise(0).samples
        stereo = [np.stack([mono, mono]), torch.stack([torch.from_numpy(mono)] * 2, dim=1)]
        function = reward_function(scorer, musicality=1, alignment=0, sampling_rate=RATE)
        rewards = function(prompts=[chat, "slow piano"], audio=stereo)
        assert rewards == pytest.approx([scorer.score([Take(Prompt("slow piano"), noise(0))])[0].musicality] * 2)

    def test_what_can_not_be_heard_has_no_reward(self, tiny, tmp_path):
        function = reward_function(RewardScorer(tiny))
        with pytest.warns(UserWarning, match="nowhere"):
            rewards = function(prompts=["a", "a"], completions=[tmp_path / "nowhere.wav", noise(0)])
        assert rewards[0] is None
        assert isinstance(rewards[1], float)
        with pytest.warns(UserWarning, match="silent"):
            assert function(["a"], [Waveform(np.zeros(RATE, np.float32), RATE)]) == [None]

    def test_its_name_is_fit_for_a_log(self, tiny):
        assert reward_function(RewardScorer(tiny)).__name__ == "cmi_reward"

    def test_arrays_need_a_rate_and_calls_need_recordings(self, tiny):
        function = reward_function(RewardScorer(tiny))
        with pytest.raises(TypeError, match="sampling_rate"):
            function(prompts=["a"], completions=[noise(0).samples])
        with pytest.raises(TypeError, match="completions"):
            function(prompts=["a"])


class LoudnessEncoder(nn.Module):
    """Another frozen encoder, of a few lines: ten tokens a second from the loudness of 100 ms at 8 kHz."""

    rate, chunk, shortest, longest_text, dim = 8_000, 24_000, 800, 16, 12

    def count(self, samples: int) -> int:
        return samples // 800

    def encode_sound(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        frames = samples[:, : samples.shape[1] // 800 * 800].unflatten(1, (-1, 800))  # (B, T, 800)
        loudness = frames.square().mean(dim=2, keepdim=True).sqrt()
        return torch.cat([loudness * k for k in range(1, 13)], dim=2)

    def encode_text(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        return torch.sin(ids[..., None].float() * torch.arange(1, 13))


class OtherModel:
    encoder_name = ""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.encoder = LoudnessEncoder()
        config = HeadConfig(dim=12, heads=2, dim_head=6, ff_hidden=16, prompt_depth=1, joint_depth=1, mlp_dim=8)
        self.head = RewardHead(config).eval()

    def tokenize(self, text: str) -> list[int]:
        return [0, *text.encode(), 2]


def test_the_same_engine_and_head_run_on_another_encoder():
    model = OtherModel()
    takes = [Take(Prompt("soft", "la" * 20, noise(9) if i % 2 else None), noise(i, 0.5 + i, 16_000)) for i in range(6)]
    judged = list(RewardScorer(model, batch=3).judge(takes))
    assert judged[0].notes == ("16 of 42 tokens of lyrics read",)
    assert judged[4].seconds == 4.5
    alone = [RewardScorer(model).score([take])[0] for take in takes]
    for one, other in zip(judged, alone, strict=True):
        assert one.score == pytest.approx(other, abs=1e-6)
    assert mask_of(None, 3) is None


def test_an_encoder_is_found_by_the_name_of_its_module_and_an_unknown_one_is_named():
    assert make_encoder("nano", {}).name == "nano"
    for name in ("spectrograms", "nowhere", ["nano"]):
        with pytest.raises(InputError, match="which is not known; known are muq_mulan, nano"):
            make_encoder(name, {})


def test_a_metric_is_not_a_model_to_start_training_from():
    with pytest.raises(InputError, match="no reward model is called 'audiobox-ce': expected nano, cmi-rm, a folder"):
        RewardModel.from_pretrained("audiobox-ce")
