"""A performance flaw only grows, and leaves the truth of the piece where it says it does."""

from dataclasses import replace

import numpy as np
import pytest

from cmi.studio.flaws import FLAWS, PERFORMANCE_FLAWS
from cmi.studio.flaws.performance import notes_changed, onset_deviation
from cmi.studio.piece import Attributes, InstrumentPart, MusicalKey, Note, Piece, even_beats

BARS, METRE = 8, 4
STRENGTHS = np.linspace(0, 1, 11).tolist()
every_flaw = pytest.mark.parametrize("flaw", PERFORMANCE_FLAWS, ids=lambda flaw: flaw.name)

TUNE = InstrumentPart("melody", "flute", 73, tuple(Note(i / 2, 0.5, (60, 62, 64, 67)[i % 4], 90) for i in range(64)))
CHORDS = InstrumentPart(
    "harmony", "piano", 0, tuple(Note(4.0 * b, 4, p, 70) for b in range(BARS) for p in (60, 64, 67))
)
DRUMS = InstrumentPart("drums", "drums", 0, tuple(Note(i / 2, 0.25, 42, 80) for i in range(64)))


def piece(*parts: InstrumentPart) -> Piece:
    beats = even_beats(BARS * METRE, 120)
    return Piece("test", parts, beats, METRE, MusicalKey(0, "major"), Attributes("pop", "calm", 120, "moderate"))


BAND = piece(TUNE, CHORDS, DRUMS)


def spoilt(name: str, before: Piece, strength: float, seed: int = 0) -> Piece:
    return FLAWS[name].apply(before, strength, np.random.default_rng(seed))


def changed(before: Piece, after: Piece) -> set[tuple[int, Note]]:
    """The notes of `before` that `after` does not play, by part."""
    pairs = zip(before.parts, after.parts, strict=True)
    return {(p, note) for p, (a, b) in enumerate(pairs) for note in set(a.notes) - set(b.notes)}


@every_flaw
@pytest.mark.parametrize("seed", range(8))
def test_the_measure_grows_with_every_step_of_strength(flaw, seed):
    measured = [flaw.measure(BAND, spoilt(flaw.name, BAND, strength, seed)) for strength in STRENGTHS]
    assert measured[0] == 0
    assert (np.diff(measured) > 0).all(), measured


@every_flaw
def test_parts_stay_in_order_of_time(flaw):
    for part in spoilt(flaw.name, BAND, 1.0).parts:
        assert list(part.notes) == sorted(part.notes)


@pytest.mark.parametrize("seed", range(8))
def test_wrong_notes_are_nested_and_the_drums_are_spared(seed):
    wrong = [changed(BAND, spoilt("wrong-notes", BAND, strength, seed)) for strength in (0.1, 0.3, 0.6, 1.0)]
    assert wrong[0] and wrong[0] < wrong[1] < wrong[2] < wrong[3]
    assert all(part != 2 for part, _ in wrong[3])


def test_a_wrong_note_stays_wrong_in_the_same_way():
    weaker, stronger = (spoilt("wrong-notes", BAND, strength) for strength in (0.3, 0.6))
    assert changed(weaker, BAND) < changed(stronger, BAND)


@pytest.mark.parametrize("key", [MusicalKey(0, "major"), MusicalKey(9, "minor")])
def test_wrong_notes_are_out_of_the_key(key):
    before = replace(BAND, key=key)
    new = changed(spoilt("wrong-notes", before, 1.0), before)
    assert {note.pitch % 12 for _, note in new} <= {1, 3, 6, 8, 10}
    assert notes_changed(before, spoilt("wrong-notes", before, 1.0)) == pytest.approx(0.5)


def test_jitter_is_within_200_ms_and_leaves_beats_pitches_and_lengths():
    after = spoilt("timing-jitter", BAND, 1.0)
    assert after.beats == BAND.beats
    for was, now in zip(BAND.parts, after.parts, strict=True):
        assert sorted(n[1:] for n in was.notes) == sorted(n[1:] for n in now.notes)
        shifts = BAND.clock([n.start for n in now.notes]) - BAND.clock([n.start for n in was.notes])
        assert 0.02 < np.abs(shifts).max() <= 0.2 + 1e-9
    assert 0.05 < onset_deviation(BAND, after) < 0.15


def test_jitter_rolls_chords_up_as_well_as_down():
    chords = spoilt("timing-jitter", BAND, 1.0).parts[1].notes
    played = {tuple(note.pitch for note in chords[i : i + 3]) for i in range(0, len(chords), 3)}
    assert len(played) > 1


def test_jitter_is_exactly_proportional_to_strength():
    half, whole = (onset_deviation(BAND, spoilt("timing-jitter", BAND, strength)) for strength in (0.5, 1.0))
    assert half == pytest.approx(whole / 2)


@pytest.mark.parametrize("seed", range(6))
def test_one_foreground_part_is_detuned(seed):
    before = replace(BAND, parts=(*BAND.parts, replace(CHORDS, role="pad")))
    cents = [part.cents for part in spoilt("detuned-part", before, 0.5, seed).parts]
    assert sorted(map(abs, cents)) == [0, 0, 0, 40]
    assert cents[2] == cents[3] == 0


def test_a_lone_part_has_nothing_to_be_out_of_tune_with():
    assert spoilt("detuned-part", piece(TUNE, DRUMS), 1.0) == piece(TUNE, DRUMS)


@pytest.mark.parametrize("seed", range(6))
def test_drift_keeps_notes_and_length_and_moves_the_beats_within_bounds(seed):
    after = spoilt("tempo-drift", BAND, 1.0, seed)
    assert after.parts == BAND.parts
    assert (after.beats[0], after.seconds) == (BAND.beats[0], BAND.seconds)
    ratios = np.diff(after.beats) / np.diff(BAND.beats)
    assert 1.3 < ratios.max() / ratios.min() <= 2 ** (2 * 0.6) + 1e-9
    assert onset_deviation(BAND, after) > 0.05
