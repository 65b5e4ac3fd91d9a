"""nano's head: the untrained term is that of `tags`, and no text is liked more than another for itself."""

from pathlib import Path

import numpy as np
import pytest
import torch

from cmi.audio import Waveform
from cmi.reward.model.blend import EXTRA, NEAR, SCALE, TAGGED, WEIGHT, BlendedHead
from cmi.reward.model.encoders.nano import RATE, TAGS
from cmi.reward.model.head import PromptTokens, RewardHead
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.scoring.scorer import NOT_MUSIC
from cmi.reward.scoring.tags import tag_weights
from cmi.take import Prompt, Take


@pytest.fixture(scope="module")
def nano(wheel) -> RewardModel:
    """The model that comes with cmi; `wheel` skips where musicnn can't be had."""
    return RewardModel.from_pretrained("nano", device="cpu")


@pytest.fixture(scope="module")
def head(nano) -> BlendedHead:
    assert isinstance(nano.head, BlendedHead)
    return nano.head


@pytest.fixture(scope="module")
def sound() -> torch.Tensor:
    times = torch.arange(6 * RATE) / RATE
    chord = sum(torch.sin(2 * torch.pi * f * times) for f in (131, 165, 196, 392))
    drums = torch.randn(times.shape, generator=torch.Generator().manual_seed(0)) * torch.exp(-30 * (times % 0.5))
    return 0.1 * (chord * torch.exp(-2 * (times % 1)) + drums)


def read(nano: RewardModel, text: str) -> torch.Tensor:
    return nano.encoder.encode_text(torch.tensor([nano.tokenize(text)]))


def asked(nano: RewardModel, text: str, reference: torch.Tensor | None = None) -> torch.Tensor:
    """A fused prompt: (1, P, 987)."""
    prompt = PromptTokens(read(nano, text), read(nano, ""), reference)
    return nano.head.fuse(nano.head.join(prompt))


@torch.inference_mode()
def test_a_text_asks_of_tags_what_it_is_like_as_a_whole_what_each_of_its_words_is_like_and_what_it_names(nano, head):
    bank = head.bank_tags.double().numpy()
    z = (bank - bank.mean(axis=0)) / bank.std(axis=0)
    text = torch.nn.functional.normalize(read(nano, "slow sad bandoneon")[0, :, :-1], dim=1)
    banks = (head.bank_names, head.bank_words)
    names, words = (torch.nn.functional.normalize(bank, dim=1).double().numpy() for bank in banks)
    tokens = text.double().numpy()
    nearness = np.exp(tokens @ words.T / NEAR)
    meant = nearness / nearness.sum(axis=1, keepdims=True) @ head.bank_meant.double().numpy()

    def of_size_1(weights):
        return weights / (z @ weights).std()

    whole = of_size_1(of_size_1(tag_weights(names @ tokens[0])) + of_size_1(meant[0]))
    named = of_size_1(np.array([tag in ("slow", "sad") for tag in TAGS], dtype=float))
    expected = of_size_1(whole + of_size_1(meant[1:-1].sum(axis=0)) + named)
    weights = asked(nano, "slow sad bandoneon")[0, 0, head.config.dim :][:TAGGED]
    assert weights.double().numpy() == pytest.approx(expected, abs=1e-3)


@torch.inference_mode()
@pytest.mark.parametrize(
    ("text", "named", "ruled_out"),
    [
        ("Rock from the 70's", {"rock", "70s"}, set()),
        ("a slow-paced R&B song of the 1990s", {"slow", "rnb", "90s"}, set()),
        ("house with no vocals", {"House", "no vocals", "no vocal", "no voice", "instrumental"}, {"vocal", "vocals"}),
        ("a rockery full of bandoneons", set(), set()),
        ("", set(), set()),
    ],
)
def test_a_tag_is_named_word_for_word_as_people_spell_it(nano, head, text, named, ruled_out):
    found = head._spelt(read(nano, text)[..., -1])[0]
    assert {TAGS[i] for i in torch.where(found == 1)[0]} == named
    assert {TAGS[i] for i in torch.where(found == -1)[0]} == ruled_out
    assert set(found.tolist()) <= {-1.0, 0.0, 1.0}


@torch.inference_mode()
def test_of_two_texts_that_differ_in_a_word_each_asks_more_for_its_own(nano, head):
    eighties, sixties = (asked(nano, f"a song like pop from the {era}, with voices") for era in ("80s", "60s"))
    more = (eighties - sixties)[0, 0, head.config.dim :][:TAGGED]
    assert TAGS[int(more.argmax())] == "80s" and TAGS[int(more.argmin())] == "60s"


@torch.inference_mode()
@pytest.mark.parametrize(
    ("text", "asks", "rather_than"),
    [("dubstep", "techno", "folk"), ("bossa nova", "jazz", "metal"), ("baroque", "harpsichord", "Hip-Hop")],
)
def test_a_word_that_is_no_tag_asks_for_the_tags_it_goes_with(nano, head, text, asks, rather_than):
    weights = asked(nano, text)[0, 0, head.config.dim :][:TAGGED]
    assert weights[TAGS.index(asks)] > 0.1 > 0.05 > weights[TAGS.index(rather_than)]


@torch.inference_mode()
@pytest.mark.parametrize("text", ["heavy metal", "a calm piano piece by the sea", ""])
def test_over_the_bank_the_heads_own_score_has_mean_0_and_deviation_1_under_any_text(nano, head, text):
    prompt = asked(nano, text)
    clips = RewardHead.thin(head, head.bank_tokens)
    clips = torch.cat([clips, clips.new_zeros(*clips.shape[:2], EXTRA + 1)], dim=2)  # nothing is said beside them
    scores = head.judge(prompt.expand(len(clips), -1, -1), clips)[:, 0] / SCALE
    assert float(scores.mean()) == pytest.approx(0, abs=1e-3) and float(scores.std()) == pytest.approx(1, abs=1e-3)


@torch.inference_mode()
def test_a_prompt_without_words_asks_nothing_of_tags_and_a_reference_is_nearest_to_itself(nano, head, sound):
    dim, heard = head.config.dim, nano.hear(sound)
    assert not asked(nano, "")[0, 0, dim:-2].any()
    like = asked(nano, "", heard)
    assert not like[0, 0, dim : dim + TAGGED].any()
    take = head.thin(heard)[0, 0, dim + TAGGED : -1]
    bank = torch.cat([head._direction(head.bank_features), head.bank_melodies], dim=1)
    scores = torch.cat([take[None], bank]) @ like[0, 0, dim + TAGGED : -3] + like[0, 0, -3]
    assert scores[0] > scores[1:].max()
    assert float(scores[1:].mean()) == pytest.approx(0, abs=1e-3)
    assert 0.5 < float(scores[1:].std(correction=0)) < 1.5  # two cosines of deviation 1, over the root of two
    both = asked(nano, "piano", heard)
    assert torch.allclose(both[0, 0, dim + TAGGED : -3] * 2, like[0, 0, dim + TAGGED : -3])  # the mean of two parts


@torch.inference_mode()
def test_what_is_untrained_is_added_with_its_weight(nano, head, sound):
    prompt, take = asked(nano, "piano"), head.thin(nano.hear(sound))
    lifted = take.clone()
    lifted[0, :, -EXTRA - 1 : -EXTRA - 1 + TAGGED] += prompt[0, 0, head.config.dim :][:TAGGED]
    more = prompt[0, 0, head.config.dim :][:TAGGED].square().sum()
    assert torch.allclose(
        head.judge(prompt, lifted)[:, 0] - head.judge(prompt, take)[:, 0], SCALE * WEIGHT * more, rtol=1e-3
    )


@torch.inference_mode()
def test_a_padded_prompt_is_the_prompt(nano, head):
    joined = head.join(PromptTokens(read(nano, "solo cello"), read(nano, "")))
    padded = torch.nn.functional.pad(joined, (0, 0, 0, 9), value=7.0)
    mask = torch.arange(padded.shape[1])[None] < joined.shape[1]
    alone, together = head.fuse(joined), head.fuse(padded.expand(2, -1, -1), mask.expand(2, -1))
    assert torch.allclose(together[1, : joined.shape[1]], alone[0], atol=1e-3)


@torch.inference_mode()
def test_craft_is_one_number_of_a_chunk_which_is_its_musicality_and_falls_with_noise(nano, head, sound):
    hiss = 0.1 * torch.randn(sound.shape, generator=torch.Generator().manual_seed(1))
    heard, worse = nano.hear(sound), nano.hear(sound + hiss)
    assert heard[0, :, -1].unique().numel() == 1 and heard[0, 0, -1] > worse[0, 0, -1]
    lifted = heard.clone()
    lifted[..., -1] += 1
    prompt = asked(nano, "piano")
    scores = [head.judge(prompt, head.thin(tokens))[0] for tokens in (heard, lifted)]
    assert torch.allclose(scores[1] - scores[0], torch.tensor([0.0, 1.0]), atol=1e-5)


@torch.inference_mode()
@pytest.mark.parametrize("seconds", [0.5, 4, 6])
def test_craft_of_a_shorter_clip_is_what_it_is_alone(nano, sound, seconds):
    length = int(seconds * RATE)
    both = torch.stack([sound, torch.nn.functional.pad(sound[:length], (0, len(sound) - length))])
    together = nano.encoder.encode_sound(both, torch.tensor([len(sound), length]))
    alone = nano.encoder.encode_sound(sound[None, :length])
    assert float(together[1, 0, -1]) == pytest.approx(float(alone[0, 0, -1]), abs=2e-3)


def test_a_take_has_one_score_alone_and_in_company(nano, sound, tmp_path: Path):
    soundfile = pytest.importorskip("soundfile")
    paths = [tmp_path / f"{name}.wav" for name in "abc"]
    for path, seconds in zip(paths, (6, 3, 5), strict=True):
        soundfile.write(path, sound[: seconds * RATE].numpy(), RATE)
    reference = Waveform(np.ascontiguousarray(sound[RATE:].numpy()), RATE)
    prompts = [Prompt("piano"), Prompt("heavy metal"), Prompt("piano", reference=reference)]
    takes = [Take(prompt, path) for path in paths for prompt in prompts]
    together = nano.score(takes, cache=None, workers=0)
    assert together == [nano.score(take, cache=None, workers=0) for take in takes]
    assert together[::-1] == nano.score(takes[::-1], cache=None, workers=0)


def test_a_take_under_5_seconds_is_scored_with_a_note(nano, sound):
    waves = [Waveform(sound[: seconds * RATE].numpy(), RATE) for seconds in (3, 6)]
    short, long = nano.scorer(cache=None).judge([Take(Prompt("piano"), wave) for wave in waves])
    assert short.notes == ("only 3.0 s long; the model was trained on takes of 5 s or more",) and long.notes == ()


def test_what_is_no_music_is_scored_with_a_note(nano, sound):
    times = torch.arange(6 * RATE) / RATE
    tone = torch.sin(2 * torch.pi * 440 * times)
    noise = torch.randn(times.shape, generator=torch.Generator().manual_seed(1))
    beeps = tone * (times % 0.5 < 0.1)
    waves = [Waveform(x.numpy(), RATE) for x in (0.1 * tone, 0.1 * beeps, 0.1 * noise, sound)]
    *strange, music = nano.scorer(cache=None).judge([Take(Prompt("piano"), wave) for wave in waves])
    assert [take.notes for take in strange] == [(NOT_MUSIC,)] * 3 and music.notes == ()


@torch.inference_mode()
def test_a_training_starts_from_the_head_that_was_trained(sound, wheel):
    model = RewardModel.from_pretrained("nano", device="cpu")
    heard = model.hear(sound)
    own, craft = model(PromptTokens(read(model, "piano"), read(model, "")), heard), heard[0, 0, -1]
    plain = model.plain()
    assert type(plain.head) is RewardHead and plain.hear(sound).shape[2] == plain.head.config.dim
    assert float(own[0, 1]) == pytest.approx(float(craft), abs=1e-4)
