"""MuQ-MuLan: a conformer over mel spectrograms for audio, XLM-R for text, each with a transformer on top.

    30 s of audio -> 128 log-mels, 100 per s -> convolutional stem, 25 per s -> conformer -> transformer -> 750 tokens
    text -> XLM-R tokens -> transformer -> a token for each

Built from a checkpoint's shapes alone, with no download. Module names are those of the published checkpoint.

Chunks of different lengths share a call with their lengths beside them. A shorter one then gives the tokens it gives
alone: its own end is mirrored for the spectrogram, and every convolution sees zeros beyond it.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import XLMRobertaConfig, XLMRobertaModel

from cmi._util.weights import Shapes
from cmi.reward.model.encoders import FrozenEncoder
from cmi.reward.model.encoders.spectrograms import mirror_ends
from cmi.reward.model.head import Mask, Transformer, in_full, mask_of
from cmi.reward.model.tokenizer import Tokenize, load_tokenizer

RATE = 24_000
CHUNK = 30 * RATE  # samples encoded at a time
SHORTEST = 1025  # samples: half a window is mirrored at each end, so that a chunk must be longer than that
HOP, WINDOW, MELS = 240, 2048, 128
MEL_MEAN, MEL_STD = 6.768444971712967, 18.417922652295623
FEWEST = 4  # chunks whose spectrograms are computed together on a GPU
TEXT_TOKENS = 512  # longer texts are cut


@dataclass(frozen=True)
class TowerConfig:
    """The transformer on top of a tower."""

    dim: int = 768
    depth: int = 8
    heads: int = 8
    dim_head: int = 64
    ff_hidden: int = 2048

    def build(self) -> Transformer:
        return Transformer(self.dim, self.depth, self.heads, self.dim_head, self.ff_hidden)


@dataclass(frozen=True)
class MuQMuLanConfig:
    stem_channels: int = 512
    conformer_dim: int = 1024
    conformer_depth: int = 12
    conformer_heads: int = 16
    conformer_ff: int = 4096
    conformer_kernel: int = 31
    vocabulary: int = 250_002
    xlmr_dim: int = 768
    xlmr_depth: int = 12
    xlmr_heads: int = 12
    xlmr_ff: int = 3072
    xlmr_positions: int = 514
    audio_tower: TowerConfig = TowerConfig()
    text_tower: TowerConfig = TowerConfig()


class LogMel(nn.Module):
    """Normalised log-mel spectrogram, 100 frames a second; always in float32."""

    filters: Tensor
    window: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("filters", mel_filters(), persistent=False)  # (F, 128)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)

    def forward(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, n) -> (B, n // 240, 128); 0 beyond the end of a chunk."""
        if samples.is_cuda and len(samples) < FEWEST:  # fewer get another kernel, which rounds in another way
            more = samples.repeat(FEWEST, 1), None if lengths is None else lengths.repeat(FEWEST)
            return self(*more)[: len(samples)]
        mirrored = mirror_ends(in_full(samples), lengths, WINDOW // 2)  # (B, n + 2048)
        spectrum = torch.stft(mirrored, WINDOW, HOP, window=self.window, center=False, return_complex=True)
        power = spectrum[..., : samples.shape[1] // HOP].abs().square()  # (B, F, T)
        mel = power.transpose(1, 2) @ self.filters  # (B, T, 128)
        decibels = 10 * mel.clamp(min=1e-10).log10()
        normalised = (decibels - MEL_MEAN) / MEL_STD
        mask = mask_of(None if lengths is None else lengths // HOP, normalised.shape[1])
        return normalised if mask is None else normalised.masked_fill(~mask[:, :, None], 0)


def halved(counts: Tensor) -> Tensor:
    return (counts + 1) // 2  # what a stride of 2 leaves


def mel_filters() -> Tensor:
    """128 triangles on the HTK scale from 0 to 12 kHz, without area normalisation: (1025, 128)."""
    bins = torch.linspace(0, RATE // 2, WINDOW // 2 + 1)
    highest = 2595 * math.log10(1 + RATE / 2 / 700)
    corners = 700 * (10 ** (torch.linspace(0, highest, MELS + 2) / 2595) - 1)
    width = corners.diff()
    distance = corners[None] - bins[:, None]  # (1025, 130)
    return torch.minimum(-distance[:, :-2] / width[:-1], distance[:, 2:] / width[1:]).clamp(min=0)


class StemBlock(nn.Module):
    """Two 3 x 3 convolutions beside a strided one; halves time and frequency."""

    def __init__(self, inside: int, outside: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(outside)
        self.conv3 = nn.Conv2d(inside, outside, 3, stride=2, padding=1)
        self.bn3 = nn.BatchNorm2d(outside)

    def forward(self, x: Tensor, frames: Tensor | None) -> Tensor:
        """(B, C, T, F) -> (B, C', T / 2, F / 2), of which `frames` (B,) are heard."""
        (weight1, bias1), (weight2, bias2), (weight3, bias3) = (
            folded(conv, norm, x.dtype)
            for conv, norm in ((self.conv1, self.bn1), (self.conv2, self.bn2), (self.conv3, self.bn3))
        )
        if x.shape[1] == 1:
            patches = patches_of(x)
            main, beside = (from_patches(patches, x, *own) for own in ((weight1, bias1, True), (weight3,)))
        else:
            main, beside = halving(x, weight1, bias1), halving(x, weight3)
            main = functional.relu(main, inplace=True)
        main = only_heard(main, frames)
        return only_heard(convolve_add_relu(main, weight2, bias2 + bias3, beside), frames)


def folded(conv: nn.Module, norm: nn.Module, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Weight and bias of a convolution with its batch norm folded in: a pass over the largest tensors is saved."""
    assert isinstance(conv, nn.Conv1d | nn.Conv2d)
    assert isinstance(norm, nn.BatchNorm1d | nn.BatchNorm2d)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    bias = norm.bias - norm.running_mean * scale
    if conv.bias is not None:
        bias = bias + conv.bias * scale
    weight = conv.weight * scale.view(-1, *[1] * (conv.weight.ndim - 1))
    return weight.to(dtype), bias.to(dtype)


def halving(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A 3 x 3 convolution of stride 2; the checkpoint's kernels are (frequency, time), our tensors the other way."""
    return functional.conv2d(x, _by_time(weight), bias, stride=2, padding=1)


def patches_of(x: Tensor) -> Tensor:
    """What the convolution sees of a single channel: (B, 1, T, F) -> (B, T F / 4, 16).

    These are nine products, for which cuDNN took four times as long as a matrix product; nine columns are not aligned.
    """
    return functional.pad(functional.unfold(x, 3, padding=1, stride=2), (0, 0, 0, 7)).transpose(1, 2).contiguous()


def from_patches(patches: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None = None, relu: bool = False) -> Tensor:
    """The same as `halving`: (B, C, T / 2, F / 2)."""
    kernels = functional.pad(weight.transpose(2, 3).flatten(1), (0, 7))  # (C, 16)
    if relu and x.is_cuda and bias is not None:  # in one pass
        out = torch._addmm_activation(bias, patches.flatten(0, 1), kernels.T).view(*patches.shape[:2], -1)
    else:
        out = functional.linear(patches, kernels, bias)  # (B, T F / 4, C)
        out = functional.relu(out, inplace=True) if relu else out
    return out.unflatten(1, (-1, (x.shape[3] + 1) // 2)).permute(0, 3, 1, 2)


def convolve_add_relu(x: Tensor, weight: Tensor, bias: Tensor, beside: Tensor) -> Tensor:
    if x.is_cuda and torch.backends.cudnn.is_available():  # one pass in place of four
        return torch.cudnn_convolution_add_relu(x, _by_time(weight), beside, 1, bias, (1, 1), (1, 1), (1, 1), 1)
    return functional.relu(functional.conv2d(x, _by_time(weight), bias, padding=1).add_(beside), inplace=True)


def _by_time(weight: Tensor) -> Tensor:
    return weight.transpose(2, 3).contiguous(memory_format=torch.channels_last)


def only_heard(x: Tensor, frames: Tensor | None) -> Tensor:
    mask = mask_of(frames, x.shape[2])
    return x if mask is None else x * mask[:, None, :, None]


class Stem(nn.Module):
    def __init__(self, channels: int, dim: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(StemBlock(1, channels), StemBlock(channels, channels))
        self.linear = nn.Linear(channels * MELS // 4, dim)

    def forward(self, mel: Tensor, frames: Tensor | None = None) -> Tensor:
        """(B, T, 128) -> (B, T / 4, dim)."""
        x = mel.unsqueeze(1).to(self.linear.weight.dtype)  # (B, 1, T, 128)
        for block in self.conv:
            frames = None if frames is None else halved(frames)
            x = block(x, frames)  # (B, C, T / 2, 64), then (B, C, T / 4, 32); channels lie together in memory
        # The checkpoint's columns are (channel, frequency).
        weight = self.linear.weight.unflatten(1, (x.shape[1], -1)).transpose(1, 2).flatten(1)
        return functional.linear(x.permute(0, 2, 3, 1).flatten(2), weight, self.linear.bias)


# The conformer: transformers' Wav2Vec2Conformer with rotary positions, in its names, with masks inside.


class ConformerFeedForward(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.intermediate_dense = nn.Linear(dim, hidden)
        self.output_dense = nn.Linear(hidden, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.output_dense(functional.silu(self.intermediate_dense(x), inplace=True))


class RotaryAttention(nn.Module):
    """Self-attention whose inputs, not whose queries and keys, are turned by their positions."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.linear_q, self.linear_k, self.linear_v, self.linear_out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor], mask: Mask) -> Tensor:
        batch, length, dim = x.shape
        turned = turn(x.view(batch, length, self.heads, -1), *turns).view(batch, length, dim)
        parts = (self.linear_q(turned), self.linear_k(turned), self.linear_v(x))
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)  # (B, H, T, d)
        keys = None if mask is None else mask[:, None, None]
        heard = functional.scaled_dot_product_attention(q, k, v, attn_mask=keys)
        return self.linear_out(heard.transpose(1, 2).flatten(2))


class RotaryPositions(nn.Module):
    """Cosine and signed sine of every position's angles: (T, 1, width) each."""

    inv_freq: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 10_000 ** (-torch.arange(0, width, 2, dtype=torch.float32) / width))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        positions = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        angles = (positions[:, None] * self.inv_freq)[:, None]  # (T, 1, width / 2)
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return torch.cat([cosine, cosine], dim=-1), torch.cat([-sine, sine], dim=-1)


def turn(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """(B, T, H, d): the pairs (i, i + d / 2) turned by their angles."""
    half = x.shape[-1] // 2
    turned = x * cosine
    turned[..., :half].addcmul_(x[..., half:], sine[..., :half])
    turned[..., half:].addcmul_(x[..., :half], sine[..., half:])
    return turned


class ConvModule(nn.Module):
    def __init__(self, dim: int, kernel: int) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(dim)
        self.pointwise_conv1 = nn.Conv1d(dim, 2 * dim, 1, bias=False)
        self.depthwise_conv = nn.Conv1d(dim, dim, kernel, padding=kernel // 2, groups=dim, bias=False)
        self.batch_norm = nn.BatchNorm1d(dim)
        self.pointwise_conv2 = nn.Conv1d(dim, dim, 1, bias=False)

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        x = functional.glu(functional.linear(self.layer_norm(x), self.pointwise_conv1.weight[:, :, 0]))  # (B, T, dim)
        x = x if mask is None else x * mask[:, :, None]
        weight, bias = folded(self.depthwise_conv, self.batch_norm, x.dtype)
        image = x.transpose(1, 2)[:, :, None]  # (B, dim, 1, T): as an image it need not be copied channels first
        padding = (0, weight.shape[2] // 2)
        image = functional.conv2d(image, weight[:, :, None], bias, padding=padding, groups=len(weight))
        x = functional.silu(image[:, :, 0].transpose(1, 2))  # (B, T, dim)
        return functional.linear(x, self.pointwise_conv2.weight[:, :, 0])


class ConformerLayer(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        dim = c.conformer_dim
        self.ffn1_layer_norm = nn.LayerNorm(dim)
        self.ffn1 = ConformerFeedForward(dim, c.conformer_ff)
        self.self_attn_layer_norm = nn.LayerNorm(dim)
        self.self_attn = RotaryAttention(dim, c.conformer_heads)
        self.conv_module = ConvModule(dim, c.conformer_kernel)
        self.ffn2_layer_norm = nn.LayerNorm(dim)
        self.ffn2 = ConformerFeedForward(dim, c.conformer_ff)
        self.final_layer_norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor], mask: Mask) -> Tensor:
        x = torch.add(x, self.ffn1(self.ffn1_layer_norm(x)), alpha=0.5)
        x = x + self.self_attn(self.self_attn_layer_norm(x), turns, mask)
        x = x + self.conv_module(x, mask)
        x = torch.add(x, self.ffn2(self.ffn2_layer_norm(x)), alpha=0.5)
        return self.final_layer_norm(x)


class Conformer(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        self.embed_positions = RotaryPositions(c.conformer_dim // c.conformer_heads)
        self.layers = nn.ModuleList([ConformerLayer(c) for _ in range(c.conformer_depth)])
        self.layer_norm = nn.LayerNorm(c.conformer_dim)

    def forward(self, x: Tensor, mask: Mask = None) -> Tensor:
        turns = self.embed_positions(x)
        for layer in self.layers:
            x = layer(x, turns, mask)
        return self.layer_norm(x)  # (B, T, dim)


class MuQ(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        self.mel = LogMel()
        self.conv = Stem(c.stem_channels, c.conformer_dim)
        self.conformer = Conformer(c)

    def forward(self, samples: Tensor, lengths: Tensor | None, mask: Mask) -> Tensor:
        stem = self.conv(self.mel(samples, lengths), None if lengths is None else lengths // HOP)
        return self.conformer(stem, mask)  # (B, T, dim)


class AudioTower(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"model": MuQ(c)})
        self.proj = nn.Linear(c.conformer_dim, c.audio_tower.dim)
        self.transformer = c.audio_tower.build()

    def forward(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        counts = None if lengths is None else halved(halved(lengths // HOP))
        mask = mask_of(counts, token_count(samples.shape[1]))
        return self.transformer(self.proj(self.model["model"](samples, lengths, mask)), mask)  # (B, T, D)


def token_count(samples: int) -> int:
    """Tokens of a chunk of that many samples: 25 a second."""
    return -(-(samples // HOP) // 4)


class TextTower(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        self.model = XLMRobertaModel(
            XLMRobertaConfig(
                vocab_size=c.vocabulary,
                hidden_size=c.xlmr_dim,
                num_hidden_layers=c.xlmr_depth,
                num_attention_heads=c.xlmr_heads,
                intermediate_size=c.xlmr_ff,
                max_position_embeddings=c.xlmr_positions,
                type_vocab_size=1,
                layer_norm_eps=1e-5,
                pad_token_id=1,
                bos_token_id=0,
                eos_token_id=2,
                attn_implementation="sdpa",
            ),
            add_pooling_layer=False,
        )
        self.transformer = c.text_tower.build()

    def forward(self, ids: Tensor, mask: Mask = None) -> Tensor:
        keys = None if mask is None else mask[:, None, None].expand(-1, 1, ids.shape[1], -1)  # whole, so that it is
        read = self.model(input_ids=ids, attention_mask=keys).last_hidden_state  # used as it is and not looked into
        return self.transformer(read, mask)  # (B, n, D)


class MuQMuLan(FrozenEncoder):
    """The two towers."""

    name = "muq_mulan"
    rate = RATE
    chunk = CHUNK
    shortest = SHORTEST
    longest_text = TEXT_TOKENS

    def __init__(self, config: MuQMuLanConfig) -> None:
        super().__init__()
        self.config = config
        self.audio_module = AudioTower(config)
        self.text_module = TextTower(config)
        self.requires_grad_(False).eval()

    @classmethod
    def from_shapes(cls, shapes: Shapes) -> Self:
        from cmi.reward.model.checkpoint import encoder_config

        with torch.device("meta"):
            return cls(encoder_config(shapes))

    def load_tokenizer(self, folder: Path | None) -> Tokenize:
        return load_tokenizer(folder, self.config.vocabulary)

    def restore_buffers(self) -> None:
        """Compute what no checkpoint need hold, for towers whose weights were loaded onto empty tensors."""
        muq = cast(MuQ, self.audio_module.model["model"])
        muq.mel = LogMel()
        muq.conformer.embed_positions = RotaryPositions(self.config.conformer_dim // self.config.conformer_heads)
        embeddings, positions = self.text_module.model.embeddings, self.config.xlmr_positions
        embeddings.position_ids = torch.arange(positions)[None]
        embeddings.token_type_ids = torch.zeros(1, positions, dtype=torch.long)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.num_batches_tracked = torch.tensor(0)  # a count for training only

    @property
    def dim(self) -> int:
        return self.config.audio_tower.dim

    def count(self, samples: int) -> int:
        return token_count(samples)

    def encode_sound(self, samples: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Chunks of at most 30 s at 24 kHz: (B, n) -> (B, ceil(n // 240 / 4), D)."""
        return self.audio_module(samples, lengths)

    def encode_text(self, ids: Tensor, mask: Mask = None) -> Tensor:
        """Token ids of texts, with XLM-R's <s> and </s>: (B, n) -> (B, n, D)."""
        return self.text_module(ids, mask)


ENCODER = MuQMuLan
