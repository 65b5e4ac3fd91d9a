"""From songs to sound, and from sound to rewards: nano, a scorer that the generator never sees, and the truth."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np
from corpus import heeded
from numpy.typing import NDArray
from song import CLEAN, Song

from cmi.audio import Waveform
from cmi.reward.scoring.scorers import NamedScorer
from cmi.studio.captions import Caption
from cmi.studio.flaws import FLAWS, PieceFlaw
from cmi.studio.piece import SCALES, Piece
from cmi.studio.recordings import RATE
from cmi.studio.render import render
from cmi.take import Prompt, Take


@dataclass(frozen=True)
class TakeRewards:
    """One number for each take."""

    reward: NDArray[np.float64]  # what is optimised: nano's mean of both axes
    musicality: NDArray[np.float64]  # nano's
    alignment: NDArray[np.float64]
    second: NDArray[np.float64]  # another scorer's alignment, which is not optimised
    clean: NDArray[np.float64]  # the truth: 1 minus the strength of the flaw that was asked for
    in_key: NDArray[np.float64]  # the truth: the share of notes in the scale that fits best
    heeded: NDArray[np.float64]  # the truth: the share of the prompt that the song follows

    @property
    def truth(self) -> NDArray[np.float64]:
        return (self.clean * self.in_key + self.heeded) / 2


def make_sound(seed: int, song: Song) -> Waveform:
    """The take that a song asks for: mono, 32 kHz; silence where nothing plays."""
    flaw = FLAWS.get(song.production.flaw)
    rng = np.random.default_rng(seed)
    piece = song.piece
    if isinstance(flaw, PieceFlaw):
        piece = flaw.apply(piece, song.production.strength, rng)
    sound = render(piece, RATE, tail=0.5)
    if flaw is not None and not isinstance(flaw, PieceFlaw):
        sound = flaw.apply(sound, RATE, song.production.strength, rng)
    return Waveform(np.ascontiguousarray(sound.mean(axis=1, dtype=np.float32)), RATE)


def share_in_key(piece: Piece) -> float:
    """Of pitched notes, those in the scale that holds the most of them; 0 if there are none."""
    pitches = [note.pitch % 12 for part in piece.parts if part.role != "drums" for note in part.notes]
    if not pitches:
        return 0.0
    counts = np.bincount(pitches, minlength=12)
    steps = np.array(SCALES["major"])  # a natural minor scale is one of these, from another note
    return float(max(counts[(steps + tonic) % 12].sum() for tonic in range(12)) / counts.sum())


def clean_share(song: Song) -> float:
    return 1.0 if song.production.flaw == CLEAN else 1 - song.production.strength


def reward_takes(
    songs: Sequence[Song], asked: Sequence[Caption], scorer: NamedScorer, second: NamedScorer, pool: Executor, seed: int
) -> tuple[TakeRewards, list[Waveform]]:
    """Sound and rewards of songs under their captions. A take that can't be heard gets the lowest reward of all."""
    sounds = list(pool.map(partial(_sound_of, seed), enumerate(songs), chunksize=4))
    takes = [Take(Prompt(one.text), sound) for one, sound in zip(asked, sounds, strict=True)]
    heard = [getattr(one, "score", None) for one in scorer.judge(takes)]
    other = [getattr(one, "score", None) for one in second.judge(takes)]
    musicality = _filled([None if one is None else one.musicality for one in heard])
    alignment = _filled([None if one is None else one.alignment for one in heard])
    rewards = TakeRewards(
        reward=(musicality + alignment) / 2,
        musicality=musicality,
        alignment=alignment,
        second=_filled([None if one is None else one.alignment for one in other]),
        clean=np.array([clean_share(song) for song in songs]),
        in_key=np.array([share_in_key(song.piece) for song in songs]),
        heeded=np.array([heeded(one, song) for one, song in zip(asked, songs, strict=True)]),
    )
    return rewards, sounds


def _sound_of(seed: int, numbered: tuple[int, Song]) -> Waveform:
    number, song = numbered
    return make_sound(seed + number, song)


def _filled(values: Sequence[float | None]) -> NDArray[np.float64]:
    known = [value for value in values if value is not None]
    lowest = min(known, default=0.0)
    return np.array([lowest if value is None else value for value in values])
