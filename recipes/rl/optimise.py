"""Learn a generator of songs, and optimise it against a reward by GRPO or DPO; measure what is gained and lost.

Every measurement is of songs for the same held-out prompts, which no optimisation sees. KL is of a song's tokens, the
optimised generator's from the one that was learned, estimated on its own songs. Diversity is the share of different
bars among all bars of the songs for one prompt: 1 if no bar comes twice.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import torch
from corpus import TextReader, write_caption, write_example
from generator import SongGenerator, padded
from song import BAR, END, PAD, Song, read_song
from take_rewards import PlainNumbers, TakeRewards, describe
from torch import Tensor

from cmi.audio import Waveform
from cmi.studio.captions import Caption

HELD_OUT = 10**8  # the first seed of prompts that are never trained on
OPTIMISED = 10**7  # of prompts that rewards are asked for
TOGETHER = 256  # songs that are sampled at once
Watch = Callable[[int, SongGenerator], None]


@dataclass(frozen=True)
class RlConfig:
    bars: int = 4
    learn_steps: int = 3000
    learn_batch: int = 64
    steps: int = 40
    prompts: int = 8  # in a step
    songs: int = 8  # for each
    pool: int = 192  # prompts that DPO draws from
    rate: float = 2e-5
    kl: float = 0.01  # its weight in GRPO's loss
    beta: float = 0.1  # of DPO
    held_out: int = 32  # prompts to measure with
    held_out_songs: int = 3
    every: int = 10  # steps between measurements
    candidates: int = 32  # of each held-out prompt, for best of N
    clean_takes: int = 96  # that the second scorer knows


class Rewarder(Protocol):
    """Whoever rewards songs; `read_text` gives the texts' vectors (B, 384)."""

    @property
    def read_text(self) -> Any: ...

    def ask(self, songs: Sequence[Song], asked: Sequence[Caption], seed: int) -> tuple[TakeRewards, list[Waveform]]: ...


@dataclass(frozen=True)
class Measured:
    """Songs for held-out prompts, all songs of a prompt one after the other, and what is known of each."""

    step: int
    kl: list[float]  # of each song, in nats
    diversity: list[float]  # of each prompt
    songs: list[dict[str, Any]]
    sounds: list[Waveform]

    def record(self) -> dict[str, Any]:
        return {"step": self.step, "kl": self.kl, "diversity": self.diversity, "songs": self.songs}


def learn(model: SongGenerator, config: RlConfig, read_text: TextReader, pool: Executor) -> Iterator[tuple[int, float]]:
    """Teach the generator the studio's songs; yields the loss for a token, in nats, after each step."""
    device = next(model.parameters()).device
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    seeds = range(config.learn_steps * config.learn_batch)
    waiting = pool.map(partial(write_example, config.bars), seeds, chunksize=64)
    for step in range(config.learn_steps):
        texts, rows = zip(*islice(waiting, config.learn_batch), strict=True)
        songs = padded(rows, model.config.longest).to(device)
        for group in optimiser.param_groups:
            group["lr"] = 3e-4 * min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / config.learn_steps))
        loss = -model.log_probabilities(read_text(texts), songs).sum() / (songs[:, 1:] != PAD).sum()
        _step(optimiser, model, loss)
        yield step, loss.item()


def sample_songs(model: SongGenerator, text: Tensor, bars: int, seed: int) -> tuple[Tensor, list[Song]]:
    """Songs for texts (B, 384): their tokens (B, t), padded, and themselves."""
    randomness = torch.Generator(text.device).manual_seed(seed)
    parts = [model.sample(part, bars, randomness) for part in text.split(TOGETHER)]
    longest = max(part.shape[1] for part in parts)
    padding = torch.nn.functional.pad
    tokens = torch.cat([padding(part, (0, longest - part.shape[1]), value=PAD) for part in parts])
    return tokens, [read_song(row) for row in tokens.tolist()]


class Draw(NamedTuple):
    """Songs for prompts, all of a prompt one after the other."""

    text: Tensor  # (prompts x songs, 384)
    tokens: Tensor  # (prompts x songs, t)
    rewards: Tensor  # (prompts, songs), double

    def of(self, prompts: Tensor) -> "Draw":
        songs = self.rewards.shape[1]
        rows = (prompts[:, None] * songs + torch.arange(songs)).flatten().to(self.tokens.device)
        return Draw(self.text[rows], self.tokens[rows], self.rewards[prompts.to(self.rewards.device)])


def draw(model: SongGenerator, config: RlConfig, rewarder: Rewarder, prompts: range, seed: int) -> Draw:
    """Ask a generator for songs, and a rewarder for their rewards."""
    asked = [write_caption(prompt) for prompt in prompts for _ in range(config.songs)]
    text = rewarder.read_text([one.text for one in asked])
    tokens, songs = sample_songs(model, text, config.bars, seed)
    rewards, _ = rewarder.ask(songs, asked, seed)
    return Draw(text, tokens, torch.from_numpy(rewards.reward.reshape(len(prompts), config.songs)).to(text.device))


def draw_pool(learned: SongGenerator, config: RlConfig, rewarder: Rewarder) -> Draw:
    """What DPO learns from: songs of the generator as it was learned, drawn once for all seeds."""
    return draw(learned, config, rewarder, range(OPTIMISED, OPTIMISED + config.pool), OPTIMISED)


def optimise_grpo(
    learned: SongGenerator, config: RlConfig, rewarder: Rewarder, seed: int, watch: Watch
) -> SongGenerator:
    """Group-relative policy optimisation: a song's advantage is its reward among the songs for the same prompt."""
    model, optimiser = _copy(learned, config)
    for step in range(config.steps):
        first = OPTIMISED + (seed * config.steps + step) * config.prompts
        text, tokens, rewards = draw(model, config, rewarder, range(first, first + config.prompts), first)
        spread = rewards.std(dim=1, keepdim=True, correction=0) + 1e-6
        advantage = ((rewards - rewards.mean(dim=1, keepdim=True)) / spread).float().flatten()
        with torch.no_grad():
            before = learned.log_probabilities(text, tokens, config.bars)
        now = model.log_probabilities(text, tokens, config.bars)
        there = tokens[:, 1:] != PAD
        apart = before - now
        divergence = (apart.exp() - 1 - apart) * there  # never negative, and unbiased
        _step(optimiser, model, (config.kl * divergence - advantage[:, None] * now).sum() / there.sum())
        watch(step + 1, model)
    return model


def optimise_dpo(learned: SongGenerator, config: RlConfig, pool: Draw, seed: int, watch: Watch) -> SongGenerator:
    """Direct preference optimisation: of the songs for a prompt, the one with the highest reward over the lowest."""
    model, optimiser = _copy(learned, config)
    randomness = torch.Generator().manual_seed(seed)
    for step in range(config.steps):
        place = step * config.prompts % len(pool.rewards)
        if place == 0:
            order = torch.randperm(len(pool.rewards), generator=randomness)
        text, tokens, rewards = pool.of(order[place : place + config.prompts])
        rows = torch.arange(len(rewards), device=text.device) * config.songs
        used = torch.cat([rows + rewards.argmax(dim=1), rows + rewards.argmin(dim=1)])
        with torch.no_grad():
            before = learned.log_probabilities(text[used], tokens[used], config.bars).sum(dim=1)
        apart = model.log_probabilities(text[used], tokens[used], config.bars).sum(dim=1) - before
        chosen, rejected = apart.chunk(2)
        _step(optimiser, model, -torch.nn.functional.logsigmoid(config.beta * (chosen - rejected)).mean())
        watch(step + 1, model)
    return model


def _copy(learned: SongGenerator, config: RlConfig) -> tuple[SongGenerator, torch.optim.Optimizer]:
    model = copy.deepcopy(learned)
    return model, torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=0.0)


def measure(
    model: SongGenerator,
    learned: SongGenerator,
    config: RlConfig,
    rewarder: Rewarder,
    second: PlainNumbers | None,
    seed: int,
    step: int,
    songs_each: int,
) -> Measured:
    """Songs for the held-out prompts, and what is known of them; drawn alike in all steps of a seed."""
    asked = [write_caption(HELD_OUT + i) for i in range(config.held_out) for _ in range(songs_each)]
    text = rewarder.read_text([one.text for one in asked])
    tokens, songs = sample_songs(model, text, config.bars, HELD_OUT + seed)
    rewards, sounds = rewarder.ask(songs, asked, HELD_OUT)
    kl = [0.0] * len(songs) if model is learned else _divergence(model, learned, text, tokens, config.bars)
    plain = [0.0] * len(songs) if second is None else second.score(sounds).round(5).tolist()
    rows = [
        {"prompt": place // songs_each, **rewards.row(place), "second": plain[place], **describe(song)}
        for place, song in enumerate(songs)
    ]
    return Measured(step, kl, diversity(tokens, config.held_out), rows, sounds)


@torch.no_grad()
def _divergence(model: SongGenerator, learned: SongGenerator, text: Tensor, tokens: Tensor, bars: int) -> list[float]:
    """How much likelier each song is by the one than by the other, in nats."""
    apart = model.log_probabilities(text, tokens, bars) - learned.log_probabilities(text, tokens, bars)
    return [round(one, 4) for one in apart.sum(dim=1).tolist()]


def diversity(tokens: Tensor, prompts: int) -> list[float]:
    """The share of different bars among those of the songs for each prompt."""
    shares = []
    for songs in tokens.reshape(prompts, -1, tokens.shape[1]).tolist():
        bars = [bar for song in songs for bar in _bars(song)]
        shares.append(round(len(set(bars)) / max(1, len(bars)), 4))
    return shares


def _bars(song: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Each bar's tokens; what comes before the first is left out."""
    bar: list[int] | None = None
    for one in song:
        if one in (BAR, END):
            if bar:
                yield tuple(bar)
            bar = []
        elif bar is not None and one != PAD:
            bar.append(one)


def _step(optimiser: torch.optim.Optimizer, model: SongGenerator, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
