"""From songs to sound, and from sound to rewards: nano, a scorer that the generator never sees, and the truth.

The second scorer (`PlainNumbers`) measures how far a take's mel-cepstra are from those of clean takes. It has no
network, no weights and no training in common with nano, and it was not chosen by looking at what nano prefers.
`tags` would not do: nano's alignment is made of the same tags of musicnn's and the same MiniLM.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from corpus import heeded, make_clean_song
from numpy.typing import NDArray
from song import CLEAN, Song

from cmi.audio import Waveform
from cmi.reward.scoring.scorers import NamedScorer
from cmi.reward.scoring.timbre import timbre
from cmi.studio.captions import Caption
from cmi.studio.flaws import FLAWS, PieceFlaw
from cmi.studio.piece import SCALES, Piece
from cmi.studio.recordings import RATE
from cmi.studio.render import render
from cmi.take import Prompt, Take

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TakeRewards:
    """One number for each take."""

    reward: Array  # what is optimised: nano's mean of both axes
    musicality: Array  # nano's
    alignment: Array
    clean: Array  # the truth: 1 minus the strength of the flaw that was asked for
    in_key: Array  # the truth: the share of notes in the scale that fits best
    heeded: Array  # the truth: the share of the prompt that the song follows

    @property
    def truth(self) -> Array:
        return combine_truth(self.clean, self.in_key, self.heeded)

    def row(self, take: int) -> dict[str, float]:
        return {one.name: round(float(getattr(self, one.name)[take]), 5) for one in fields(self)}


def combine_truth(clean: Array, in_key: Array, followed: Array) -> Array:
    """Half for the music (clean and in key), half for the prompt."""
    return (clean * in_key + followed) / 2


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


def describe(song: Song) -> dict[str, Any]:
    """What else is known of a song, for finding out how a reward is gamed."""
    piece = song.piece
    playing = [part.instrument if part.role != "drums" else "drums" for part in piece.parts if part.notes]
    notes = [note for part in piece.parts for note in part.notes]
    return {
        "flaw": song.production.flaw,
        "strength": song.production.strength,
        "tempo": piece.attributes.tempo,
        "metre": piece.metre,
        "instruments": sorted(set(playing)),
        "parts": len(playing),
        "notes": len(notes),
        "seconds": round(piece.seconds, 2),
    }


class Noise:
    """Rewards that have nothing to do with the songs: what comes of them is due to the method alone."""

    def __init__(self, read_text: Any) -> None:
        self.read_text = read_text

    def ask(self, songs: Sequence[Song], asked: Sequence[Caption], seed: int) -> tuple[TakeRewards, list[Waveform]]:
        unheard = np.zeros(len(songs))
        reward = np.random.default_rng(seed).standard_normal(len(songs))
        return TakeRewards(reward, unheard, unheard, *known_truth(songs, asked)), []


class Truth:
    """Rewards the truth itself, without sound: what optimisation could reach if the reward were right."""

    def __init__(self, read_text: Any) -> None:
        self.read_text = read_text

    def ask(self, songs: Sequence[Song], asked: Sequence[Caption], seed: int) -> tuple[TakeRewards, list[Waveform]]:
        known = known_truth(songs, asked)
        unheard = np.zeros(len(songs))
        return TakeRewards(combine_truth(*known), unheard, unheard, *known), []


@dataclass(frozen=True)
class Judges:
    """Everything that turns songs into rewards."""

    scorer: NamedScorer
    read_text: Any  # texts -> (B, 384)
    pool: Executor

    def ask(self, songs: Sequence[Song], asked: Sequence[Caption], seed: int) -> tuple[TakeRewards, list[Waveform]]:
        """Rewards and sound of songs under their captions. A take that cannot be heard gets the lowest reward."""
        sounds = list(self.pool.map(partial(_sound_of, seed), enumerate(songs), chunksize=4))
        takes = [Take(Prompt(one.text), sound) for one, sound in zip(asked, sounds, strict=True)]
        heard = [getattr(one, "score", None) for one in self.scorer.judge(takes)]
        musicality = _filled([None if one is None else one.musicality for one in heard])
        alignment = _filled([None if one is None else one.alignment for one in heard])
        known = known_truth(songs, asked)
        return TakeRewards((musicality + alignment) / 2, musicality, alignment, *known), sounds


def known_truth(songs: Sequence[Song], asked: Sequence[Caption]) -> tuple[Array, Array, Array]:
    """How clean each song is, how much of it is in one key, and how much of its caption it follows."""
    return (
        np.array([clean_share(song) for song in songs]),
        np.array([share_in_key(song.piece) for song in songs]),
        np.array([heeded(one, song) for one, song in zip(asked, songs, strict=True)]),
    )


class PlainNumbers:
    """The second scorer: minus the distance of a take's mel-cepstra from clean takes', in standard deviations."""

    def __init__(self, clean: Array, pool: Executor) -> None:
        """`clean`: the cepstra of clean takes, as `hear_clean` gives them."""
        self.pool = pool
        self.mean, self.spread = clean.mean(axis=0), clean.std(axis=0)

    def score(self, sounds: Sequence[Waveform]) -> Array:
        apart = (np.stack(list(self.pool.map(timbre, sounds, chunksize=4))) - self.mean) / self.spread
        return -np.sqrt((apart**2).mean(axis=1))


def hear_clean(bars: int, count: int, pool: Executor) -> Array:
    """(count, 40): the cepstra of the studio's own songs without a flaw."""
    return np.stack(list(pool.map(partial(_clean_timbre, bars), range(count), chunksize=4)))


def _clean_timbre(bars: int, seed: int) -> Array:
    return timbre(make_sound(seed, make_clean_song(bars, seed)))


def _sound_of(seed: int, numbered: tuple[int, Song]) -> Waveform:
    number, song = numbered
    return make_sound(seed + number, song)


def _filled(values: Sequence[float | None]) -> Array:
    known = [value for value in values if value is not None]
    lowest = min(known, default=0.0)
    return np.array([lowest if value is None else value for value in values])
