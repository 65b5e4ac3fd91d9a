"""Pairs of pieces whose every note is known: composed for the pair, or scores of the corpus.

Musicality    a clean take against a flawed one: of the same piece, or of another piece of the same style ('across').
Alignment     a take that does what the prompt asks against one that does not: another style, tempo or density than the
              text says; other words than the lyrics; nothing like the reference. Both are clean, or have the same flaw.

The reference is another section of the same piece, or another piece of the same style. Modalities are mixed as in
CMI-Pref: half of the prompts are text alone.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from cmi.studio.captions import Facts, caption, facts, false_of
from cmi.studio.compose import STYLES
from cmi.studio.lyrics import write_lyrics
from cmi.studio.pair_plan import ACROSS, PairMaker, PairPlan, Split, sure_of
from cmi.studio.recordings import SECONDS, Recipe, Source, piece_of
from cmi.take import Axis, Modality

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


def plan_piece_pair(
    rng: random.Random,
    name: str,
    split: Split,
    axis: Axis,
    flaws: Sequence[str],
    first_seed: int,
    scores: Sequence[str] = (),
) -> PairPlan:
    """A pair of pieces that are composed from `first_seed` on, or of two or more scores of one kind."""
    maker = _Maker(rng, name, split, flaws, first_seed, scores)
    return maker.musicality() if axis == "musicality" else maker.alignment()


class _Maker(PairMaker):
    """Composed pieces are the pair's own: no other pair, and so no other split, has them."""

    def __init__(
        self, rng: random.Random, name: str, split: Split, flaws: Sequence[str], first_seed: int, scores: Sequence[str]
    ) -> None:
        super().__init__(rng, name, split, flaws)
        self.first_seed = first_seed
        self.modality: Modality = rng.choices(list(MODALITIES), list(MODALITIES.values()))[0]
        if scores:
            self.source, self.another, self.third = (Source(score=score) for score in _three(rng, scores))
        else:
            wishes = (("style", rng.choice(list(STYLES))),)
            seconds = 2 * SECONDS if "audio" in self.modality else SECONDS  # the reference is the piece's other half
            seeds = (first_seed, first_seed + 1, first_seed + 2)
            self.source, self.another, self.third = (Source(seed, wishes, seconds) for seed in seeds)
        self.lyrics = write_lyrics(rng, LINES) if "lyrics" in self.modality else ""
        self.facts = self._facts(self.source)
        self.caption = caption(self.facts, rng)

    def musicality(self) -> PairPlan:
        flaw, strength = self.blemish()
        across = self.rng.random() < ACROSS
        better = self._take(self.source)
        worse = self._take(self.another if across else self.source, flaw, strength)
        return self._pair("musicality", better, worse, sure_of(strength), "across" if across else "same")

    def alignment(self) -> PairPlan:
        flaw, strength = self.shared_blemish()
        otherwise = self._otherwise()
        asked = [part for part in ("lyrics", "audio") if part in self.modality]
        violated = self.rng.choice(["style", *otherwise, *asked])
        better = self._take(self.source, flaw, strength)
        if violated == "lyrics":
            worse = replace(self._take(self.another, flaw, strength), lyrics=write_lyrics(self.rng, LINES))
        else:
            worse = self._take(otherwise.get(violated) or self._of_another_style(), flaw, strength)
        confidence = 3 if violated in otherwise else 4 if violated == "lyrics" else 5
        return self._pair("alignment", better, worse, confidence, violated)

    def _otherwise(self) -> dict[str, Source]:
        """The same piece in another tempo or density, where that makes the text false; a score has but one."""
        if self.source.score:
            return {}
        tempos = [round(self.facts.tempo * factor, 1) for factor in OTHER_TEMPOS]
        wishes: list[tuple[str, str | float]] = [("tempo", t) for t in tempos if SLOWEST <= t <= FASTEST]
        wishes += [("density", density) for density in ("sparse", "busy")]
        found: dict[str, Source] = {}
        for name, value in wishes:
            source = replace(self.source, wishes=(*self.source.wishes, (name, value)))
            if name not in found and name in self.caption.says and name in false_of(self.caption, self._facts(source)):
                found[name] = source
        return found

    def _of_another_style(self) -> Source:
        """A piece composed for this, of which the text is false."""
        styles = [style for style in STYLES if style != self.facts.style]
        for style in self.rng.sample(styles, len(styles)):
            source = Source(self.first_seed + 1, (("style", style),), self.source.seconds)
            if false_of(self.caption, self._facts(source)):
                break
        return source

    def _facts(self, source: Source) -> Facts:
        return facts(piece_of(source), vocals=bool(self.lyrics))

    def _take(self, source: Source, flaw: str = "", strength: float = 0.0) -> Recipe:
        return Recipe(source, 0, flaw, strength, self.flaw_seed(flaw), self.lyrics, self.gain())

    def _pair(self, axis: Axis, better: Recipe, worse: Recipe, confidence: int, kind: str) -> PairPlan:
        reference, relation = self._reference() if "audio" in self.modality else (None, "")
        truth = {"kind": kind, "modality": self.modality, "reference": relation, "says": sorted(self.caption.says)}
        return self.pair(
            axis, self.caption.text, better, worse, confidence, truth, self.caption, self.lyrics, reference
        )

    def _reference(self) -> tuple[Recipe, str]:
        if self.rng.random() < SAME_STYLE or piece_of(self.source).seconds < 1.5 * SECONDS:
            return Recipe(self.third, 0, gain=self.gain()), "same style"
        return Recipe(self.source, SECONDS, gain=self.gain()), "same piece"


def _three(rng: random.Random, scores: Sequence[str]) -> list[str]:
    """A score and two more of its kind, or itself again where its kind has no other."""
    first = rng.choice(scores)
    kind = [score for score in scores if score != first and score.split("/")[0] == first.split("/")[0]]
    return [first, *rng.choices(kind or [first], k=2)]
