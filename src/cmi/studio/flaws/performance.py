"""Performance flaws: a good piece, badly played.

Each takes a piece, a strength above 0 up to 1 and a random generator, and returns another piece.
The random numbers do not depend on the strength: with one seed, the wrong notes at 0.3 are among those at 0.6.

    flaw           what is done, and what strength 1 means                          measured by
    timing-jitter  every note early or late, by up to 0.2 s                         onset_deviation
    wrong-notes    half of the notes a semitone off, out of the key                 notes_changed
    detuned-part   one of several parts sharp or flat by 80 cents                   detuning
    tempo-drift    tempo wanders between 0.66 and 1.5 of what it was                tempo_spread

All grow in proportion to strength (drift in octaves of tempo). Drums are never out of tune.
Tempo drift moves `Piece.beats` and keeps the length of the piece; the others leave the beats where they are.
A lone pitched part is not detuned: there is nothing to be out of tune with.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import ceil, pi

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cmi.studio.piece import SCALES, InstrumentPart, Note, Piece, by_start

LATEST = 0.2  # seconds
WRONG_SHARE = 0.5
OUT_OF_TUNE = 80.0  # cents
WIDEST_DRIFT = 0.6  # octaves of tempo

Place = tuple[int, int]  # which part, which of its notes


def timing_jitter(piece: Piece, strength: float, rng: Generator) -> Piece:
    beat = (piece.beats[-1] - piece.beats[0]) / (len(piece.beats) - 1)
    return replace(piece, parts=tuple(_jitter(part, LATEST / beat, strength, rng) for part in piece.parts))


def wrong_notes(piece: Piece, strength: float, rng: Generator) -> Piece:
    places = [(p, n) for p in pitched(piece) for n in range(len(piece.parts[p].notes))]
    order = rng.permutation(len(places))
    steps = rng.choice((-1, 1), len(places)).tolist()
    wrong = order[: ceil(strength * WRONG_SHARE * len(places))].tolist()
    return repitched(piece, {places[i]: _off_key(piece, places[i], steps[i]) for i in wrong})


def detuned_part(piece: Piece, strength: float, rng: Generator) -> Piece:
    able = pitched(piece)
    if len(able) < 2:
        return piece
    foreground = [p for p in able if piece.parts[p].role in ("melody", "harmony")]
    chosen, direction = int(rng.choice(foreground or able)), int(rng.choice((-1, 1)))
    part = piece.parts[chosen]
    detuned = replace(part, cents=part.cents + direction * strength * OUT_OF_TUNE)
    return replace(piece, parts=(*piece.parts[:chosen], detuned, *piece.parts[chosen + 1 :]))


def tempo_drift(piece: Piece, strength: float, rng: Generator) -> Piece:
    lengths = np.diff(piece.beats)
    wandering = lengths * 2 ** (strength * WIDEST_DRIFT * _wander(len(lengths), rng))
    wandering *= lengths.sum() / wandering.sum()
    times = piece.beats[0] + np.cumsum(wandering)
    return replace(piece, beats=(piece.beats[0], *times[:-1].tolist(), piece.beats[-1]))


def onset_deviation(before: Piece, after: Piece) -> float:
    """Mean shift of note onsets in seconds, in order, part by part."""
    moved = [np.abs(_onsets(after, b) - _onsets(before, a)) for a, b in zip(before.parts, after.parts, strict=True)]
    return float(np.mean(np.concatenate(moved))) if any(len(m) for m in moved) else 0.0


def notes_changed(before: Piece, after: Piece) -> float:
    """Share of pitched notes that changed."""
    written = [Counter(before.parts[p].notes) for p in pitched(before)]
    kept = [Counter(after.parts[p].notes) & notes for p, notes in zip(pitched(before), written, strict=True)]
    total = sum(notes.total() for notes in written)
    return 1 - sum(notes.total() for notes in kept) / total if total else 0.0


def detuning(before: Piece, after: Piece) -> float:
    """The largest change of any part's tuning, in cents."""
    return max((abs(b.cents - a.cents) for a, b in zip(before.parts, after.parts, strict=True)), default=0.0)


def tempo_spread(before: Piece, after: Piece) -> float:
    """The standard deviation of the change of tempo over the beats, in octaves."""
    ratios = np.diff(after.beats) / np.diff(before.beats)
    return float(np.std(np.log2(ratios))) if len(ratios) else 0.0


def pitched(piece: Piece) -> list[int]:
    """Indices of parts with pitched notes."""
    return [p for p, part in enumerate(piece.parts) if part.role != "drums" and part.notes]


def repitched(piece: Piece, pitches: Mapping[Place, int]) -> Piece:
    """Replace the pitches of the given notes."""

    def notes(p: int, part: InstrumentPart) -> tuple[Note, ...]:
        return by_start(note._replace(pitch=pitches.get((p, n), note.pitch)) for n, note in enumerate(part.notes))

    return replace(piece, parts=tuple(replace(part, notes=notes(p, part)) for p, part in enumerate(piece.parts)))


def _jitter(part: InstrumentPart, reach: float, strength: float, rng: Generator) -> InstrumentPart:
    """Move notes without overtaking, so that the shift of each grows with the strength."""
    starts = np.array([note.start for note in part.notes], dtype=np.float64)
    shifts, ties = rng.uniform(-reach, reach, len(starts)), rng.random(len(starts))
    order = np.lexsort((ties, starts))  # random order within a chord, so that not all are rolled upwards
    farthest = np.sort(np.clip(starts + shifts, 0, starts.max(initial=0)))
    played = starts.copy()
    played[order] += strength * (farthest - starts[order])
    return replace(part, notes=by_start(n._replace(start=float(s)) for n, s in zip(part.notes, played, strict=True)))


def _off_key(piece: Piece, place: Place, step: int) -> int:
    """The pitch a semitone away that is out of the key; by `step` if both or neither are."""
    part, note = place
    pitch = piece.parts[part].notes[note].pitch
    playable = [p for p in (pitch + step, pitch - step) if 0 <= p <= 127]
    scale = SCALES[piece.key.mode]
    return next((p for p in playable if (p - piece.key.tonic) % 12 not in scale), playable[0])


def _wander(count: int, rng: Generator) -> NDArray[np.float64]:
    """A slow curve about 0 that reaches 1 or -1: a slope and two waves of 8 to 24 beats."""
    slope, *heights = rng.uniform(0.5, 1, 3) * rng.choice((-1, 1), 3)
    periods, phases = rng.uniform(8, 24, 2), rng.uniform(0, 2 * pi, 2)
    waves = [h * np.sin(2 * pi * np.arange(count) / p + f) for h, p, f in zip(heights, periods, phases, strict=True)]
    curve = slope * np.linspace(-1, 1, count) + np.sum(waves, axis=0)
    curve -= curve.mean() if count else 0.0
    return curve / max(np.abs(curve).max(initial=0), 1e-9)


def _onsets(piece: Piece, part: InstrumentPart) -> NDArray[np.float64]:
    return piece.clock(sorted(note.start for note in part.notes)) if part.notes else np.empty(0)
