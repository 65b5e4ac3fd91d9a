"""What the generator learns from: the studio's songs under captions that half of them follow; two in three are flawed.

A caption states the instruments, and perhaps the tempo and the metre. Each of these is followed with a probability of
`HEEDED`, as by the studio's own imperfect generator, so that there is something left to be learned from a reward.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from song import CLEAN, FLAW_NAMES, STRENGTHS, Production, Song, read_song, write_song
from torch import Tensor

from cmi._util.errors import InputError
from cmi.reward.model.encoders.nano import load_minilm, load_tokenizer
from cmi.reward.model.head import masked_mean
from cmi.studio.captions import Attribute, Caption, Facts, caption, facts, holds
from cmi.studio.compose import compose
from cmi.studio.piece import Piece

HEEDED = 0.5
UNFLAWED = 1 / 3
SECONDS = 8.0  # of a composed piece at least
STATED: tuple[Attribute, ...] = ("tempo", "metre")  # perhaps, besides the instruments
FIRST_SEED = 2 * 10**15  # beyond all other pieces of the studio's


@dataclass(frozen=True)
class Example:
    asked: Caption
    song: Song


def write_caption(seed: int) -> Caption:
    """A prompt that is true of some piece."""
    rng = random.Random(f"rl caption {seed}")  # noqa: S311
    known = facts(compose(FIRST_SEED + seed, seconds=SECONDS))
    said = {"instruments", *(name for name in STATED if rng.random() < 0.6)}
    return caption(known, rng, says=said)


def make_example(seed: int) -> Example:
    """A caption, and a song that follows it half of the time."""
    rng = random.Random(f"rl example {seed}")  # noqa: S311
    asked = write_caption(seed)
    wishes: dict[str, Any] = {
        name: getattr(asked.facts, name) for name in ("instruments", *STATED) if rng.random() < HEEDED
    }
    piece = _compose(FIRST_SEED + 10**9 + seed, wishes)
    production = Production()
    if rng.random() >= UNFLAWED:
        production = Production(rng.choice([name for name in FLAW_NAMES if name != CLEAN]), rng.choice(STRENGTHS))
    return Example(asked, Song(piece, production))


def _compose(seed: int, wishes: dict[str, Any]) -> Piece:
    try:
        return compose(seed, seconds=SECONDS, **wishes)
    except InputError:  # no style has all of them
        return compose(seed, seconds=SECONDS)


def heeded(asked: Caption, song: Song) -> float:
    """The share of what the caption states that is true of the song; what listeners might dispute counts half."""
    piece = song.piece
    playing = tuple(dict.fromkeys(part.instrument for part in piece.parts if part.notes))
    about = Facts(
        asked.facts.style, asked.facts.mood, piece.attributes.tempo, "moderate", playing, piece.metre, asked.facts.mode
    )
    shares = {True: 1.0, None: 0.5, False: 0.0}
    return sum(shares[holds(asked, name, about)] for name in asked.says) / len(asked.says)


class TextReader:
    """MiniLM's vector of a text."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._minilm = load_minilm().to(device)
        self._tokenize = load_tokenizer()

    @torch.no_grad()
    def __call__(self, texts: Sequence[str]) -> Tensor:
        """(B, 384)."""
        ids = [self._tokenize(text)[:256] for text in texts]
        rows = padded_ids(ids).to(self.device)
        there = rows >= 0
        tokens = self._minilm(input_ids=rows.clamp(min=0), attention_mask=there.long()).last_hidden_state
        vectors: Tensor = torch.nn.functional.normalize(masked_mean(tokens, there), dim=-1) * 384**0.5
        return vectors


def padded_ids(ids: Sequence[Sequence[int]]) -> Tensor:
    rows = torch.full((len(ids), max(map(len, ids))), -1)
    for row, own in zip(rows, ids, strict=True):
        row[: len(own)] = torch.tensor(own)
    return rows


def write_example(bars: int, seed: int) -> tuple[str, list[int]]:
    """An example as the generator learns it: its text and its tokens."""
    example = make_example(seed)
    return example.asked.text, write_song(example.song, bars)


def make_clean_song(bars: int, seed: int) -> Song:
    """A song of the studio's own, as its tokens hold it, without a flaw."""
    piece = compose(FIRST_SEED + 2 * 10**9 + seed, seconds=SECONDS)
    return read_song(write_song(Song(piece, Production()), bars))
