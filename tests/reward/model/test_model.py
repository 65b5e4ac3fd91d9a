import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi.reward.model.head import (
    DOWNSAMPLERS,
    Downsampling,
    HeadConfig,
    PromptTokens,
    RewardHead,
    downsampler,
    two_strides,
)

SMALL = {"dim": 16, "heads": 2, "dim_head": 8, "ff_hidden": 20, "prompt_depth": 1, "joint_depth": 2, "mlp_dim": 8}


def tokens(count: int, seed: int = 0, batch: int = 1) -> torch.Tensor:
    return torch.randn(batch, count, 16, generator=torch.Generator().manual_seed(seed))


def head(**changes) -> RewardHead:
    torch.manual_seed(0)
    return RewardHead(HeadConfig(**{**SMALL, **changes})).eval()


@pytest.mark.parametrize("attention", ["SA", "CA"])
@torch.inference_mode()
def test_order_and_kind_of_prompt_tokens_do_not_matter(attention):
    model = head(attention=attention)
    text, lyrics, reference, take = tokens(5), tokens(3, 1), tokens(7, 2), tokens(20, 3)
    scores = model(PromptTokens(text, lyrics, reference), take)
    swapped = model(PromptTokens(lyrics, text.flip(1), reference), take.flip(1))
    assert torch.allclose(scores, swapped, atol=1e-5)
    assert not torch.allclose(scores, model(PromptTokens(text, lyrics), take), atol=1e-4)


@torch.inference_mode()
def test_text_only_does_not_hear_lyrics():
    model = head(mode="text_only")
    take = tokens(20, 3)
    assert torch.equal(
        model(PromptTokens(tokens(5), tokens(3, 1)), take), model(PromptTokens(tokens(5), tokens(9, 2)), take)
    )


@pytest.mark.parametrize("attention", ["SA", "CA"])
@torch.inference_mode()
def test_a_take_scores_the_same_alone_and_in_a_batch(attention):
    model = head(attention=attention)
    prompt, takes = PromptTokens(tokens(5, batch=6), tokens(2, 1, 6), tokens(4, 2, 6)), tokens(30, 3, 6)
    together = model(prompt, takes)
    for i in range(6):
        alone = model(PromptTokens(*(part[i : i + 1] for part in prompt)), takes[i : i + 1])
        assert torch.allclose(alone[0], together[i], atol=1e-5)


@pytest.mark.parametrize("kind", DOWNSAMPLERS)
@given(length=st.integers(0, 40), factor=st.sampled_from([2, 3, 4, 6, 9]))
@settings(max_examples=20, deadline=None)
@torch.inference_mode()
def test_every_downsampler_keeps_one_token_for_each_factor(kind, length, factor):
    thinned = downsampler(16, Downsampling(kind, factor))(tokens(length))
    assert thinned.shape == (1, length // factor, 16)


@torch.inference_mode()
def test_factor_one_and_none_change_nothing_but_an_mlp():
    x = tokens(7)
    for kind in ("none", "mean", "conv", "conv*2", "gluconv*2+pw"):
        assert torch.equal(downsampler(16, Downsampling(kind, 1))(x), x)
    assert not torch.equal(downsampler(16, Downsampling("mean+mlp", 1))(x), x)


@torch.inference_mode()
def test_a_take_too_short_for_its_downsampler_still_scores():
    model = head(take=Downsampling("mean", 8))
    assert model(PromptTokens(tokens(5), tokens(2, 1)), tokens(3, 3)).isfinite().all()


@torch.inference_mode()
def test_an_empty_prompt_is_no_crash():
    model = head(attention="CA", text=Downsampling("mean", 8))
    assert model(PromptTokens(tokens(2), tokens(2, 1)), tokens(9, 3)).isfinite().all()


@pytest.mark.parametrize(
    ("factor", "strides"), [(9, (3, 3)), (4, (2, 2)), (6, (3, 2)), (8, (2, 4)), (12, (3, 4)), (5, (1, 5)), (3, (3, 1))]
)
def test_two_strides_share_the_factor(factor, strides):
    assert two_strides(factor) == strides


def test_shared_blocks_are_one_module():
    blocks = downsampler(16, Downsampling("conv", 2, stage=3)).blocks
    assert len(blocks) == 3
    assert len({id(block) for block in blocks}) == 1
