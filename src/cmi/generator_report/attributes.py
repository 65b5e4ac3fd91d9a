"""What a prompt names, and whether it is heard: instruments, genre, mood, voice, era, tempo and key.

Named     the wordings of attributes.toml, the longest at each place; a tempo in beats a minute; a key.
          What follows 'no' or 'without' is not asked for. Other words are passed over: no language model reads prompts.
Heard     by musicnn's tags: the mean of the tags' log-odds, in deviations from a bank of 206 tracks of free music, is
          higher than in three quarters of the bank. Tempo: within 6 %, also at the double or half. Key: the same.
          'Slow' and 'fast' are not checked: neither tags nor the measured tempo told them apart in music by generators.

How often that is right is measured on known truth (`recipes/critic/attributes.py`, docs/report.md); a share means
little without the share of takes that were not asked for it and in which it is heard all the same.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.config import read_config
from cmi.bench.tasks.key import parse as parse_key
from cmi.features.key import Key
from cmi.features.tempo import is_same_tempo

HEARD = 0.75  # share of the bank
TAGGED = ("instrument", "genre", "mood", "voice", "era")
ATTRIBUTES = (*TAGGED, "tempo", "key")

_BPM = re.compile(
    r"(?<![\w.])(\d{2,3})(?:\.\d+)?[ -]?(?:bpm|beats per minute)\b|\b(?:bpm|tempo)[:\s]+(\d{2,3})\b", re.I
)
_PACES = {"slow": ("slow", "slowly"), "fast": ("fast", "fast-paced", "quick", "rapid", "up-tempo", "uptempo")}
_NEGATED = re.compile(r"\b(?:no|without|without any|not|never)\s+(?:an?\s+|the\s+)?$", re.I)

Array = NDArray[np.float64]


class WordedAttribute(NamedTuple):
    words: tuple[str, ...]
    tags: tuple[str, ...] = ()  # in lower case
    without: tuple[str, ...] = ()
    least: float = HEARD


class NamedAttribute(NamedTuple):
    attribute: str  # of ATTRIBUTES
    name: str  # as it is shown: 'guitar', '120 BPM', 'A minor'


class HeardAttribute(NamedTuple):
    attribute: str
    name: str
    heard: bool | None  # None: cannot be told
    measured: str  # in words


class TakeMeasurements(NamedTuple):
    """What is measured of a take, for comparison with what was asked for."""

    shares: Mapping[str, float]  # by the name of a tagged attribute: the share of the bank that it exceeds
    tempo: float | None
    key: Key | None


VOCABULARY = read_config(files("cmi.generator_report") / "attributes.toml", dict[str, dict[str, WordedAttribute]])


def named_in(text: str) -> list[NamedAttribute]:
    """What a text asks for, each once, in order.

    >>> [one.name for one in named_in("Slow piano ballad with female vocals, no drums, 72 BPM, in A minor")]
    ['slow', 'piano', 'female voice', '72 BPM', 'A minor']
    """
    meanings, pattern = _wordings()
    found = [
        (match.start(), meanings[_plain(match[1])])
        for match in pattern.finditer(text)
        if not _NEGATED.search(text[max(0, match.start() - 20) : match.start()])
    ]
    if bpm := _BPM.search(text):
        found.append((bpm.start(), NamedAttribute("tempo", f"{int(bpm[1] or bpm[2])} BPM")))
    if key := parse_key(text):
        found.append((len(text), NamedAttribute("key", str(key))))
    return list(dict.fromkeys(one for _, one in sorted(found, key=lambda place: place[0])))


@cache
def _wordings() -> tuple[dict[str, NamedAttribute], re.Pattern[str]]:
    """What each wording means, and a pattern that finds the longest at each place."""
    meanings = {
        _plain(word): NamedAttribute(attribute, name)
        for attribute, named in VOCABULARY.items()
        for name, worded in named.items()
        for word in worded.words
    }
    meanings |= {_plain(word): NamedAttribute("tempo", pace) for pace, words in _PACES.items() for word in words}
    longest_first = sorted(meanings, key=len, reverse=True)
    wording = "|".join(re.escape(word).replace(r"\ ", r"[\s-]+") for word in longest_first)
    return meanings, re.compile(rf"(?<![\w&])({wording})s?(?![\w&])", re.I)


def _plain(words: str) -> str:
    return re.sub(r"[\s-]+", " ", words).lower()


class TagBank:
    """How strong each tagged attribute is in a bank of music, (N, 100) log-odds of `tags`."""

    def __init__(self, tags: Sequence[str], bank: Array) -> None:
        self._mean, self._spread = bank.mean(axis=0), bank.std(axis=0)
        lower = [tag.lower() for tag in tags]
        self._columns = {
            name: tuple([i for i, tag in enumerate(lower) if tag in tags] for tags in (worded.tags, worded.without))
            for attribute in TAGGED
            for name, worded in VOCABULARY[attribute].items()
            if worded.tags
        }
        self._sorted = {name: np.sort(evidence) for name, evidence in self._evidence(bank).items()}

    def shares(self, odds: Array) -> dict[str, float]:
        """Of a take's log-odds (100,): the share of the bank that each attribute exceeds."""
        found = self._evidence(odds[None])
        return {name: float(np.searchsorted(own, found[name][0]) / len(own)) for name, own in self._sorted.items()}

    def _evidence(self, odds: Array) -> dict[str, Array]:
        unusual = (odds - self._mean) / self._spread
        return {
            name: unusual[:, own].mean(axis=1) - (unusual[:, against].mean(axis=1) if against else 0)
            for name, (own, against) in self._columns.items()
        }


def is_heard(asked: NamedAttribute, take: TakeMeasurements) -> HeardAttribute:
    """Whether what a prompt names is heard in a take, with the measurement."""
    heard: bool | None = None
    said = "not checked"
    if asked.attribute == "tempo" and asked.name not in _PACES:
        said = "no pulse" if take.tempo is None else f"{take.tempo:.0f} BPM"
        heard = None if take.tempo is None else is_same_tempo(take.tempo, float(asked.name.split()[0]))
    elif asked.attribute == "key":
        said = "no pitch" if take.key is None else str(take.key)
        heard = None if take.key is None else str(take.key) == asked.name
    elif asked.name in take.shares:
        share = take.shares[asked.name]
        said = f"above {share:.0%} of a bank of music"
        heard = share >= VOCABULARY[asked.attribute][asked.name].least
    return HeardAttribute(*asked, heard, said)
