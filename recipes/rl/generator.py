"""A transformer that writes songs for a text: a few million weights, one token at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from song import ALLOWED, BAR, BEGIN, END, PAD, VOCABULARY
from torch import Tensor, nn
from torch.nn import functional

CHECKED = 16  # tokens between looks at whether all songs are finished: each look waits for the GPU


@dataclass(frozen=True)
class GeneratorConfig:
    dim: int = 256
    depth: int = 6
    heads: int = 8
    text: int = 384  # numbers of MiniLM's
    longest: int = 768  # tokens


class Block(nn.Module):
    def __init__(self, config: GeneratorConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.before_attention, self.before_mlp = nn.LayerNorm(config.dim), nn.LayerNorm(config.dim)
        self.project = nn.Linear(config.dim, 3 * config.dim)
        self.out = nn.Linear(config.dim, config.dim)
        self.mlp = nn.Sequential(
            nn.Linear(config.dim, 4 * config.dim), nn.GELU(), nn.Linear(4 * config.dim, config.dim)
        )

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(B, t, D), after what is `past`."""
        batch, count, dim = x.shape
        parts = self.project(self.before_attention(x)).view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = parts  # (B, heads, t, d)
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        heard = functional.scaled_dot_product_attention(query, key, value, is_causal=past is None)
        x = x + self.out(heard.transpose(1, 2).reshape(batch, count, dim))
        return x + self.mlp(self.before_mlp(x)), (key, value)


class SongGenerator(nn.Module):
    """Logits of the next token, given a text's vector and the tokens before."""

    allowed: Tensor

    def __init__(self, config: GeneratorConfig) -> None:
        super().__init__()
        self.config = config
        self.read_text = nn.Linear(config.text, config.dim)
        self.token = nn.Embedding(VOCABULARY, config.dim)
        self.place = nn.Embedding(config.longest + 1, config.dim)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.last = nn.LayerNorm(config.dim)
        self.register_buffer("allowed", torch.from_numpy(ALLOWED), persistent=False)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, text: Tensor, tokens: Tensor, bars: int | None = None) -> Tensor:
        """(B, 384), (B, t) -> (B, t, vocabulary): log-probabilities of the token after each."""
        x = torch.cat([self.read_text(text)[:, None], self.token(tokens)], dim=1)
        x = x + self.place.weight[: x.shape[1]]
        for block in self.blocks:
            x, _ = block(x, None)
        return self._log_probabilities(x[:, 1:], tokens, (tokens == BAR).cumsum(dim=1), bars)

    def log_probabilities(self, text: Tensor, songs: Tensor, bars: int | None = None) -> Tensor:
        """Of each token of songs (B, t) but the first: (B, t - 1), 0 for padding.

        With `bars`, of songs that `sample` draws: they have as many bars.
        """
        each = self(text, songs[:, :-1], bars).gather(2, songs[:, 1:, None])[:, :, 0]
        return each.masked_fill(songs[:, 1:] == PAD, 0.0)

    @torch.no_grad()
    def sample(self, text: Tensor, bars: int, randomness: torch.Generator | None = None) -> Tensor:
        """Songs of `bars` bars, one for each text (B, 384): (B, t), padded."""
        batch = len(text)
        tokens = torch.full((batch, 1), BEGIN, device=text.device)
        x = torch.cat([self.read_text(text)[:, None], self.token(tokens)], dim=1) + self.place.weight[:2]
        past: list[tuple[Tensor, Tensor] | None] = [None] * len(self.blocks)
        done = torch.zeros(batch, dtype=torch.bool, device=text.device)
        counted = torch.zeros(batch, dtype=torch.long, device=text.device)
        for place in range(2, self.config.longest + 1):
            for layer, block in enumerate(self.blocks):
                x, past[layer] = block(x, past[layer])
            chances = self._log_probabilities(x[:, -1:], tokens[:, -1:], counted[:, None], bars)[:, 0].exp()
            drawn = torch.multinomial(chances, 1, generator=randomness)
            counted += (drawn == BAR)[:, 0]
            done |= (drawn == END)[:, 0]
            tokens = torch.cat([tokens, drawn], dim=1)
            if place % CHECKED == 0 and done.all():
                break
            x = self.token(drawn) + self.place.weight[place]
        return tokens

    def _log_probabilities(self, x: Tensor, tokens: Tensor, counted: Tensor, bars: int | None) -> Tensor:
        """Of the token after each of `tokens`, when there are `counted` bars of the song's `bars`, if these are set."""
        logits = self.last(x) @ self.token.weight.T / math.sqrt(self.config.dim) * 16
        allowed = self.allowed[tokens]
        if bars is not None:
            unfinished = counted < bars
            allowed[..., END] &= ~unfinished
            allowed[..., BAR] &= unfinished
        return logits.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1)


def padded(songs: Sequence[Sequence[int]], longest: int) -> Tensor:
    """(B, t), cut to the longest that the generator takes."""
    cut = [song[: longest + 1] for song in songs]
    rows = torch.full((len(cut), max(map(len, cut))), PAD)
    for row, song in zip(rows, cut, strict=True):
        row[: len(song)] = torch.tensor(song)
    return rows
