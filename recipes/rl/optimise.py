"""Optimise the generator against a reward by GRPO, DPO or picking the best of N; measure what is gained and lost.

Every measurement is of songs for the same held-out prompts. KL is of a song's tokens, the optimised generator's from
the one that was learned, estimated on its own songs. Diversity is the share of different bars among all bars of the
songs for one prompt: 1 if no bar comes twice.
"""

import copy
import math
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields
from itertools import islice

import numpy as np
import torch
from corpus import TextReader, make_example, tokens_of, write_caption
from generator import SongGenerator
from numpy.typing import NDArray
from song import BAR, END, PAD, Song, read_song
from take_rewards import TakeRewards, reward_takes
from torch import Tensor

from cmi.audio import Waveform
from cmi.reward.scoring.scorers import NamedScorer
from cmi.studio.captions import Caption

HELD_OUT = 10**8  # the first seed of prompts that are never trained on
OPTIMISED = 10**7  # of prompts that rewards are asked for


@dataclass(frozen=True)
class RlConfig:
    bars: int = 4
    learn_steps: int = 3000
    learn_batch: int = 64
    steps: int = 150
    prompts: int = 16  # in a step
    songs: int = 8  # for each
    rate: float = 3e-5
    kl: float = 0.02  # its weight in the loss
    beta: float = 0.1  # of DPO
    held_out: int = 32  # prompts to measure with
    held_out_songs: int = 4
    every: int = 15  # steps between measurements


@dataclass(frozen=True)
class Judges:
    """Everything that turns songs into rewards."""

    scorer: NamedScorer
    second: NamedScorer
    read_text: TextReader
    pool: Executor

    def ask(self, songs: Sequence[Song], asked: Sequence[Caption], seed: int) -> tuple[TakeRewards, list[Waveform]]:
        return reward_takes(songs, asked, self.scorer, self.second, self.pool, seed)


@dataclass(frozen=True)
class Measured:
    """Means over songs, each with half the width of a 95 % interval over prompts."""

    step: int
    kl: float  # nats of a song
    diversity: float
    values: dict[str, tuple[float, float]]  # reward, musicality, alignment, second, clean, in_key, heeded, truth


def learn(model: SongGenerator, config: RlConfig, read_text: TextReader, pool: Executor) -> Iterator[tuple[int, float]]:
    """Teach the generator the studio's songs; yields the loss for a token, in nats, after each step."""
    device = next(model.parameters()).device
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    seeds = iter(range(config.learn_steps * config.learn_batch))
    waiting = pool.map(make_example, seeds, chunksize=64)
    for step in range(config.learn_steps):
        examples = list(islice(waiting, config.learn_batch))
        songs = tokens_of(examples, config.bars, model.config.longest).to(device)
        text = read_text([one.asked.text for one in examples])
        for group in optimiser.param_groups:
            group["lr"] = 3e-4 * min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / config.learn_steps))
        loss = -model.log_probabilities(text, songs).sum() / (songs[:, 1:] != PAD).sum()
        _step(optimiser, model, loss)
        yield step, loss.item()


def sample_songs(model: SongGenerator, text: Tensor, bars: int, seed: int) -> tuple[Tensor, list[Song]]:
    randomness = torch.Generator(text.device).manual_seed(seed)
    tokens = model.sample(text, bars, randomness)
    return tokens, [read_song(row.tolist()) for row in tokens]


def _draw(
    model: SongGenerator, config: RlConfig, judges: Judges, seed: int, step: int
) -> tuple[Tensor, Tensor, NDArray[np.float64]]:
    """Vectors of a step's texts, songs for them, and their rewards (prompts, songs)."""
    first = OPTIMISED + (seed * config.steps + step) * config.prompts
    asked = [write_caption(first + i) for i in range(config.prompts) for _ in range(config.songs)]
    text = judges.read_text([one.text for one in asked])
    tokens, songs = sample_songs(model, text, config.bars, seed * 10**6 + step)
    rewards, _ = judges.ask(songs, asked, first)
    return text, tokens, rewards.reward.reshape(config.prompts, config.songs)


def optimise_grpo(
    learned: SongGenerator,
    config: RlConfig,
    judges: Judges,
    seed: int,
    on_step: Callable[[int, SongGenerator, NDArray[np.float64]], None],
    shuffled: bool = False,
) -> SongGenerator:
    """Group-relative policy optimisation; `shuffled` gives a group's rewards to the wrong songs: the null."""
    model = copy.deepcopy(learned)
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=0.0)
    rng = np.random.default_rng(seed)
    for step in range(config.steps):
        text, tokens, grouped = _draw(model, config, judges, seed, step)
        given = rng.permuted(grouped, axis=1) if shuffled else grouped
        spread = given.std(axis=1, keepdims=True) + 1e-6
        advantage = torch.tensor((given - given.mean(axis=1, keepdims=True)) / spread, device=text.device)
        with torch.no_grad():
            before = learned.log_probabilities(text, tokens)
        now = model.log_probabilities(text, tokens)
        there = tokens[:, 1:] != PAD
        apart = before - now
        divergence = (apart.exp() - 1 - apart) * there  # never negative, and unbiased
        gain = advantage.float().flatten()[:, None] * now
        _step(optimiser, model, (config.kl * divergence - gain).sum() / there.sum())
        on_step(step + 1, model, grouped)
    return model


def optimise_dpo(
    learned: SongGenerator,
    config: RlConfig,
    judges: Judges,
    seed: int,
    on_step: Callable[[int, SongGenerator, NDArray[np.float64]], None],
) -> SongGenerator:
    """Direct preference optimisation: of the songs for a prompt, the one with the highest reward over the lowest."""
    model = copy.deepcopy(learned)
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=0.0)
    for step in range(config.steps):
        text, tokens, grouped = _draw(learned, config, judges, seed, step)
        rows = np.arange(config.prompts) * config.songs
        pairs = np.stack([rows + grouped.argmax(axis=1), rows + grouped.argmin(axis=1)])  # (2, prompts)
        chosen, rejected = (torch.from_numpy(one).to(text.device) for one in pairs)
        with torch.no_grad():
            before = learned.log_probabilities(text, tokens).sum(dim=1)
        apart = model.log_probabilities(text, tokens).sum(dim=1) - before
        better = config.beta * (apart[chosen] - apart[rejected])
        _step(optimiser, model, -torch.nn.functional.logsigmoid(better).mean())
        on_step(step + 1, model, grouped)
    return model


def measure(
    model: SongGenerator, learned: SongGenerator, config: RlConfig, judges: Judges, step: int
) -> tuple[Measured, list[Song], list[Waveform]]:
    """Songs for the held-out prompts, and what they are worth."""
    asked = [write_caption(HELD_OUT + i) for i in range(config.held_out) for _ in range(config.held_out_songs)]
    text = judges.read_text([one.text for one in asked])
    tokens, songs = sample_songs(model, text, config.bars, HELD_OUT)
    rewards, sounds = judges.ask(songs, asked, HELD_OUT)
    with torch.no_grad():
        apart = model.log_probabilities(text, tokens) - learned.log_probabilities(text, tokens)
    values = {one.name: getattr(rewards, one.name) for one in fields(rewards)} | {"truth": rewards.truth}
    means = {name: mean_and_margin(value.reshape(config.held_out, -1)) for name, value in values.items()}
    return Measured(step, float(apart.sum(dim=1).mean()), diversity(tokens, config.held_out), means), songs, sounds


def best_of(learned: SongGenerator, config: RlConfig, judges: Judges, counts: Sequence[int]) -> list[Measured]:
    """What picking the song with the highest reward out of N is worth; KL is at most log N - (N - 1) / N."""
    most = max(counts)
    asked = [write_caption(HELD_OUT + i) for i in range(config.held_out) for _ in range(most)]
    tokens, songs = sample_songs(learned, judges.read_text([one.text for one in asked]), config.bars, HELD_OUT + 1)
    rewards, _ = judges.ask(songs, asked, HELD_OUT)
    values = {one.name: getattr(rewards, one.name) for one in fields(rewards)} | {"truth": rewards.truth}
    found = []
    for count in counts:
        picked = rewards.reward.reshape(config.held_out, most)[:, :count].argmax(axis=1)
        rows = np.arange(config.held_out) * most + picked
        means = {name: mean_and_margin(value[rows][:, None]) for name, value in values.items()}
        kl = math.log(count) - (count - 1) / count
        found.append(Measured(count, kl, diversity(tokens[rows], 1), means))
    return found


def mean_and_margin(values: NDArray[np.float64]) -> tuple[float, float]:
    """(prompts, songs) -> the mean, and 1.96 standard errors over prompts."""
    by_prompt = values.mean(axis=1)
    return float(by_prompt.mean()), float(1.96 * by_prompt.std(ddof=1) / math.sqrt(len(by_prompt)))


def diversity(tokens: Tensor, prompts: int) -> float:
    """The share of different bars among those of the songs for a prompt, in the mean over prompts."""
    shares = []
    for songs in tokens.reshape(prompts, -1, tokens.shape[1]).tolist():
        bars = [bar for song in songs for bar in _bars(song)]
        shares.append(len(set(bars)) / max(1, len(bars)))
    return float(np.mean(shares))


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


def seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def record_of(measured: Measured) -> dict[str, object]:
    return asdict(measured)
