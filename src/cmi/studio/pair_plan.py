"""A pair before it is recorded: prompt, takes and truth; and what all ways to plan one have in common."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from cmi.preferences import Preference
from cmi.studio.captions import Caption
from cmi.studio.flaws import FLAWS
from cmi.studio.recordings import Recipe
from cmi.take import Axis, Pair, Prompt

Split = Literal["train", "valid", "test", "heldout"]

SHARES: dict[Split, float] = {"train": 0.76, "valid": 0.08, "test": 0.08, "heldout": 0.08}
STRENGTHS = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
ACROSS = 0.4  # of musicality pairs are of two pieces
BOTH_FLAWED = 0.3  # of alignment pairs
SHARED_STRENGTH = 0.4
WIDEST_GAIN = 4.0  # decibels


@dataclass(frozen=True)
class PairPlan:
    id: str
    split: Split
    axis: Axis
    text: str
    caption: Caption | None  # None of a recording that nothing is known about
    lyrics: str
    reference: Recipe | None
    better: Recipe
    worse: Recipe
    better_first: bool
    confidence: int
    truth: dict[str, Any]

    @property
    def recipes(self) -> dict[str, Recipe]:
        takes = {"better": self.better, "worse": self.worse}
        return takes if self.reference is None else {**takes, "reference": self.reference}

    def preference(self, files: Mapping[str, Path], about: Mapping[str, Any]) -> Preference:
        """The pair's row, once its recordings are in files."""
        a, b = ("better", "worse") if self.better_first else ("worse", "better")
        pair = Pair(Prompt(self.text, self.lyrics, files.get("reference")), files[a], files[b])
        return Preference(pair, self.axis, "a" if self.better_first else "b", self.confidence, "studio", self.id, about)


def split_of(piece: str) -> Split:
    """The split that a score or a track belongs to, in whatever set it is used: by its name alone."""
    place = int.from_bytes(hashlib.sha256(f"cmi.studio.split {piece}".encode()).digest()[:4]) / 2**32
    return next((split for split, end in zip(SHARES, accumulate(SHARES.values()), strict=True) if place < end), "train")


class PairMaker:
    """One pair, from a generator of its own."""

    def __init__(self, rng: random.Random, name: str, split: Split, flaws: Sequence[str]) -> None:
        self.rng = rng
        self.name = name
        self.split: Split = split
        self.flaws = flaws

    def blemish(self) -> tuple[str, float]:
        """What makes the worse take of a musicality pair worse."""
        return self.rng.choice(self.flaws), self.rng.choice(STRENGTHS)

    def shared_blemish(self) -> tuple[str, float]:
        """What both takes of an alignment pair have, or nothing."""
        return (self.rng.choice(self.flaws), SHARED_STRENGTH) if self.rng.random() < BOTH_FLAWED else ("", 0.0)

    def flaw_seed(self, flaw: str) -> int:
        return self.rng.randrange(2**31) if flaw else 0

    def gain(self) -> float:
        return round(self.rng.uniform(-WIDEST_GAIN, WIDEST_GAIN), 2)

    def pair(
        self,
        axis: Axis,
        text: str,
        better: Recipe,
        worse: Recipe,
        confidence: int,
        truth: dict[str, Any],
        caption: Caption | None = None,
        lyrics: str = "",
        reference: Recipe | None = None,
    ) -> PairPlan:
        flaw = worse.flaw
        known = {"flaw": flaw, "strength": worse.strength, "family": FLAWS[flaw].family if flaw else ""}
        pieces = {recipe.source.name for recipe in (better, worse, reference) if recipe is not None}
        return PairPlan(
            id=self.name,
            split=self.split,
            axis=axis,
            text=text,
            caption=caption,
            lyrics=lyrics,
            reference=reference,
            better=better,
            worse=worse,
            better_first=self.rng.random() < 0.5,
            confidence=confidence,
            truth={**truth, **known, "pieces": sorted(pieces)},
        )


def sure_of(strength: float) -> int:
    """How sure a listener would be of a flaw of that strength, from 1 to 5."""
    return 1 + round(4 * strength)
