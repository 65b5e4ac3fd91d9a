"""A composition flaw only grows, and spoils what it says and nothing else."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cmi.studio.flaws import COMPOSITION_FLAWS, FLAWS
from cmi.studio.flaws.composition import bars_changed, music_lost
from cmi.studio.piece import Attributes, InstrumentPart, MusicalKey, Note, Piece, even_beats

BARS, METRE = 12, 4
STRENGTHS = np.linspace(0, 1, 11).tolist()
every_flaw = pytest.mark.parametrize("flaw", COMPOSITION_FLAWS, ids=lambda flaw: flaw.name)

TUNE = InstrumentPart(
    "melody", "flute", 73, tuple(Note(i / 2, 0.5, 60 + (5 * i + i // 8) % 13, 90) for i in range(8 * BARS))
)
CHORDS = InstrumentPart(
    "harmony", "piano", 0, tuple(Note(4.0 * b, 4, p + b, 70) for b in range(BARS) for p in (48, 52, 55))
)
DRUMS = InstrumentPart("drums", "drums", 0, tuple(Note(i / 2, 0.25, 42, 80) for i in range(8 * BARS)))


def piece(*parts: InstrumentPart, bars: float = BARS) -> Piece:
    beats = even_beats(round(bars * METRE), 120)
    return Piece("test", parts, beats, METRE, MusicalKey(0, "major"), Attributes("pop", "calm", 120, "moderate"))


BAND = piece(TUNE, CHORDS, DRUMS)


def spoilt(name: str, before: Piece, strength: float, seed: int = 0) -> Piece:
    return FLAWS[name].apply(before, strength, np.random.default_rng(seed))


def bar(part: InstrumentPart, number: int) -> list[tuple[float, int]]:
    """What a part plays in a bar: when, and at what pitch."""
    return [(n.start - number * METRE, n.pitch) for n in part.notes if n.start // METRE == number]


@every_flaw
@pytest.mark.parametrize("seed", range(8))
def test_the_measure_never_falls_as_strength_grows(flaw, seed):
    measured = [flaw.measure(BAND, spoilt(flaw.name, BAND, strength, seed)) for strength in STRENGTHS]
    assert measured[0] == 0
    assert (np.diff(measured) >= 0).all(), measured
    assert 0 < measured[1] < measured[5] < measured[10]


@pytest.mark.parametrize("name", ["bars-shuffled", "bar-looped"])
@pytest.mark.parametrize("seed", range(20))
def test_bars_changed_never_fall_where_bars_are_alike(name, seed):
    """Two bars by turns: a bar moved onto its like is no change, yet a greater strength must not undo any."""
    vamp = piece(replace(TUNE, notes=tuple(Note(4.0 * b, 4, 60 + b % 2, 90) for b in range(BARS))))
    measured = [bars_changed(vamp, spoilt(name, vamp, strength, seed)) for strength in np.linspace(0, 1, 25)]
    assert (np.diff(measured) >= 0).all(), measured


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_bars_are_all_there_and_none_in_its_place(seed):
    after = spoilt("bars-shuffled", BAND, 1.0, seed)
    was, now = ([tuple(bar(p.parts[0], b)) for b in range(BARS)] for p in (BAND, after))
    assert Counter(was) == Counter(now)
    assert bars_changed(BAND, after) == 1
    sources = [was.index(content) for content in now]
    assert [bar(after.parts[1], b) for b in range(BARS)] == [bar(CHORDS, source) for source in sources]


def test_bars_moved_at_a_lesser_strength_are_moved_at_a_greater_one():
    moved = [
        {b for b in range(BARS) if bar(TUNE, b) != bar(spoilt("bars-shuffled", BAND, s).parts[0], b)}
        for s in (0.25, 0.5, 0.75)
    ]
    assert [len(bars) for bars in moved] == [3, 6, 9]
    assert moved[0] < moved[1] < moved[2]


@pytest.mark.parametrize("name", ["bars-shuffled", "bar-looped"])
def test_a_note_held_over_several_bars_never_overlaps_itself(name):
    pad = InstrumentPart("pad", "strings", 48, tuple(Note(8.0 * i, 8, 60, 70) for i in range(BARS // 2)))
    for seed in range(10):
        notes = spoilt(name, piece(pad), 0.5, seed).parts[0].notes
        assert all(a.start + a.length <= b.start for a, b in pairwise(notes))


def test_a_note_is_held_on_where_its_bars_still_follow_each_other():
    pad = InstrumentPart("pad", "strings", 48, (Note(0, BARS * METRE + 2, 60, 70),))
    tune = piece(TUNE, pad)
    after = spoilt("bar-looped", tune, 0.01, seed=4)
    changed = [b for b in range(BARS) if bar(TUNE, b) != bar(after.parts[0], b)]
    assert len(changed) == 1
    assert after.parts[1].notes[0].length == changed[0] * METRE


@pytest.mark.parametrize("seed", range(5))
def test_a_looped_bar_takes_the_place_of_all_others(seed):
    after = spoilt("bar-looped", BAND, 1.0, seed)
    looped = bar(after.parts[0], 0)
    assert looped in [bar(TUNE, b) for b in range(BARS)]
    assert all(bar(after.parts[0], b) == looped for b in range(BARS))


@pytest.mark.parametrize("seed", range(5))
def test_random_notes_are_nested_and_only_in_the_tune(seed):
    spoilt_pieces = [spoilt("random-tune", BAND, s, seed) for s in (0.1, 0.5, 1.0)]
    wrong = [
        {(a, b) for a, b in zip(TUNE.notes, after.parts[0].notes, strict=True) if a != b} for after in spoilt_pieces
    ]
    assert wrong[0] < wrong[1] < wrong[2]
    assert len(wrong[2]) == len(TUNE.notes)
    assert all(after.parts[1:] == BAND.parts[1:] for after in spoilt_pieces)
    assert {b.pitch for _, b in wrong[2]} <= set(range(55, 78))


def test_a_melody_below_other_parts_is_still_the_tune():
    bells = InstrumentPart("harmony", "bells", 14, (Note(0, 4, 96, 80),))
    after = spoilt("random-tune", piece(bells, TUNE), 1.0)
    assert after.parts[0] == bells
    assert after.parts[1] != TUNE


def test_without_a_melody_the_highest_part_is_the_tune():
    bass = InstrumentPart("bass", "bass", 32, (Note(0, 4, 36, 80),))
    before = piece(bass, CHORDS, DRUMS)
    after = spoilt("random-tune", before, 1.0)
    assert (after.parts[0], after.parts[2]) == (bass, DRUMS)
    assert after.parts[1] != CHORDS


@pytest.mark.parametrize("seed", range(5))
def test_after_the_cut_nothing_sounds_and_before_it_nothing_changes(seed):
    after = spoilt("abrupt-cut", BAND, 1.0, seed)
    end = max(n.start + n.length for part in after.parts for n in part.notes)
    assert 0.3 <= end / (BARS * METRE) <= 0.5
    for was, now in zip(BAND.parts, after.parts, strict=True):
        assert [n[::2] for n in now.notes] == [n[::2] for n in was.notes if n.start < end]
    assert 0.5 < music_lost(BAND, after) < 0.7


@pytest.mark.parametrize("seed", range(8))
def test_one_part_turns_to_another_key_for_the_last_share_of_the_piece(seed):
    after = spoilt("clashing-keys", BAND, 0.5, seed)
    (other,) = [p for p in range(3) if after.parts[p] != BAND.parts[p]]
    assert other != 2
    pairs = zip(BAND.parts[other].notes, after.parts[other].notes, strict=True)
    shifts = {(a.start >= BARS * METRE / 2, b.pitch - a.pitch) for a, b in pairs}
    assert (False, 0) in shifts
    assert len({shift for late, shift in shifts if late} - {0}) == 1
    assert {shift for _, shift in shifts} <= {0, -6, -1, 1, 6}


def test_a_lone_part_cannot_clash():
    assert spoilt("clashing-keys", piece(TUNE, DRUMS), 1.0) == piece(TUNE, DRUMS)
