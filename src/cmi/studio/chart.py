"""The chart of a piece, from which every player reads: bars, chords and sections.

Conventions
    Phrases of four bars make sections, and sections a form (intro, A, B, A', outro).
    Pitches are steps of the scale until they become notes: step 35 is the tonic at or above middle C.
    In minor the fifth degree's chord raises the seventh to the leading tone; all else is in the natural scale.
"""

import math
import random
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cmi.studio.piece import SCALES, MusicalKey, PieceSection
from cmi.studio.styles import Harmony, Style

PHRASE = 4  # bars
WHOLE_BAR = "1"  # a grid
STRONG_BEATS = {3: (0,), 4: (0, 2)}  # by metre

_COLOURS = {"": (0, 2, 4), "6": (0, 2, 4, 5), "7": (0, 2, 4, 6), "9": (0, 2, 4, 1)}  # steps above the root
_SECOND_CHORD = 2  # the beat on which a shared bar changes chord, in three as in four
_FORMS = {1: "A1", 2: "A1 A1", 3: "A1 B1 A1", 4: "A1 A1 B1 A1", 5: "A2 B1 A2", 6: "A2 B2 A2", 7: "A2 A2 B1 A2"}
_SECTION_LOUDNESS = {"intro": -10, "A": 0, "B": 5, "outro": -4}
_PHRASE_LOUDNESS = (0, 2, 5, 0)


class Chord(NamedTuple):
    start: int  # beats, from the piece's beginning
    length: int
    degrees: tuple[int, ...]  # of the scale, from 0, the root first
    pitch_classes: tuple[int, ...]
    raised: bool  # the seventh degree is the leading tone


class Bar(NamedTuple):
    start: int  # beats
    chords: tuple[Chord, ...]
    letter: str  # of its section: intro, A, B or outro
    turn: int  # how often that letter came before
    place: int  # in its phrase
    closes: bool  # its phrase ends on the tonic
    opens_section: bool = False
    ends_section: bool = False
    last: bool = False


class Chart(NamedTuple):
    rng: random.Random
    style: Style
    key: MusicalKey
    metre: int
    level: int  # 1 sparse, 2 moderate, 3 busy
    bars: tuple[Bar, ...]


class _Phrase(NamedTuple):
    symbols: list[str]
    closes: bool


def pitch(key: MusicalKey, step: int, raised: bool = False) -> int:
    octave, degree = divmod(step, 7)
    return key.tonic + 12 * octave + SCALES[key.mode][degree] + (raised and degree == 6)


def steps_within(key: MusicalKey, low: int, high: int) -> tuple[int, int]:
    """The lowest and highest step with a pitch from `low` to `high`."""
    inside = [step for step in range(75) if low <= pitch(key, step) <= high]
    return inside[0], inside[-1]


@lru_cache(maxsize=4096)
def strikes(grid: str, metre: int, level: int) -> tuple[tuple[float, float], ...]:
    """Start and length in beats of a grid's notes at a level of density."""
    step = metre / len(grid)
    marks = [(i * step, mark) for i, mark in enumerate(grid) if mark != "." and int(mark) <= level]
    ends = [*(start for start, _ in marks), float(metre)][1:]
    return tuple((start, end - start) for (start, mark), end in zip(marks, ends, strict=True) if mark != "0")


def struck(bar: Bar, grid: str, metre: int, level: int) -> Iterator[tuple[Chord, list[tuple[float, float]]]]:
    """Yield each chord of a bar with its notes of the grid; a chord without any is struck once."""
    hits = [(bar.start + start, length) for start, length in strikes(grid, metre, level)]
    for chord in bar.chords:
        end = chord.start + chord.length
        inside = [(start, min(length, end - start)) for start, length in hits if chord.start <= start < end]
        yield chord, inside or [(float(chord.start), float(chord.length))]


def velocity(chart: Chart, bar: Bar, start: float, loudness: int) -> int:
    """Velocity of a note: louder on strong beats and in the middle of a phrase and of the form."""
    beat = start - bar.start
    accent = 8 if beat == 0 else 4 if beat in STRONG_BEATS[chart.metre] else 0 if beat % 1 == 0 else -5
    return loudness + accent + _SECTION_LOUDNESS[bar.letter] + _PHRASE_LOUDNESS[bar.place] + chart.rng.randint(-3, 3)


def lay_out(
    rng: random.Random, harmony: Harmony, key: MusicalKey, metre: int, wanted: int
) -> tuple[tuple[Bar, ...], tuple[PieceSection, ...]]:
    """Lay out at least `wanted` bars with their chords, and the sections."""
    intro, phrases, outro = _outline(rng, wanted)
    opens, closes, bridges = (_Phrase(rng.choice(choices).split(), choices is harmony.closes) for choices in harmony)
    farewell = rng.choice(("4 1", "1 1")).split()
    sections = [("intro", [_Phrase(opens.symbols[: intro - 1] + opens.symbols[-1:], False)])] if intro else []
    for letter, count in _form(phrases):
        answer = opens if count == 1 and phrases > 1 and not any(name == "A" for name, _ in sections) else closes
        sections.append((letter, [opens] * (count - 1) + [answer] if letter == "A" else [bridges] * count))
    if outro:
        sections.append(("outro", [_Phrase(farewell[-outro:], True)]))
    return _number(sections, key, metre)


def _outline(rng: random.Random, wanted: int) -> tuple[int, int, int]:
    """Draw (bars of intro, phrases, bars of outro) that exceed `wanted` by one bar or as little as possible."""
    fewest = 2 if wanted > PHRASE + 1 else 1
    outlines = [
        (intro, max(fewest, math.ceil((wanted - intro - outro) / PHRASE)), outro)
        for intro in (0, 2, 4)
        for outro in (0, 1, 2)
        if intro * 4 <= wanted
    ]
    excess = [intro + PHRASE * phrases + outro - wanted for intro, phrases, outro in outlines]
    allowed = max(1, min(excess))
    return rng.choice([outline for outline, over in zip(outlines, excess, strict=True) if over <= allowed])


def _form(phrases: int) -> list[tuple[str, int]]:
    """Section letters with their numbers of phrases; a long form is a short one preceded by more of A and B."""
    rounds = max(0, math.ceil((phrases - max(_FORMS)) / 4))
    words = ["A2", "B2"] * rounds + _FORMS[phrases - 4 * rounds].split()
    return [(word[0], int(word[1])) for word in words]


def _number(
    sections: list[tuple[str, list[_Phrase]]], key: MusicalKey, metre: int
) -> tuple[tuple[Bar, ...], tuple[PieceSection, ...]]:
    bars: list[Bar] = []
    named: list[PieceSection] = []
    turns: dict[str, int] = {}
    for letter, phrases in sections:
        turn = turns.get(letter, 0)
        turns[letter] = turn + 1
        first = len(bars)
        for phrase in phrases:
            for place, symbol in enumerate(phrase.symbols):
                start = len(bars) * metre
                tonic_first = "1" if not bars and symbol[0] != "1" else symbol
                bars.append(Bar(start, _chords(tonic_first, key, start, metre), letter, turn, place, phrase.closes))
        bars[first] = bars[first]._replace(opens_section=True)
        bars[-1] = bars[-1]._replace(ends_section=True)
        named.append(PieceSection(letter + "'" * turn, first, len(bars) - first))
    bars[-1] = bars[-1]._replace(last=True)
    return tuple(bars), tuple(named)


def _chords(symbol: str, key: MusicalKey, start: int, metre: int) -> tuple[Chord, ...]:
    """The chords of one bar: '1', '57' or '2/57'."""
    halves = symbol.split("/")
    edges = (0, metre) if len(halves) == 1 else (0, _SECOND_CHORD, metre)
    return tuple(
        _chord(half, key, start + begin, end - begin)
        for half, begin, end in zip(halves, edges[:-1], edges[1:], strict=True)
    )


def _chord(symbol: str, key: MusicalKey, start: int, length: int) -> Chord:
    root = int(symbol[0]) - 1
    degrees = tuple((root + step) % 7 for step in _COLOURS[symbol[1:]])
    raised = key.mode == "minor" and root == 4
    return Chord(start, length, degrees, tuple(pitch(key, degree, raised) % 12 for degree in degrees), raised)
