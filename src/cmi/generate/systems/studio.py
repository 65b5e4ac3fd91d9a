"""The studio's composer and renderer as a generator: the system that is always there, offline.

It does what a text says in the words of the studio's captions (style, tempo, instruments, mood, density, metre, mode)
and sings lyrics; other words are passed over. Settings make it worse, so that systems of known order can be compared:

    flaws     strength of the flaw that each take has, 0 (none) to 1 (blatant); its kind is drawn
    follows   probability that a wish is followed, 0 to 1
"""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from random import Random
from typing import Any

from cmi._util.errors import InputError, require_extra
from cmi.generate import GeneratedSound, Part
from cmi.take import Prompt

LENGTH = 30  # seconds, unless asked for
LONGEST = 600  # seconds
# Beyond the seeds of data sets, probes and `cmi studio generate`, so no scorer was trained on these pieces.
_FIRST_SEED, _SEEDS = 10**18, 10**15


class StudioGenerator:
    accepts: tuple[Part, ...] = ("text", "lyrics")
    licence = "no terms: synthesized by cmi"

    def __init__(self, flaws: float = 0.0, follows: float = 1.0) -> None:
        with require_extra("the studio", "studio"):
            import cmi.studio.recordings  # noqa: F401
        from cmi import __version__
        from cmi.studio.render import soundfont

        for name, value in (("flaws", flaws), ("follows", follows)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"studio: {name} is {value!r}, expected a number from 0 to 1")
        self._flaws, self._follows = float(flaws), float(follows)
        changed = [f"flaws-{flaws:g}"] * (flaws != 0) + [f"follows-{follows:g}"] * (follows != 1)
        self.name = "-".join(["studio", *changed])
        self.version = __version__
        self.settings: Mapping[str, Any] = {
            "flaws": self._flaws,
            "follows": self._follows,
            "soundfont": soundfont().name,
        }

    def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> GeneratedSound:
        from cmi.studio.flaws import FLAWS
        from cmi.studio.pairs import NOT_USED
        from cmi.studio.recordings import RATE, TakeRecipe, TakeSource, record
        from cmi.studio.wishes import Wishes, compose_wish, read_wishes

        length = LENGTH if seconds is None else math.ceil(seconds)
        if length > LONGEST:
            raise InputError(f"the studio makes takes of up to {LONGEST} s, but {seconds:g} s were requested")
        # Names and numbers alone: takes of two settings differ in what the settings change.
        rng = Random(f"cmi.generate.systems.studio {seed} {prompt.text} {prompt.lyrics}")  # noqa: S311
        first_seed = _FIRST_SEED + rng.randrange(_SEEDS)
        kind, flaw_seed = rng.choice([name for name in FLAWS if name not in NOT_USED]), rng.randrange(2**31)
        wishes = read_wishes(prompt.text)
        followed = [wish.name for wish in fields(wishes) if rng.random() < self._follows]
        wishes = Wishes(**{name: getattr(wishes, name) for name in followed})
        asked = compose_wish(wishes, rng, first_seed, length)
        piece_seed = asked.pop("seed")
        source = TakeSource(piece_seed, tuple(asked.items()), length)
        recipe = TakeRecipe(source, lyrics=prompt.lyrics)
        if self._flaws:
            recipe = replace(recipe, flaw=kind, strength=self._flaws, flaw_seed=flaw_seed)
        sound, _ = record(recipe, length)
        return GeneratedSound(sound[: round((seconds or length) * RATE)], RATE)


SYSTEMS = {"studio": StudioGenerator}
