"""Pairs of real recordings: of what they are nothing is known, so that text asks for nothing in particular.

Musicality    a stretch of a track against the same stretch flawed, or against another track's.
Alignment     with a stretch of a track as the reference, another stretch of it against another track's.
"""

import random
from collections.abc import Sequence

from cmi.studio.flaws import FLAWS, SoundFlaw
from cmi.studio.pair_plan import ACROSS, PairMaker, PairPlan, Split, sure_of
from cmi.studio.recordings import SECONDS, Recipe, Source
from cmi.studio.tracks import Track
from cmi.take import Axis

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


def spoils_recordings(name: str) -> bool:
    return isinstance(FLAWS[name], SoundFlaw)


def plan_track_pair(
    rng: random.Random, name: str, split: Split, axis: Axis, flaws: Sequence[str], tracks: Sequence[Track]
) -> PairPlan:
    """A pair of two tracks, or of one, out of two or more."""
    maker = _Maker(rng, name, split, [flaw for flaw in flaws if spoils_recordings(flaw)])
    one, other = rng.sample(tracks, 2)
    return maker.musicality(one, other) if axis == "musicality" else maker.alignment(one, other)


class _Maker(PairMaker):
    def musicality(self, one: Track, other: Track) -> PairPlan:
        flaw, strength = self.blemish()
        across = self.rng.random() < ACROSS
        here, there = self._places(one)
        reference = self._take(one, there) if self.rng.random() < REFERRED else None
        better = self._take(one, here)
        worse = self._take(other, self._places(other)[0], flaw, strength) if across else None
        truth = {"kind": "across" if across else "same", "modality": _modality(reference)}
        worse = worse or self._take(one, here, flaw, strength)
        text = self.rng.choice(TEXTS)
        return self.pair("musicality", text, better, worse, sure_of(strength), truth, reference=reference)

    def alignment(self, one: Track, other: Track) -> PairPlan:
        flaw, strength = self.shared_blemish()
        here, there = self._places(one)
        reference = self._take(one, there)
        better, worse = self._take(one, here, flaw, strength), self._take(other, self._places(other)[0], flaw, strength)
        truth = {"kind": "audio", "modality": _modality(reference), "reference": "same piece"}
        text = self.rng.choice(TEXTS)
        return self.pair("alignment", text, better, worse, 4, truth, reference=reference)

    def _places(self, track: Track) -> tuple[int, int]:
        """Two stretches of a track, in seconds from its beginning: as far apart as they can be if it is short."""
        last = int(track.seconds) - SECONDS
        here = self.rng.randint(0, last)
        free = [place for place in range(last + 1) if abs(place - here) >= SECONDS]
        return here, self.rng.choice(free) if free else (0 if here > last / 2 else last)

    def _take(self, track: Track, offset: int, flaw: str = "", strength: float = 0.0) -> Recipe:
        source = Source(track=track.name[:16], path=str(track.path))
        return Recipe(source, offset, flaw, strength, self.flaw_seed(flaw), gain=self.gain())


def _modality(reference: Recipe | None) -> str:
    return "text" if reference is None else "text+audio"
