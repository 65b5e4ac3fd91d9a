"""Plan pairs with a known winner, recordings and prompts, from a seed.

Pairs of pieces, composed for the pair or scores of the corpus
    Musicality    a clean take against a flawed one of the same piece, or of another of the same style ('across').
    Alignment     a take that follows the prompt against one with another style, tempo or density, other lyrics, or
                  unlike the reference. Both are clean or have the same flaw.
    The reference is another section of the same piece, or another piece of the same style. Modalities are mixed as in
    CMI-Pref: half of the prompts are text alone.

Pairs of real recordings, about which nothing is known, with a text that asks for nothing in particular
    Musicality    an excerpt of a track against the same excerpt with a flaw, or against a flawed one of another track.
    Alignment     with an excerpt of a track as the reference, another excerpt of it against another track's.

Splits
    train, valid    flaws except those held out
    test            pieces that no other split has, the same flaws
    heldout         pieces that no other split has, and the flaws held out: in no other split

The name of a score or track determines its split. Composed pieces belong to one pair each. All takes have the same
length and random gains, so level and length are uninformative.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from cmi._util.errors import InputError
from cmi.preferences import Preference
from cmi.studio.captions import Caption, Facts, caption, facts, false_of
from cmi.studio.corpus import corpus_names
from cmi.studio.flaws import FLAWS, SoundFlaw
from cmi.studio.lyrics import write_lyrics
from cmi.studio.recordings import SECONDS, TakeRecipe, TakeSource, piece_of
from cmi.studio.styles import STYLES
from cmi.studio.tracks import Track
from cmi.take import Axis, Modality, Pair, Prompt

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
    caption: Caption | None  # None for real recordings
    lyrics: str
    reference: TakeRecipe | None
    better: TakeRecipe
    worse: TakeRecipe
    better_first: bool
    confidence: int
    truth: dict[str, Any]

    @property
    def recipes(self) -> dict[str, TakeRecipe]:
        takes = {"better": self.better, "worse": self.worse}
        return takes if self.reference is None else {**takes, "reference": self.reference}

    def preference(self, files: Mapping[str, Path], about: Mapping[str, Any]) -> Preference:
        """The pair's preference, with its recordings in files."""
        a, b = ("better", "worse") if self.better_first else ("worse", "better")
        pair = Pair(Prompt(self.text, self.lyrics, files.get("reference")), files[a], files[b])
        return Preference(pair, self.axis, "a" if self.better_first else "b", self.confidence, "studio", self.id, about)


def split_of(piece: str) -> Split:
    """The split of a score or track, determined by its name."""
    place = int.from_bytes(hashlib.sha256(f"cmi.studio.split {piece}".encode()).digest()[:4]) / 2**32
    return next((split for split, end in zip(SHARES, accumulate(SHARES.values()), strict=True) if place < end), "train")


@dataclass
class _PairMaker:
    rng: random.Random
    name: str
    split: Split
    flaws: Sequence[str]
    lyrics = ""

    def draw_flaw(self) -> tuple[str, float]:
        """Draw the flaw of the worse take of a musicality pair."""
        return self.rng.choice(self.flaws), self.rng.choice(STRENGTHS)

    def draw_shared_flaw(self) -> tuple[str, float]:
        """Draw the flaw of both takes of an alignment pair, or none."""
        return (self.rng.choice(self.flaws), SHARED_STRENGTH) if self.rng.random() < BOTH_FLAWED else ("", 0.0)

    def gain(self) -> float:
        return round(self.rng.uniform(-WIDEST_GAIN, WIDEST_GAIN), 2)

    def take(self, source: TakeSource, offset: int, flaw: str = "", strength: float = 0.0) -> TakeRecipe:
        flaw_seed = self.rng.randrange(2**31) if flaw else 0
        return TakeRecipe(source, offset, flaw, strength, flaw_seed, self.lyrics, self.gain())

    def pair(
        self,
        axis: Axis,
        text: str,
        better: TakeRecipe,
        worse: TakeRecipe,
        confidence: int,
        truth: dict[str, Any],
        reference: TakeRecipe | None,
        caption: Caption | None = None,
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
            lyrics=self.lyrics,
            reference=reference,
            better=better,
            worse=worse,
            better_first=self.rng.random() < 0.5,
            confidence=confidence,
            truth={**truth, **known, "pieces": sorted(pieces)},
        )


def sure_of(strength: float) -> int:
    """A listener's confidence, 1 to 5, about a flaw of that strength."""
    return 1 + round(4 * strength)


MODALITIES: dict[Modality, float] = {
    "text": 0.495,
    "text+audio": 0.204,
    "text+lyrics": 0.149,
    "text+lyrics+audio": 0.152,
}
SAME_STYLE = 0.3  # of references are another piece
LINES = 4  # of lyrics: about half of a take is sung
OTHER_TEMPOS = (1.6, 0.62, 1.45, 0.7, 1.8, 0.55)
SLOWEST, FASTEST = 45.0, 200.0


@dataclass
class _PiecePairMaker(_PairMaker):
    """Composed pieces belong to this pair only, and so to one split."""

    first_seed: int
    scores: Sequence[str]

    def __post_init__(self) -> None:
        rng = self.rng
        self.modality: Modality = rng.choices(list(MODALITIES), list(MODALITIES.values()))[0]
        if self.scores:
            self.source, self.another, self.third = (TakeSource(score=score) for score in _three(rng, self.scores))
        else:
            wishes = (("style", rng.choice(list(STYLES))),)
            seconds = 2 * SECONDS if "audio" in self.modality else SECONDS  # the reference is the piece's other half
            seeds = range(self.first_seed, self.first_seed + 3)
            self.source, self.another, self.third = (TakeSource(seed, wishes, seconds) for seed in seeds)
        self.lyrics = write_lyrics(rng, LINES) if "lyrics" in self.modality else ""
        self.facts = self._facts(self.source)
        self.caption = caption(self.facts, rng)

    def musicality(self) -> PairPlan:
        flaw, strength = self.draw_flaw()
        across = self.rng.random() < ACROSS
        better = self.take(self.source, 0)
        worse = self.take(self.another if across else self.source, 0, flaw, strength)
        return self._pair("musicality", better, worse, sure_of(strength), "across" if across else "same")

    def alignment(self) -> PairPlan:
        flaw, strength = self.draw_shared_flaw()
        otherwise = self._otherwise()
        asked = [part for part in ("lyrics", "audio") if part in self.modality]
        violated = self.rng.choice(["style", *otherwise, *asked])
        better = self.take(self.source, 0, flaw, strength)
        if violated == "lyrics":
            worse = replace(self.take(self.another, 0, flaw, strength), lyrics=write_lyrics(self.rng, LINES))
        else:
            worse = self.take(otherwise.get(violated) or self._of_another_style(), 0, flaw, strength)
        confidence = 3 if violated in otherwise else 4 if violated == "lyrics" else 5
        return self._pair("alignment", better, worse, confidence, violated)

    def _otherwise(self) -> dict[str, TakeSource]:
        """The same composed piece in another tempo or density that makes the text false."""
        if self.source.score:
            return {}
        tempos = [round(self.facts.tempo * factor, 1) for factor in OTHER_TEMPOS]
        wishes: list[tuple[str, str | float]] = [("tempo", t) for t in tempos if SLOWEST <= t <= FASTEST]
        wishes += [("density", density) for density in ("sparse", "busy")]
        found: dict[str, TakeSource] = {}
        for name, value in wishes:
            source = replace(self.source, wishes=(*self.source.wishes, (name, value)))
            if name not in found and name in self.caption.says and name in false_of(self.caption, self._facts(source)):
                found[name] = source
        return found

    def _of_another_style(self) -> TakeSource:
        """A composed piece for which the text is false."""
        styles = [style for style in STYLES if style != self.facts.style]
        for style in self.rng.sample(styles, len(styles)):
            source = TakeSource(self.first_seed + 1, (("style", style),), self.source.seconds)
            if false_of(self.caption, self._facts(source)):
                break
        return source

    def _facts(self, source: TakeSource) -> Facts:
        return facts(piece_of(source), vocals=bool(self.lyrics))

    def _pair(self, axis: Axis, better: TakeRecipe, worse: TakeRecipe, confidence: int, kind: str) -> PairPlan:
        reference, relation = self._reference() if "audio" in self.modality else (None, "")
        truth = {"kind": kind, "modality": self.modality, "reference": relation, "says": sorted(self.caption.says)}
        return self.pair(axis, self.caption.text, better, worse, confidence, truth, reference, self.caption)

    def _reference(self) -> tuple[TakeRecipe, str]:
        if self.rng.random() < SAME_STYLE or piece_of(self.source).seconds < 1.5 * SECONDS:
            return TakeRecipe(self.third, 0, gain=self.gain()), "same style"
        return TakeRecipe(self.source, SECONDS, gain=self.gain()), "same piece"


def _three(rng: random.Random, scores: Sequence[str]) -> list[str]:
    """Draw a score and two more of its kind, or itself again if there are none."""
    first = rng.choice(scores)
    kind = [score for score in scores if score != first and score.split("/")[0] == first.split("/")[0]]
    return [first, *rng.choices(kind or [first], k=2)]


REFERRED = 0.4  # of musicality pairs have a reference too
LONG_ENOUGH = SECONDS + 2  # seconds of a track that pairs are made of
TEXTS = (
    "A piece of music",
    "Any music, in any style",
    "Some music to listen to",
    "music",
    "A track in whatever style",
    "Play something good",
)


@dataclass
class _TrackPairMaker(_PairMaker):
    one: Track
    other: Track

    def musicality(self) -> PairPlan:
        flaw, strength = self.draw_flaw()
        across = self.rng.random() < ACROSS
        here, there = self._places(self.one)
        reference = self._excerpt(self.one, there) if self.rng.random() < REFERRED else None
        better = self._excerpt(self.one, here)
        other = (self.other, self._places(self.other)[0]) if across else (self.one, here)
        worse = self._excerpt(*other, flaw, strength)
        truth = {"kind": "across" if across else "same", "modality": "text+audio" if reference else "text"}
        text = self.rng.choice(TEXTS)
        return self.pair("musicality", text, better, worse, sure_of(strength), truth, reference)

    def alignment(self) -> PairPlan:
        flaw, strength = self.draw_shared_flaw()
        here, there = self._places(self.one)
        reference, better = self._excerpt(self.one, there), self._excerpt(self.one, here, flaw, strength)
        worse = self._excerpt(self.other, self._places(self.other)[0], flaw, strength)
        truth = {"kind": "audio", "modality": "text+audio", "reference": "same piece"}
        return self.pair("alignment", self.rng.choice(TEXTS), better, worse, 4, truth, reference)

    def _places(self, track: Track) -> tuple[int, int]:
        """Start seconds of two excerpts of a track, without overlap if it is long enough."""
        last = int(track.seconds) - SECONDS
        here = self.rng.randint(0, last)
        free = [place for place in range(last + 1) if abs(place - here) >= SECONDS]
        return here, self.rng.choice(free) if free else (0 if here > last / 2 else last)

    def _excerpt(self, track: Track, offset: int, flaw: str = "", strength: float = 0.0) -> TakeRecipe:
        return self.take(TakeSource(track=track.name[:16], path=str(track.path)), offset, flaw, strength)


HELD_OUT = ("hum", "pumping", "smear", "detuned-copy", "tempo-drift", "stuck", "clashing-keys")
NOT_USED = ("level",)  # because levels are equalised


@dataclass(frozen=True)
class Material:
    """The material of pairs, and the flaws that only the split `heldout` has."""

    held_out: tuple[str, ...] = HELD_OUT
    scores: float = 0.0  # the share of pairs that are of the corpus' scores
    tracks: tuple[Track, ...] = ()
    tracks_share: float = 0.0  # the share of pairs that are of tracks; all others are composed


def plan_pair(number: int, seed: int, material: Material) -> PairPlan:
    """Plan one pair independently of the others, so a longer set begins with a shorter one."""
    rng = random.Random(f"cmi.studio.pairs {seed} {number}")  # noqa: S311
    split: Split = rng.choices(list(SHARES), list(SHARES.values()))[0]
    axis: Axis = rng.choice(("musicality", "alignment"))
    name, flaws = pair_name(number, seed), _flaws(split, material.held_out)
    on_sound = [flaw for flaw in flaws if isinstance(FLAWS[flaw], SoundFlaw)]
    made_of = rng.random()
    tracks = _tracks(split, material.tracks)
    maker: _TrackPairMaker | _PiecePairMaker
    if made_of < material.tracks_share and len(tracks) > 1 and on_sound:
        maker = _TrackPairMaker(rng, name, split, on_sound, *rng.sample(tracks, 2))
    else:
        scores = _scores(split) if material.scores and made_of < material.tracks_share + material.scores else ()
        maker = _PiecePairMaker(rng, name, split, flaws, seed * 10_000_000 + number * 4, scores)
    return maker.musicality() if axis == "musicality" else maker.alignment()


def pair_name(number: int, seed: int) -> str:
    return f"{seed}-{number:06d}"


def plan_pairs(count: int, seed: int, material: Material | None = None) -> Iterator[PairPlan]:
    return (plan_pair(number, seed, material or Material()) for number in range(count))


def known_flaws(names: Sequence[str]) -> tuple[str, ...]:
    """Check names of flaws or families; InputError for an unknown one."""
    known = [*FLAWS, *dict.fromkeys(flaw.family for flaw in FLAWS.values())]
    for name in names:
        if name not in known:
            raise InputError(f"unknown flaw or family {name!r}; known: {', '.join(known)}")
    return tuple(names)


def _flaws(split: Split, held_out: Sequence[str]) -> list[str]:
    """The flaws of a split; a family's name in `held_out` stands for all its flaws."""
    out = [name for name, flaw in FLAWS.items() if name in held_out or flaw.family in held_out]
    return [name for name in FLAWS if name not in NOT_USED and (name in out) == (split == "heldout")]


@lru_cache(maxsize=len(SHARES))
def _scores(split: Split) -> tuple[str, ...]:
    return tuple(name for name in corpus_names() if split_of(name) == split)


@lru_cache(maxsize=len(SHARES))
def _tracks(split: Split, tracks: tuple[Track, ...]) -> tuple[Track, ...]:
    return tuple(track for track in tracks if track.seconds >= LONG_ENOUGH and split_of(track.name) == split)
