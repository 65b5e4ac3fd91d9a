"""Pairs whose winner is known: a plan of recordings and prompts, from a seed.

Musicality    a clean take against a flawed one: of the same piece, or of another piece of the same style ('across').
Alignment     a take that does what the prompt asks against one that does not: another style, tempo or density than the
              text says; other words than the lyrics; nothing like the reference. Both are clean, or have the same flaw.

Splits
    train, valid    flaws but those held out
    test            pieces that no other split has, the same flaws
    heldout         pieces that no other split has, and the flaws held out: in no other split

Every take lasts as long as any other and has a gain of its own, so that level and length tell nothing. Modalities are
mixed as in CMI-Pref: half of the prompts are text alone.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cmi.errors import InputError
from cmi.studio.captions import Caption, Facts, caption, facts, false_of
from cmi.studio.compose import STYLES
from cmi.studio.flaws import FLAWS
from cmi.studio.lyrics import write_lyrics
from cmi.studio.recordings import SECONDS, Recipe, Source, piece_of
from cmi.take import Axis, Modality

Split = Literal["train", "valid", "test", "heldout"]

SHARES: dict[Split, float] = {"train": 0.76, "valid": 0.08, "test": 0.08, "heldout": 0.08}
MODALITIES: dict[Modality, float] = {
    "text": 0.495,
    "text+audio": 0.204,
    "text+lyrics": 0.149,
    "text+lyrics+audio": 0.152,
}
HELD_OUT = ("hum", "pumping", "smear", "tempo-drift", "clashing-keys")
NOT_USED = ("level",)  # levels are evened out
STRENGTHS = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
ACROSS = 0.4  # of musicality pairs are of two pieces
BOTH_FLAWED = 0.3  # of alignment pairs
WIDEST_GAIN = 4.0  # decibels
LINES = 4  # of lyrics: about half of a take is sung
OTHER_TEMPOS = (1.6, 0.62, 1.45, 0.7, 1.8, 0.55)
SLOWEST, FASTEST = 45.0, 200.0


@dataclass(frozen=True)
class PairPlan:
    id: str
    split: Split
    axis: Axis
    caption: Caption
    lyrics: str
    reference: Recipe | None
    better: Recipe
    worse: Recipe
    better_first: bool
    confidence: int
    truth: dict[str, Any]

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        return (self.better, self.worse) if self.reference is None else (self.better, self.worse, self.reference)


def plan_pairs(count: int, seed: int, held_out: Sequence[str] = HELD_OUT) -> Iterator[PairPlan]:
    """`count` pairs, each from a generator of its own: the plan of a longer set begins with that of a shorter one."""
    for number in range(count):
        rng = random.Random(f"cmi.studio.pairs {seed} {number}")  # noqa: S311
        split: Split = rng.choices(list(SHARES), list(SHARES.values()))[0]
        axis: Axis = rng.choice(("musicality", "alignment"))
        maker = _Maker(rng, f"{seed}-{number:06d}", split, _flaws(split, held_out), seed * 10_000_000 + number * 4)
        yield maker.musicality() if axis == "musicality" else maker.alignment()


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


class _Maker:
    """One pair. Its pieces are its own: no other pair, and so no other split, has them."""

    def __init__(self, rng: random.Random, name: str, split: Split, flaws: list[str], first_seed: int) -> None:
        self.rng = rng
        self.name = name
        self.split = split
        self.flaws = flaws
        self.modality: Modality = rng.choices(list(MODALITIES), list(MODALITIES.values()))[0]
        self.style = rng.choice(list(STYLES))
        seconds = 2 * SECONDS if "audio" in self.modality else SECONDS  # the reference is the piece's other half
        self.source = Source(first_seed, (("style", self.style),), seconds)
        self.another = replace(self.source, seed=first_seed + 1)
        self.lyrics = write_lyrics(rng, LINES) if "lyrics" in self.modality else ""
        self.facts = self._facts(self.source)
        self.caption = caption(self.facts, rng)

    def musicality(self) -> PairPlan:
        flaw, strength = self.rng.choice(self.flaws), self.rng.choice(STRENGTHS)
        across = self.rng.random() < ACROSS
        good = self._take(self.source)
        bad = self._take(self.another if across else self.source, flaw, strength)
        truth = {"kind": "across" if across else "same", "flaw": flaw, "strength": strength}
        return self._pair("musicality", good, bad, 1 + round(4 * strength), truth)

    def alignment(self) -> PairPlan:
        flaw, strength = ("", 0.0) if self.rng.random() > BOTH_FLAWED else (self.rng.choice(self.flaws), 0.4)
        otherwise = self._otherwise()
        asked = [part for part in ("lyrics", "audio") if part in self.modality]
        violated = self.rng.choice(["style", *otherwise, *asked])
        good = self._take(self.source, flaw, strength)
        if violated == "lyrics":
            bad = replace(self._take(self.another, flaw, strength), lyrics=write_lyrics(self.rng, LINES))
        else:
            bad = self._take(otherwise.get(violated) or self._of_another_style(), flaw, strength)
        truth = {"kind": violated, "flaw": flaw, "strength": strength}
        confidence = 3 if violated in otherwise else 4 if violated == "lyrics" else 5
        return self._pair("alignment", good, bad, confidence, truth)

    def _otherwise(self) -> dict[str, Source]:
        """The same piece in another tempo or density, where that makes the text false."""
        tempos = [round(self.facts.tempo * factor, 1) for factor in OTHER_TEMPOS]
        wishes: list[tuple[str, str | float]] = [("tempo", t) for t in tempos if SLOWEST <= t <= FASTEST]
        wishes += [("density", density) for density in ("sparse", "busy")]
        found: dict[str, Source] = {}
        for name, value in wishes:
            source = replace(self.source, wishes=(*self.source.wishes, (name, value)))
            if name not in found and name in false_of(self.caption, self._facts(source)):
                found[name] = source
        return found

    def _of_another_style(self) -> Source:
        """Another piece, of which the text is false."""
        styles = [style for style in STYLES if style != self.style]
        for style in self.rng.sample(styles, len(styles)):
            source = replace(self.another, wishes=(("style", style),))
            if false_of(self.caption, self._facts(source)):
                break
        return source

    def _facts(self, source: Source) -> Facts:
        return facts(piece_of(source), vocals=bool(self.lyrics))

    def _take(self, source: Source, flaw: str = "", strength: float = 0.0) -> Recipe:
        flaw_seed = self.rng.randrange(2**31) if flaw else 0
        return Recipe(source, 0, flaw, strength, flaw_seed, self.lyrics, self._gain())

    def _gain(self) -> float:
        return round(self.rng.uniform(-WIDEST_GAIN, WIDEST_GAIN), 2)

    def _pair(self, axis: Axis, good: Recipe, bad: Recipe, confidence: int, truth: dict[str, Any]) -> PairPlan:
        reference = Recipe(self.source, SECONDS, gain=self._gain()) if "audio" in self.modality else None
        family = FLAWS[truth["flaw"]].family if truth["flaw"] else ""
        return PairPlan(
            id=self.name,
            split=self.split,
            axis=axis,
            caption=self.caption,
            lyrics=self.lyrics,
            reference=reference,
            better=good,
            worse=bad,
            better_first=self.rng.random() < 0.5,
            confidence=confidence,
            truth={**truth, "family": family, "modality": self.modality, "says": sorted(self.caption.says)},
        )
