"""Pairs whose winner is known: a plan of recordings and prompts, from a seed.

Splits
    train, valid    flaws but those held out
    test            pieces that no other split has, the same flaws
    heldout         pieces that no other split has, and the flaws held out: in no other split

A score or a track is in one split for good, by its name. Composed pieces are each pair's own. Every take lasts as long
as any other and has a gain of its own, so that level and length tell nothing.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cmi._util.errors import InputError
from cmi.studio.corpus import corpus_names
from cmi.studio.flaws import FLAWS
from cmi.studio.pair_plan import SHARES, PairPlan, Split, split_of
from cmi.studio.piece_pairs import plan_piece_pair
from cmi.studio.track_pairs import LONG_ENOUGH, plan_track_pair, spoils_recordings
from cmi.studio.tracks import Track
from cmi.take import Axis

HELD_OUT = ("hum", "pumping", "smear", "detuned-copy", "tempo-drift", "stuck", "clashing-keys")
NOT_USED = ("level",)  # levels are evened out


@dataclass(frozen=True)
class Material:
    """What pairs are made of, and what is held out of all splits but `heldout`."""

    held_out: tuple[str, ...] = HELD_OUT
    scores: float = 0.0  # the share of pairs that are of the corpus' scores
    tracks: tuple[Track, ...] = ()
    tracks_share: float = 0.0  # the share of pairs that are of tracks; all others are composed


def plan_pair(number: int, seed: int, material: Material) -> PairPlan:
    """One pair, whatever others there are: the plan of a longer set begins with that of a shorter one."""
    rng = random.Random(f"cmi.studio.pairs {seed} {number}")  # noqa: S311
    split: Split = rng.choices(list(SHARES), list(SHARES.values()))[0]
    axis: Axis = rng.choice(("musicality", "alignment"))
    name, flaws = pair_name(number, seed), _flaws(split, material.held_out)
    made_of = rng.random()
    tracks = _tracks(split, material.tracks)
    if made_of < material.tracks_share and len(tracks) > 1 and any(map(spoils_recordings, flaws)):
        return plan_track_pair(rng, name, split, axis, flaws, tracks)
    scores = _scores(split) if material.scores and made_of < material.tracks_share + material.scores else ()
    return plan_piece_pair(rng, name, split, axis, flaws, seed * 10_000_000 + number * 4, scores)


def pair_name(number: int, seed: int) -> str:
    return f"{seed}-{number:06d}"


def plan_pairs(count: int, seed: int, material: Material | None = None) -> Iterator[PairPlan]:
    return (plan_pair(number, seed, material or Material()) for number in range(count))


def known_flaws(names: Sequence[str]) -> tuple[str, ...]:
    """The names of flaws or families as they are; InputError for one that is neither."""
    known = [*FLAWS, *dict.fromkeys(flaw.family for flaw in FLAWS.values())]
    for name in names:
        if name not in known:
            raise InputError(f"no flaw and no family is called {name!r}; there are {', '.join(known)}")
    return tuple(names)


def _flaws(split: Split, held_out: Sequence[str]) -> list[str]:
    """The flaws of a split; a family's name holds out all its flaws."""
    out = [name for name, flaw in FLAWS.items() if name in held_out or flaw.family in held_out]
    return [name for name in FLAWS if name not in NOT_USED and (name in out) == (split == "heldout")]


@lru_cache(maxsize=len(SHARES))
def _scores(split: Split) -> tuple[str, ...]:
    return tuple(name for name in corpus_names() if split_of(name) == split)


@lru_cache(maxsize=len(SHARES))
def _tracks(split: Split, tracks: tuple[Track, ...]) -> tuple[Track, ...]:
    return tuple(track for track in tracks if track.seconds >= LONG_ENOUGH and split_of(track.name) == split)
