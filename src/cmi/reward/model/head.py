"""CMI-RM's head, the whole of it: from the tokens of a prompt and of a take to two scores.

    text, lyrics, reference tokens --(downsample)--> prompt transformer --+
                                                                          +--> joint transformer --> mean --> scores
    take tokens ----------------------(downsample)------------------------+

The tokens come from a frozen encoder (`cmi.reward.model.encoders`). Nothing here knows positions: the order of tokens
does not matter, nor which of them are text and which lyrics. Module names are those of the published checkpoint.

Inputs of different lengths share a call only with a mask of their real tokens: what is padded is neither attended to
nor averaged. Downsamplers see whole, unpadded inputs, since they cut off what does not fill a window.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import AfterValidator, Field
from torch import Tensor, nn
from torch.nn import functional

ATTENTION_SCALE = 8.0  # on unit queries and keys, in place of 1 / sqrt(d)


def _known_kind(kind: str) -> str:
    if kind.lower() not in ("none", *DOWNSAMPLERS):
        raise ValueError(f"is {kind[:60]!r}, expected one of none, {', '.join(DOWNSAMPLERS)}")
    return kind.lower()


Size = Annotated[int, Field(ge=1, le=4096)]  # 120 s are 3000 tokens


@dataclass(frozen=True)
class Downsampling:
    """How tokens are thinned out: `kind` as in `DOWNSAMPLERS`, one token for every `factor`."""

    kind: Annotated[str, AfterValidator(_known_kind)] = "none"
    factor: Size = 1
    mlp_ratio: Annotated[float, Field(gt=0, le=4096)] = 2.0
    pre_mlp: bool = False
    kernel_size: Size = 5
    use_layernorm: bool = True
    stage: Size = 1


@dataclass(frozen=True)
class HeadConfig:
    dim: int = 768
    heads: int = 8
    dim_head: int = 64
    ff_hidden: int = 2048
    prompt_depth: int = 4
    joint_depth: int = 1
    attention: Literal["SA", "CA"] = "SA"
    mode: Literal["concat_text_late", "text_only"] = "concat_text_late"  # text_only: lyrics are not heard
    mlp_dim: int = 512
    take: Downsampling = field(default_factory=Downsampling)
    reference: Downsampling = field(default_factory=Downsampling)
    text: Downsampling = field(default_factory=Downsampling)


Mask = Tensor | None  # (B, T), true where there is a token; None: everywhere


class PromptTokens(NamedTuple):
    """A prompt as the encoder gives it, unpadded. Absent text or lyrics are the tokens of the empty string."""

    text: Tensor  # (B, n, D)
    lyrics: Tensor  # (B, m, D)
    reference: Tensor | None = None  # (B, r, D)


class Norm(nn.Module):
    """Layer norm with a gain and no bias."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.learned_gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, x.shape[-1:], self.learned_gamma)


class Attention(nn.Module):
    """Self-attention between unit queries and keys."""

    def __init__(self, dim: int, heads: int, dim_head: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = Norm(dim)
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, 2 * heads * dim_head, bias=False)
        self.q_scale = nn.Parameter(torch.ones(dim_head))
        self.k_scale = nn.Parameter(torch.ones(dim_head))
        self.to_out = nn.Sequential(nn.Linear(heads * dim_head, dim, bias=False))

    def forward(self, x: Tensor, mask: Mask = None, first: int = 0) -> Tensor:
        """What tokens from `first` on hear of all."""
        x = self.norm(x)
        parts = (self.to_q(x[:, first:]), *self.to_kv(x).chunk(2, dim=-1))
        q, k, v = (_split_heads(part, self.heads) for part in parts)
        q = functional.normalize(q, dim=-1) * self.q_scale  # (B, H, T, d)
        k = functional.normalize(k, dim=-1) * self.k_scale
        heard = functional.scaled_dot_product_attention(q, k, v, attn_mask=_keys(mask), scale=ATTENTION_SCALE)
        return self.to_out(_join_heads(heard))


class CrossAttention(nn.Module):
    """Attention of the take's tokens to the prompt's, in the ordinary scaled way."""

    def __init__(self, dim: int, heads: int, dim_head: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_q = Norm(dim)
        self.norm_kv = Norm(dim)
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, 2 * heads * dim_head, bias=False)
        self.to_out = nn.Sequential(nn.Linear(heads * dim_head, dim, bias=False))

    def forward(self, x: Tensor, prompt: Tensor, mask: Mask = None) -> Tensor:
        if not prompt.shape[1]:
            return torch.zeros_like(x)  # nothing was asked
        parts = (self.to_q(self.norm_q(x)), *self.to_kv(self.norm_kv(prompt)).chunk(2, dim=-1))
        q, k, v = (_split_heads(part, self.heads) for part in parts)
        return self.to_out(_join_heads(functional.scaled_dot_product_attention(q, k, v, attn_mask=_keys(mask))))


def _split_heads(x: Tensor, heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)  # (B, T, H d) -> (B, H, T, d)


def _join_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)  # (B, H, T, d) -> (B, T, H d)


def _keys(mask: Mask) -> Mask:
    return None if mask is None else mask[:, None, None]  # (B, 1, 1, T): for every head and query


class GatedGelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        value, gate = x.chunk(2, dim=-1)
        return value * functional.gelu(gate)


def feed_forward(dim: int, hidden: int) -> nn.Sequential:
    up, down = nn.Linear(dim, 2 * hidden, bias=False), nn.Linear(hidden, dim, bias=False)
    return nn.Sequential(Norm(dim), up, GatedGelu(), nn.Identity(), down)  # 3 was dropout: names must stay


class Transformer(nn.Module):
    """Pre-norm layers without positions and without a final norm."""

    def __init__(self, dim: int, depth: int, heads: int, dim_head: int, ff_hidden: int) -> None:
        super().__init__()
        layers = [nn.ModuleList([Attention(dim, heads, dim_head), feed_forward(dim, ff_hidden)]) for _ in range(depth)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, mask: Mask = None, first: int = 0) -> Tensor:
        """The tokens from `first` on: the last layer computes no others."""
        for layer in self.layers:
            attention, feed = layer.children()
            begin = first if layer is self.layers[-1] else 0
            x = x[:, begin:] + attention(x, mask, begin)
            x = x + feed(x)
        return x


class DecoderLayer(nn.Module):
    """The take's tokens attend to each other, then to the prompt."""

    def __init__(self, dim: int, heads: int, dim_head: int, ff_hidden: int) -> None:
        super().__init__()
        self.self_attn = Attention(dim, heads, dim_head)
        self.cross_attn = CrossAttention(dim, heads, dim_head)
        self.ffn = feed_forward(dim, ff_hidden)

    def forward(self, x: Tensor, prompt: Tensor, mask: Mask, prompt_mask: Mask) -> Tensor:
        x = x + self.self_attn(x, mask)
        x = x + self.cross_attn(x, prompt, prompt_mask)
        return x + self.ffn(x)


# Downsamplers: (B, T, D) -> (B, T // factor, D). What is left over at the end is cut off.


def _cut(x: Tensor, stride: int) -> Tensor:
    return x[:, : x.shape[1] // stride * stride]


class MeanDown(nn.Module):
    def __init__(self, dim: int, spec: Downsampling) -> None:
        super().__init__()
        self.factor = spec.factor

    def forward(self, x: Tensor) -> Tensor:
        batch, length, dim = x.shape
        return _cut(x, self.factor).reshape(batch, length // self.factor, self.factor, dim).mean(dim=2)


class MeanMlpDown(MeanDown):
    def __init__(self, dim: int, spec: Downsampling) -> None:
        super().__init__(dim, spec)
        hidden = int(dim * spec.mlp_ratio)
        self.pre_mlp = spec.pre_mlp and spec.factor > 1
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Identity(), nn.Linear(hidden, dim))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(self.mlp(x)) if self.pre_mlp else self.mlp(super().forward(x))


class ConvBlock(nn.Module):
    """A strided depthwise convolution, with a gated pointwise one before it if asked for."""

    def __init__(self, dim: int, stride: int, spec: Downsampling, gated: bool = False) -> None:
        super().__init__()
        self.stride = stride
        self.pw1 = nn.Conv1d(dim, 2 * dim, 1, bias=False) if gated else None
        padding = (spec.kernel_size - 1) // 2
        self.dw = nn.Conv1d(dim, dim, spec.kernel_size, stride, padding, groups=dim, bias=False)
        self.ln = nn.LayerNorm(dim) if spec.use_layernorm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        x = _cut(x, self.stride)
        if not x.shape[1]:
            return x
        h = x.transpose(1, 2)  # (B, D, T)
        if self.pw1 is not None:
            h = functional.glu(self.pw1(h), dim=1)
        return functional.silu(self.ln(self.dw(h).transpose(1, 2)))


class ConvDown(nn.Module):
    """One block, applied `stage` times: the published code repeats one module, so that its weights are shared."""

    def __init__(self, dim: int, spec: Downsampling) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([ConvBlock(dim, spec.factor, spec)] * spec.stage)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class ConvTwiceDown(nn.Module):
    def __init__(self, dim: int, spec: Downsampling, gated: bool = False) -> None:
        super().__init__()
        first, second = two_strides(spec.factor)
        self.block1 = ConvBlock(dim, first, spec, gated)
        self.block2 = ConvBlock(dim, second, spec, gated)

    def forward(self, x: Tensor) -> Tensor:
        return self.block2(self.block1(x))


class GatedConvTwiceDown(ConvTwiceDown):
    def __init__(self, dim: int, spec: Downsampling) -> None:
        super().__init__(dim, spec, gated=True)
        self.final_pw = nn.Conv1d(dim, dim, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = super().forward(x)
        return self.final_pw(x.transpose(1, 2)).transpose(1, 2) if x.shape[1] else x


def two_strides(factor: int) -> tuple[int, int]:
    """Two strides whose product is `factor`: the most balanced pair, and a 3 first if there is one."""
    pairs = [(a, factor // a) for a in range(2, factor + 1) if factor % a == 0]
    first, second = min(pairs, key=lambda pair: max(pair))
    return (second, first) if second == 3 or (second < first != 3) else (first, second)


DOWNSAMPLERS = {
    "mean": MeanDown,
    "meanpool": MeanDown,
    **dict.fromkeys(("meanpool+mlp", "mean+mlp", "baseline1", "b1"), MeanMlpDown),
    **dict.fromkeys(("conv*2", "baseline2", "b2"), ConvTwiceDown),
    **dict.fromkeys(("conv", "baseline2simple", "b2s"), ConvDown),
    **dict.fromkeys(("gluconv*2+pw", "baseline3", "b3"), GatedConvTwiceDown),
}


def downsampler(dim: int, spec: Downsampling) -> nn.Module:
    """Kinds other than the means pass tokens on untouched at factor 1."""
    keeps_all = spec.kind == "none" or (spec.factor == 1 and DOWNSAMPLERS[spec.kind] is not MeanMlpDown)
    return nn.Identity() if keeps_all else DOWNSAMPLERS[spec.kind](dim, spec)


class RewardHead(nn.Module):
    """Tokens in, [alignment, musicality] out: unbounded, higher is better."""

    least_musicality = -math.inf  # of music: a note says so of a lower score

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = c = config
        self.prompt_transformer = Transformer(c.dim, c.prompt_depth, c.heads, c.dim_head, c.ff_hidden)
        self.joint_transformer: nn.Module
        if c.attention == "SA":
            self.joint_transformer = Transformer(c.dim, c.joint_depth, c.heads, c.dim_head, c.ff_hidden)
        else:
            layers = [DecoderLayer(c.dim, c.heads, c.dim_head, c.ff_hidden) for _ in range(c.joint_depth)]
            self.joint_transformer = nn.ModuleList(layers)
        self.score_projector = nn.Sequential(
            nn.LayerNorm(c.dim), nn.Linear(c.dim, c.mlp_dim), nn.ReLU(), nn.Linear(c.mlp_dim, 2)
        )
        self.eval_downsampler = downsampler(c.dim, c.take)
        self.ref_downsampler = downsampler(c.dim, c.reference)
        self.text_downsampler = downsampler(c.dim, c.text)
        self.lyrics_downsampler = downsampler(c.dim, c.text)

    def parts(self, prompt: PromptTokens) -> list[tuple[nn.Module, Tensor]]:
        """The tokens of prompts that are heard, in order, each with what thins them out."""
        found = [(self.text_downsampler, prompt.text)]
        if self.config.mode != "text_only":
            found.append((self.lyrics_downsampler, prompt.lyrics))
        if prompt.reference is not None:
            found.append((self.ref_downsampler, prompt.reference))
        return found

    def join(self, prompt: PromptTokens) -> Tensor:
        """The parts of prompts, each thinned out, in one row: (B, P, D)."""
        return torch.cat([downsample(tokens) for downsample, tokens in self.parts(prompt)], dim=1)

    def thin(self, take: Tensor) -> Tensor:
        return self.eval_downsampler(take)  # (B, t, D) -> (B, T, D)

    def fuse(self, prompt: Tensor, mask: Mask = None) -> Tensor:
        """Joined prompts, made one: a fused prompt serves all its takes."""
        return self.prompt_transformer(prompt, mask)  # (B, P, D)

    def judge(self, prompt: Tensor, take: Tensor, prompt_mask: Mask = None, take_mask: Mask = None) -> Tensor:
        """Scores of thinned takes (B, T, D) under fused prompts (B, P, D): (B, 2) alignment, musicality."""
        if self.config.attention == "SA":
            mask = _concatenated(prompt, take, prompt_mask, take_mask)
            heard = self.joint_transformer(torch.cat([prompt, take], dim=1), mask, prompt.shape[1])  # (B, T, D)
        else:
            heard = take
            for layer in self.joint_transformer:  # type: ignore[attr-defined]
                heard = layer(heard, prompt, take_mask, prompt_mask)
        pooled = masked_mean(in_full(heard), take_mask)  # (B, D)
        return self.score_projector(pooled)  # (B, 2)

    def forward(self, prompt: PromptTokens, take: Tensor) -> Tensor:
        """Scores of takes as the encoder gives them, all of one length, as their prompts are."""
        return self.judge(self.fuse(self.join(prompt)), self.thin(take))


def in_full(x: Tensor) -> Tensor:
    """In fp32, or in fp64 if it is that already."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def mask_of(lengths: Tensor | None, length: int) -> Mask:
    """(B,) -> (B, length), true for as many as each has; None stays None."""
    return None if lengths is None else torch.arange(length, device=lengths.device)[None] < lengths[:, None]


def masked_mean(x: Tensor, mask: Mask) -> Tensor:
    """The mean of the tokens that are there; 0 where none is."""
    if mask is None:
        return x.sum(dim=1) / max(1, x.shape[1])
    return (x * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def _concatenated(a: Tensor, b: Tensor, a_mask: Mask, b_mask: Mask) -> Mask:
    if a_mask is None and b_mask is None:
        return None
    parts = (x.new_ones(x.shape[:2], dtype=torch.bool) if m is None else m for x, m in ((a, a_mask), (b, b_mask)))
    return torch.cat(list(parts), dim=1)
