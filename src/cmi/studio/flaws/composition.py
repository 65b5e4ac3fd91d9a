"""Composition flaws: bad music, well played.

Each takes a piece, a strength above 0 up to 1 and a random generator, and returns another piece of the same beats.
With the same seed, whatever is damaged at a lower strength is also damaged at a higher one.

    flaw           what is done, and what strength 1 means                          measured by
    bars-shuffled  all bars elsewhere than they were, the same way in every part    bars_changed
    bar-looped     one bar in place of every other                                  bars_changed
    random-tune    every note of the tune at a random pitch                         notes_changed
    abrupt-cut     silence from a point 30 to 50 % into the piece                   music_lost
    clashing-keys  one of several parts a semitone or tritone away throughout       notes_changed

Strength is the share of bars moved, of bars replaced, of notes made random, of the piece in two keys (its end).
A stronger cut comes earlier; the beats remain, so the recording ends in silence.
The tune is the melody, or else the highest part. A lone pitched part cannot clash and stays as it is.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf

from numpy.random import Generator

from cmi.studio.flaws.performance import pitched, repitched
from cmi.studio.piece import InstrumentPart, Note, Piece, by_start

CLASHES = (-6, -1, 1, 6)  # semitones
BEYOND_TUNE = 5  # semitones that random notes may go above and below the tune


def bars_shuffled(piece: Piece, strength: float, rng: Generator) -> Piece:
    order = rng.permutation(_whole_bars(piece)).tolist()
    moved = order[: max(2, ceil(strength * len(order)))]
    # A cyclic shift moves every bar, and a longer cycle never changes fewer bars.
    sources = list(range(len(order)))
    for bar, source in zip(moved, moved[1:] + moved[:1], strict=True):
        sources[bar] = source
    return _rearrange(piece, sources)


def bar_looped(piece: Piece, strength: float, rng: Generator) -> Piece:
    count = _whole_bars(piece)
    sounding = sorted({bar for part in piece.parts for note in part.notes if (bar := _bar(piece, note)) < count})
    if not sounding:
        return piece
    looped = int(rng.choice(sounding))
    others = [*range(looped + 1, count), *reversed(range(looped))]
    stuck = set(others[: ceil(strength * len(others))])
    return _rearrange(piece, [looped if bar in stuck else bar for bar in range(count)])


def random_tune(piece: Piece, strength: float, rng: Generator) -> Piece:
    able = pitched(piece)
    if not able:
        return piece
    tune = max(able, key=lambda p: (piece.parts[p].role == "melody", _mean_pitch(piece.parts[p])))
    written = [note.pitch for note in piece.parts[tune].notes]
    lowest, highest = max(0, min(written) - BEYOND_TUNE), min(127, max(written) + BEYOND_TUNE)
    drawn = rng.integers(lowest, highest, len(written)).tolist()  # one fewer, to exclude the right pitch
    order = rng.permutation(len(written)).tolist()
    lost = order[: ceil(strength * len(written))]
    return repitched(piece, {(tune, n): drawn[n] + (drawn[n] >= written[n]) for n in lost})


def abrupt_cut(piece: Piece, strength: float, rng: Generator) -> Piece:
    end = max(note.start + note.length for part in piece.parts for note in part.notes)
    cut = end * (1 - strength * rng.uniform(0.5, 0.7))

    def until_cut(notes: tuple[Note, ...]) -> tuple[Note, ...]:
        return tuple(note._replace(length=min(note.length, cut - note.start)) for note in notes if note.start < cut)

    return replace(piece, parts=tuple(replace(part, notes=until_cut(part.notes)) for part in piece.parts))


def clashing_keys(piece: Piece, strength: float, rng: Generator) -> Piece:
    able = pitched(piece)
    if len(able) < 2:
        return piece
    chosen, interval = int(rng.choice(able)), int(rng.choice(CLASHES))
    notes = piece.parts[chosen].notes
    turn = (1 - strength) * max(note.start for note in notes)
    other_key = {(chosen, n): note.pitch + interval for n, note in enumerate(notes) if note.start >= turn}
    return repitched(piece, {place: min(max(pitch, 0), 127) for place, pitch in other_key.items()})


def bars_changed(before: Piece, after: Piece) -> float:
    """Share of bars whose content changed."""
    count = _whole_bars(before)
    was, now = _contents(before), _contents(after)
    return sum(was[bar] != now[bar] for bar in range(count)) / count if count else 0.0


def music_lost(before: Piece, after: Piece) -> float:
    """Share of the notes' total duration that is lost."""
    was, now = (sum(note.length for part in piece.parts for note in part.notes) for piece in (before, after))
    return 1 - now / was if was else 0.0


def _whole_bars(piece: Piece) -> int:
    return (len(piece.beats) - 1) // piece.metre


def _bar(piece: Piece, note: Note) -> int:
    return int(note.start // piece.metre)


def _mean_pitch(part: InstrumentPart) -> float:
    return sum(note.pitch for note in part.notes) / len(part.notes)


def _rearrange(piece: Piece, sources: Sequence[int]) -> Piece:
    """Put bar `sources[b]` in the place of bar b; cut notes held into a bar that no longer follows."""
    count = len(sources)
    room = [inf] * (count + 1)  # beats from the beginning of each bar
    for bar, (source, follower) in reversed(list(enumerate(pairwise([*sources, count])))):
        room[bar] = piece.metre + (room[bar + 1] if follower == source + 1 else 0)

    def moved(note: Note, bar: int) -> Note:
        offset = note.start - sources[bar] * piece.metre
        return note._replace(start=bar * piece.metre + offset, length=min(note.length, room[bar] - offset))

    def arranged(part: InstrumentPart) -> tuple[Note, ...]:
        bars = {source: [note for note in part.notes if _bar(piece, note) == source] for source in set(sources)}
        beyond = [note for note in part.notes if _bar(piece, note) >= count]
        return by_start([*(moved(note, bar) for bar in range(count) for note in bars[sources[bar]]), *beyond])

    return replace(piece, parts=tuple(replace(part, notes=arranged(part)) for part in piece.parts))


def _contents(piece: Piece) -> list[Counter[tuple[float, ...]]]:
    """The notes that begin in each bar, relative to its start."""
    contents: list[Counter[tuple[float, ...]]] = [Counter() for _ in range(_whole_bars(piece))]
    for p, part in enumerate(piece.parts):
        for note in part.notes:
            if (bar := _bar(piece, note)) < len(contents):
                offset = note.start - bar * piece.metre
                sounding = min(note.length, piece.metre - offset)
                contents[bar][p, round(offset, 6), round(sounding, 6), note.pitch, note.velocity] += 1
    return contents
