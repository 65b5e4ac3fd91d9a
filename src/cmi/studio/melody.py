"""Compose the melody: two motifs that return and vary over changing chords.

Rhythms and shapes are drawn. Of all lines near the shape, the one of least cost is chosen: chord tones on strong beats
and long notes, steps into and out of all other notes, few leaps.
"""

from functools import lru_cache
from typing import NamedTuple

from cmi.studio.chart import PHRASE, STRONG_BEATS, WHOLE_BAR, Bar, Chart, Chord, pitch, steps_within, strikes, velocity
from cmi.studio.piece import Note

_RANGE = 10  # semitones either side of the instrument's centre
_LOUDNESS = 90

_PLANS = ("xxy", "xyx", "xyy", "xxx")  # motifs by bar; the fourth bar is the cadence
_ARCS = ((0, 1, 2, 0), (0, 2, 1, -1), (0, -1, 2, 0), (0, 1, 3, 0))  # where a phrase's bars lie, in steps
_SHAPES = (
    (0, 0, 1, 1, 2, 2, 3, 3),
    (0, 0, -1, -1, -2, -2, -3, -3),
    (0, 1, 2, 3, 3, 2, 1, 0),
    (0, -1, -2, -2, -1, 0, 1, 1),
    (0, 1, 0, -1, 0, 1, 2, 1),
    (0, 4, 3, 2, 2, 1, 0, -1),
    (0, -1, 0, 2, 4, 3, 2, 2),
    (0, 2, 1, 3, 2, 4, 3, 2),
)
_ENDINGS = {4: ("1...0...", "1.....0.", "2.1...0.", "3.2.1..."), 3: ("1...0.", "2.1.0.", "1.....")}
_LEAPS = (0.9, 0.0, 0.3, 0.9, 1.3, 2.2, 3.5, 2.5)  # cost by steps
_WIDE_LEAP = 9.0
_UNPREPARED = 6.0  # cost of a leap into or out of a note foreign to the chord
_FOREIGN = (0.5, 1.2)  # cost of a note foreign to the chord, between beats and on one
_RUB = 0.8  # and of one a semitone above a chord tone
_STRAY = 0.8  # cost of each step away from the target
_REACH = 3  # steps from its target that a note may lie


class _Motif(NamedTuple):
    cell: str
    shape: tuple[int, ...]  # steps from the bar's place, at eighths of the bar


class _Theme(NamedTuple):
    """The material that all sections of one letter share."""

    motifs: dict[str, _Motif]
    plan: str
    arc: tuple[int, ...]
    open_end: str
    closed_end: str


class _Slot(NamedTuple):
    """A note of the melody without a pitch."""

    start: float
    length: float
    bar: Bar
    chord: Chord
    firm: tuple[int, ...]  # degrees that clash with nothing in the chord
    target: int
    strong: bool
    home: bool  # it must be the tonic


def melody(chart: Chart, centre: int) -> list[Note]:
    low, high = steps_within(chart.key, centre - _RANGE, centre + _RANGE)
    themes = {letter: _draw_theme(chart) for letter in "AB"}
    middle = (low + high) // 2 - 2  # shapes rise more than they fall
    phrases: list[list[_Slot]] = []
    for bar in chart.bars:
        if bar.letter == "intro":
            continue
        if bar.place == 0:
            phrases.append([])
        lift = 2 if bar.letter == "B" else 0
        cell, shape, anchor = _figure(bar, themes[bar.letter if bar.letter == "B" else "A"])
        phrases[-1].extend(_slots(chart, bar, cell, [middle + lift + anchor + step for step in shape]))
    notes: list[Note] = []
    previous: int | None = None
    for slots in phrases:
        line = _find_line(chart, slots, low, high, previous)
        previous = line[-1]
        for slot, step in zip(slots, line, strict=True):
            sounding = pitch(chart.key, step, slot.chord.raised)
            loudness = velocity(chart, slot.bar, slot.start, _LOUDNESS)
            notes.append(Note(slot.start, slot.length * chart.style.gate, sounding, loudness))
    return notes


def _draw_theme(chart: Chart) -> _Theme:
    rng, endings = chart.rng, _ENDINGS[chart.metre]
    cells = rng.sample(chart.style.cells[chart.metre], 2)
    shapes = rng.sample(_SHAPES, 2)
    motifs = {name: _Motif(cell, shape) for name, cell, shape in zip("xy", cells, shapes, strict=True)}
    return _Theme(motifs, rng.choice(_PLANS), rng.choice(_ARCS), rng.choice(endings), rng.choice(endings))


def _figure(bar: Bar, theme: _Theme) -> tuple[str, tuple[int, ...], int]:
    """Rhythm, shape and place of one bar of the melody. A repeated section inverts its second bar."""
    falling = (1, 1, 1, 1, 0, 0, 0, 0)
    if bar.last or bar.letter == "outro":
        return WHOLE_BAR, falling, 0
    if bar.place == PHRASE - 1:
        return (theme.closed_end if bar.closes else theme.open_end), falling, theme.arc[bar.place]
    cell, shape = theme.motifs[theme.plan[bar.place]]
    varied = bar.turn > 0 and bar.place == 1
    return cell, tuple(-step for step in shape) if varied else shape, theme.arc[bar.place]


def _slots(chart: Chart, bar: Bar, cell: str, targets: list[int]) -> list[_Slot]:
    slots = []
    hits = strikes(cell, chart.metre, chart.level)
    for i, (beat, length) in enumerate(hits):
        start = bar.start + beat
        chord, firm, end = _footing(bar, start, start + length)
        beats = (bar.start + strong for strong in STRONG_BEATS[chart.metre])
        strong = end - start > 1 or any(start <= strong < end for strong in beats)
        home = i == len(hits) - 1 and (bar.last or (bar.closes and bar.place == PHRASE - 1))
        target = targets[int(beat / chart.metre * len(targets))]
        slots.append(_Slot(start, end - start, bar, chord, firm, target, strong, home))
    return slots


def _footing(bar: Bar, start: float, end: float) -> tuple[Chord, tuple[int, ...], float]:
    """The chord under a note, the degrees that fit all chords it spans, and its end (cut if there are none)."""
    first, *others = [chord for chord in bar.chords if chord.start < end and chord.start + chord.length > start]
    firm = _firm(first)
    for chord in others:
        common = tuple(degree for degree in firm if degree in _firm(chord))
        if not common:
            return first, firm, float(chord.start)
        firm = common
    return first, firm, end


@lru_cache(maxsize=4096)
def _firm(chord: Chord) -> tuple[int, ...]:
    """A chord's degrees without those a semitone above another, such as the root over a major seventh."""
    tones = zip(chord.degrees, chord.pitch_classes, strict=True)
    return tuple(degree for degree, tone in tones if (tone - 1) % 12 not in chord.pitch_classes)


def _find_line(chart: Chart, slots: list[_Slot], low: int, high: int, previous: int | None) -> list[int]:
    """The line of least cost through the slots, in steps."""
    paths: dict[int, tuple[float, int, bool, tuple[int, ...]]] = {}  # by last step: cost, pitch, firm, the line
    if previous is not None:
        paths[previous] = (0.0, pitch(chart.key, previous), True, ())
    for slot in slots:
        longer = {}
        for step in _choices(slot, low, high):
            sounding, firm = pitch(chart.key, step, slot.chord.raised), step % 7 in slot.firm
            own = _STRAY * abs(step - slot.target)
            if not firm:
                own += _FOREIGN[slot.start % 1 == 0] + _RUB * ((sounding - 1) % 12 in slot.chord.pitch_classes)
            cost, line = min(
                (
                    (path_cost + _move(step - last, sounding - last_pitch, firm and last_firm), path)
                    for last, (path_cost, last_pitch, last_firm, path) in paths.items()
                ),
                default=(0.0, ()),
            )
            longer[step] = (cost + own, sounding, firm, (*line, step))
        paths = longer
    return list(min(paths.values())[3])


def _choices(slot: _Slot, low: int, high: int) -> list[int]:
    if slot.home:
        return [step for step in range(low, high + 1) if step % 7 == 0]
    target = min(max(slot.target, low), high)
    near = range(max(low, target - _REACH), min(high, target + _REACH) + 1)
    if slot.strong:
        firm = [step for step in near if step % 7 in slot.firm]
        return firm or [step for step in range(low, high + 1) if step % 7 in slot.firm]
    # next to the leading tone the sixth degree would make an augmented second
    return [step for step in near if not (slot.chord.raised and step % 7 == 5)]


def _move(steps: int, semitones: int, firm: bool) -> float:
    """Cost of an interval; `firm` if both notes are."""
    cost = _LEAPS[abs(steps)] if abs(steps) < len(_LEAPS) else _WIDE_LEAP
    if abs(semitones) == 6 or (abs(steps) == 1 and abs(semitones) == 3):
        cost += 3
    return cost if firm or abs(steps) == 1 else cost + _UNPREPARED
