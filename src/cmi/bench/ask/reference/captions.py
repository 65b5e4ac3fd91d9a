"""Captions by template, out of tags: genre, pace, instruments, voice, mood."""

from collections.abc import Iterable

from cmi.bench.ask import Question
from cmi.bench.ask.reference.tags import Lifts, Tagger

GENRES = (
    "rock", "pop", "electronic", "jazz", "metal", "folk", "blues", "country", "classical", "techno", "ambient", "funk",
    "soul", "hip-hop", "house", "dance", "new age", "indian", "punk", "experimental",
)  # fmt: skip
INSTRUMENTS = {
    "guitar": "guitar", "piano": "piano", "drums": "drums", "strings": "strings", "violin": "violin", "synth": "synths",
    "flute": "flute", "harp": "harp", "cello": "cello", "sitar": "sitar", "harpsichord": "harpsichord", "beat": "beats",
}  # fmt: skip
MOODS = {
    "happy": "happy", "sad": "sad", "mellow": "mellow", "beautiful": "beautiful", "party": "lively", "loud": "loud",
    "soft": "soft", "quiet": "quiet", "chill": "relaxing", "sexy": "sensual", "catchy": "catchy", "weird": "strange",
}  # fmt: skip
SUNG = ("vocal", "singing", "voice", "vocals")
UNSUNG = ("no vocals", "no vocal", "no voice", "instrumental")


class CaptionSkill:
    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger

    def answer(self, question: Question) -> str:
        return caption(self._tagger.lifts(question))


def caption(lifts: Lifts) -> str:
    genre = _top(lifts, GENRES, 1)[0]
    pace = "slow" if lifts["slow"] > lifts["fast"] else "fast"
    played = " and ".join(INSTRUMENTS[tag] for tag in _top(lifts, INSTRUMENTS, 2))
    moods = " and ".join(MOODS[tag] for tag in _top(lifts, MOODS, 2))
    return f"A {pace} {genre} song with {played}{_voice(lifts)}. The mood is {moods}."


def _voice(lifts: Lifts) -> str:
    if sum(lifts[tag] for tag in UNSUNG) >= sum(lifts[tag] for tag in SUNG):
        return ", without vocals"
    return ", sung by a female voice" if lifts["female"] > lifts["male"] else ", sung by a male voice"


def _top(lifts: Lifts, tags: Iterable[str], count: int) -> list[str]:
    return sorted(tags, key=lambda tag: -lifts[tag])[:count]
