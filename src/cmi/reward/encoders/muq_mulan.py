"""MuQ-MuLan: a conformer over mel spectrograms for audio, XLM-R for text, each with a transformer on top.

    30 s of audio -> 128 log-mels, 100 per s -> convolutional stem, 25 per s -> conformer -> transformer -> 750 tokens
    text -> XLM-R tokens -> transformer -> a token for each

Built from a checkpoint's shapes alone, with no download. Module names are those of the published checkpoint.
"""

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import Wav2Vec2ConformerConfig, XLMRobertaConfig, XLMRobertaModel
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import Wav2Vec2ConformerEncoder

from cmi.reward.model import Transformer

RATE = 24_000
CHUNK = 30 * RATE  # samples encoded at a time
SHORTEST = 1025  # samples: half a window is mirrored at each end, so that a chunk must be longer than that
HOP, WINDOW, MELS = 240, 2048, 128
MEL_MEAN, MEL_STD = 6.768444971712967, 18.417922652295623
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

    def forward(self, samples: Tensor) -> Tensor:
        """(B, n) -> (B, 128, n // 240)."""
        with torch.autocast(samples.device.type, enabled=False):
            spectrum = torch.stft(
                samples.float(), WINDOW, HOP, window=self.window, center=True, pad_mode="reflect", return_complex=True
            )
            power = spectrum[..., :-1].abs().square()  # (B, F, T)
            mel = power.transpose(1, 2) @ self.filters  # (B, T, 128)
            decibels = 10 * mel.clamp(min=1e-10).log10()
        return ((decibels - MEL_MEAN) / MEL_STD).transpose(1, 2)


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

    def forward(self, x: Tensor) -> Tensor:
        main = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        return functional.relu(main + self.bn3(self.conv3(x)))


class Stem(nn.Module):
    def __init__(self, channels: int, dim: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(StemBlock(1, channels), StemBlock(channels, channels))
        self.linear = nn.Linear(channels * MELS // 4, dim)

    def forward(self, mel: Tensor) -> Tensor:
        x = self.conv(mel.unsqueeze(1))  # (B, C, 32, T / 4)
        return self.linear(x.flatten(1, 2).transpose(1, 2))  # (B, T / 4, dim)


class MuQ(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        self.mel = LogMel()
        self.conv = Stem(c.stem_channels, c.conformer_dim)
        self.conformer = Wav2Vec2ConformerEncoder(
            Wav2Vec2ConformerConfig(
                hidden_size=c.conformer_dim,
                num_hidden_layers=c.conformer_depth,
                num_attention_heads=c.conformer_heads,
                intermediate_size=c.conformer_ff,
                conv_depthwise_kernel_size=c.conformer_kernel,
                position_embeddings_type="rotary",
                rotary_embedding_base=10_000,
                hidden_act="swish",
                layerdrop=0.0,
                attn_implementation="sdpa",
            )
        )
        del self.conformer.pos_conv_embed  # never called with rotary positions

    def forward(self, samples: Tensor) -> Tensor:
        return self.conformer(self.conv(self.mel(samples))).last_hidden_state  # (B, T, dim)


class AudioTower(nn.Module):
    def __init__(self, c: MuQMuLanConfig) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"model": MuQ(c)})
        self.proj = nn.Linear(c.conformer_dim, c.audio_tower.dim)
        self.transformer = c.audio_tower.build()

    def forward(self, samples: Tensor) -> Tensor:
        return self.transformer(self.proj(self.model["model"](samples)))  # (B, T, D)


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
            ),
            add_pooling_layer=False,
        )
        self.transformer = c.text_tower.build()

    def forward(self, ids: Tensor) -> Tensor:
        return self.transformer(self.model(input_ids=ids).last_hidden_state)  # (B, n, D)


class MuQMuLan(nn.Module):
    """The two towers. Inputs of one call have one length: nothing is padded, so that nothing leaks."""

    def __init__(self, config: MuQMuLanConfig) -> None:
        super().__init__()
        self.config = config
        self.audio_module = AudioTower(config)
        self.text_module = TextTower(config)
        self.requires_grad_(False).eval()

    def restore_buffers(self) -> None:
        """Compute what no checkpoint need hold, for towers whose weights were loaded onto empty tensors."""
        muq = cast(MuQ, self.audio_module.model["model"])
        muq.mel = LogMel()
        muq.conformer.embed_positions = type(muq.conformer.embed_positions)(muq.conformer.config)
        embeddings, positions = self.text_module.model.embeddings, self.config.xlmr_positions
        embeddings.position_ids = torch.arange(positions)[None]
        embeddings.token_type_ids = torch.zeros(1, positions, dtype=torch.long)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.num_batches_tracked = torch.tensor(0)  # a count for training only

    @property
    def dim(self) -> int:
        return self.config.audio_tower.dim

    def encode_chunks(self, samples: Tensor) -> Tensor:
        """Chunks of at most 30 s at 24 kHz, all of one length: (B, n) -> (B, ceil(n / 960), D)."""
        return self.audio_module(samples)

    def encode_ids(self, ids: Tensor) -> Tensor:
        """Token ids of texts, all of one length: (B, n) -> (B, n, D)."""
        return self.text_module(ids)
