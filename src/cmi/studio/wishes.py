"""Read wishes for the composer from a text, by the words of captions.

The longest matching phrase wins: 'electric piano' is not a piano, nor is a 'piano ballad'. Words after 'no' or
'without' are excluded. Words that do not occur in captions are ignored.

>>> wishes = read_wishes("A slow, sad waltz for accordion, no drums")
>>> wishes.style, wishes.instruments, wishes.without, wishes.tempos
('waltz', (('accordion',),), ('drums',), (62.0, 84.0))
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, get_args

from cmi._util.errors import InputError
from cmi.studio.captions import MOODS, WORDS
from cmi.studio.compose import FASTEST, SLOWEST, compose
from cmi.studio.piece import INSTRUMENTS, Mode
from cmi.studio.styles import STYLES

_BPM = re.compile(r"\b(\d{2,3})[ -]?(?:bpm|beats per minute)\b|\b(?:bpm|tempo)[:\s]+(\d{2,3})\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:no|without|without any|not|never)\s+(?:an?\s+|the\s+)?$", re.IGNORECASE)
_FAMILIES = {  # words for several instruments
    "guitar": tuple(name for name in INSTRUMENTS if name.endswith(" guitar") and not name.startswith("bass")),
    "bass": tuple(name for name in INSTRUMENTS if "bass" in name.split()),
    "synth": tuple(name for name in INSTRUMENTS if name.startswith("synth ")),
}
_ACCOMPANIMENT = ("piano", "acoustic guitar", "electric piano", "strings")  # for tunes without chords
_MOST_PITCHED = 4  # instruments, one for each role
_MOOD_TRIES = 16  # pieces composed to find one in the requested mood

Found = tuple[str, Any]  # an attribute and its value


@dataclass(frozen=True)
class Wishes:
    """What a text asks for; None or empty for attributes that it does not mention."""

    style: str | None = None
    tempos: tuple[float, float] | None = None  # beats a minute, from and to
    instruments: tuple[tuple[str, ...], ...] = ()  # for each one wished for, the names that would do
    without: tuple[str, ...] = ()
    moods: frozenset[str] = frozenset()
    density: str | None = None
    metre: int | None = None
    mode: str | None = None


def read_wishes(text: str) -> Wishes:
    """Return what a text asks for; of two contradictory wishes, the first."""
    wanted: dict[str, list[Any]] = {}
    without: list[str] = []
    if bpm := _BPM.search(text):
        tempo = min(max(float(bpm[1] or bpm[2]), SLOWEST), FASTEST)
        wanted["tempos"] = [(tempo, tempo)]
    vocabulary, phrases = _vocabulary()
    for match in phrases.finditer(text):
        negated = _NEGATED.search(text[max(0, match.start() - 20) : match.start()])
        for attribute, value in vocabulary[_plain(match[1])]:
            if not negated:
                wanted.setdefault(attribute, []).append(value)
            elif attribute == "instruments":
                without += value
    first = {attribute: values[0] for attribute, values in wanted.items() if attribute not in ("instruments", "moods")}
    instruments = tuple(dict.fromkeys(wanted.get("instruments", ())))
    return Wishes(**first, instruments=instruments, without=tuple(without), moods=frozenset(wanted.get("moods", ())))


def compose_wish(wishes: Wishes, rng: Random, first_seed: int, seconds: int) -> dict[str, Any]:
    """Return arguments of `compose`, including the seed, for a piece that fulfils as many of the wishes as possible.

    If the composer cannot combine them, instruments are dropped first, the last named before others, then the metre.
    """
    fixed: dict[str, Any] = {"density": wishes.density, "mode": wishes.mode}
    style = wishes.style or _style_in_mood(wishes, rng)
    if wishes.tempos is not None:
        fixed["tempo"] = _tempo(wishes.tempos, style, rng)
    fixed = {name: value for name, value in fixed.items() if value is not None}
    ensembles = list(_ensembles(wishes, style, rng))
    for metre in dict.fromkeys((wishes.metre, None)):
        for ensemble in ensembles:
            asked = {**fixed, "style": style, "metre": metre, "instruments": ensemble}
            asked = {name: value for name, value in asked.items() if value is not None}
            try:
                return {"seed": _seed_in_mood(asked, wishes.moods, first_seed, seconds), **asked}
            except InputError:
                continue
    raise AssertionError("a style without further wishes can be composed")


def _seed_in_mood(asked: dict[str, Any], moods: frozenset[str], first: int, seconds: int) -> int:
    """The first seed whose piece is in one of the moods; the very first if there is none."""
    for seed in range(first, first + (_MOOD_TRIES if moods else 1)):
        if compose(seed, seconds=seconds, **asked).attributes.mood in moods:
            return seed
    return first


def _style_in_mood(wishes: Wishes, rng: Random) -> str | None:
    """A style that can be in the mood, if only the mood is asked for: instruments and metres suit few styles."""
    if not wishes.moods or wishes.instruments or wishes.metre:
        return None
    able = [name for name, style in STYLES.items() if any(wishes.moods & set(moods) for moods in style.moods.values())]
    return rng.choice(able) if able else None


def _tempo(tempos: tuple[float, float], style: str | None, rng: Random) -> float:
    """Draw a tempo of the range, if possible one that is usual for the style."""
    slowest, fastest = max(tempos[0], SLOWEST), min(tempos[1], FASTEST)
    if style is not None:
        low, high = max(slowest, STYLES[style].tempos[0]), min(fastest, STYLES[style].tempos[1])
        slowest, fastest = (low, high) if low <= high else (slowest, fastest)
    return float(round(rng.uniform(slowest, fastest)))


def _ensembles(wishes: Wishes, style: str | None, rng: Random) -> Iterator[tuple[str, ...] | None]:
    """Yield possible ensembles, best first: the named instruments, with accompaniment if necessary, then fewer."""
    players = STYLES[style].players if style else {}
    usual = [name for name in players.get("harmony", ()) if name] or list(_ACCOMPANIMENT)
    allowed = [name for name in usual if name not in wishes.without] or ["piano"]
    named = list(dict.fromkeys(rng.choice(names) for names in wishes.instruments))
    pitched = [name for name in named if name != "drums"][:_MOST_PITCHED]
    named = [name for name in named if name == "drums" or name in pitched]
    if not named and wishes.without:
        yield tuple(_others(wishes.without, style or rng.choice(tuple(STYLES)), rng))
    chord = rng.choice(allowed)
    for count in range(len(named), 0, -1):
        yield tuple(named[:count])
        if chord not in named[:count]:
            yield (*named[:count], chord)
    if wishes.without:
        yield (chord,)
    yield None


def _others(without: Sequence[str], style: str, rng: Random) -> list[str]:
    """The style's usual players without some."""
    choices = ([name for name in names if name and name not in without] for names in STYLES[style].players.values())
    return list(dict.fromkeys(rng.choice(able) for able in choices if able))


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[dict[str, list[Found]], re.Pattern[str]]:
    """What each wording means, and a pattern that finds the longest wording at each place."""
    meanings: dict[str, list[Found]] = {}

    def mean(words: Sequence[str], attribute: str, value: Any) -> None:
        for word in words:
            meanings.setdefault(_plain(word), []).append((attribute, value))

    for style, words in WORDS.styles.items():
        if style not in STYLES:  # only scores of the corpus have it
            continue
        mean(list(dict.fromkeys((style, *words.genres, *words.nouns))), "style", style)
    mean(["jazz"], "style", "jazz swing")
    for instrument, wordings in WORDS.instruments.items():
        mean(wordings, "instruments", (instrument,))
    for family, names in _FAMILIES.items():
        mean([family], "instruments", names)
    for mood, wordings in MOODS.items():
        mean(wordings, "moods", mood)
    for density, wordings in WORDS.densities.items():
        mean(wordings, "density", density)
    for metre, wordings in WORDS.metres.items():
        mean(wordings, "metre", metre)
    for mode in get_args(Mode):
        mean([mode], "mode", mode)
    slowest: float = SLOWEST
    for pace in WORDS.paces:
        tempos = (slowest, min(pace.below, FASTEST))
        named = [f"{word} {what}" for word in pace.tempos for what in ("tempo", "pace")]
        mean([*pace.adjectives, *named], "tempos", tempos)
        slowest = pace.below
    longest_first = sorted(meanings, key=len, reverse=True)
    wording = "|".join(re.escape(word).replace(r"\ ", r"[\s-]+") for word in longest_first)
    return meanings, re.compile(rf"(?<!\w)({wording})s?(?!\w)", re.IGNORECASE)


def _plain(words: str) -> str:
    """Lower case, with single spaces in place of hyphens."""
    return re.sub(r"[\s-]+", " ", words).lower()
