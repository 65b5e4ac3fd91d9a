"""What every flaw of a piece keeps to: the seed decides, strength 0 changes nothing, and the result can be played."""

from dataclasses import replace

import numpy as np
import pytest

from cmi.studio.flaws import COMPOSITION_FLAWS, PERFORMANCE_FLAWS, PieceFlaw
from cmi.studio.piece import InstrumentPart, Note, Piece

from .test_composition import BAND, CHORDS, DRUMS, TUNE, piece

every_flaw = pytest.mark.parametrize("flaw", [*COMPOSITION_FLAWS, *PERFORMANCE_FLAWS], ids=lambda flaw: flaw.name)

SILENT = piece(InstrumentPart("melody", "flute", 73, ()))
ODD_PIECES = {
    "nothing": piece(),
    "no notes": SILENT,
    "no beats": replace(SILENT, beats=(0.0,)),
    "drums alone": piece(DRUMS),
    "one note": piece(InstrumentPart("melody", "flute", 73, (Note(0, 1, 60, 90),))),
    "one bar": piece(InstrumentPart("melody", "flute", 73, (Note(0, 1, 60, 90),)), bars=1),
    "less than a bar": piece(InstrumentPart("melody", "flute", 73, (Note(0, 1, 60, 90),)), bars=0.5),
    "a bar and a half": piece(replace(TUNE, notes=TUNE.notes[:12]), bars=1.5),
    "no melody": piece(CHORDS, DRUMS),
    "no drums": piece(TUNE, CHORDS),
    "outermost pitches": piece(TUNE, InstrumentPart("bass", "bass", 32, (Note(0, 1, 0, 90), Note(1, 1, 127, 90)))),
}


def spoilt(flaw: PieceFlaw, before: Piece, strength: float, seed: int = 0) -> Piece:
    return flaw.apply(before, strength, np.random.default_rng(seed))


@every_flaw
def test_strength_0_is_the_same_piece(flaw):
    assert spoilt(flaw, BAND, 0) == BAND
    assert flaw.measure(BAND, BAND) == 0


@every_flaw
def test_the_seed_decides(flaw):
    assert spoilt(flaw, BAND, 0.5, seed=3) == spoilt(flaw, BAND, 0.5, seed=3)
    assert len({spoilt(flaw, BAND, 0.5, seed) for seed in range(6)}) > 1


@every_flaw
@pytest.mark.parametrize("odd", ODD_PIECES)
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_odd_pieces_stay_playable(flaw, odd, strength):
    before = ODD_PIECES[odd]
    after = spoilt(flaw, before, strength)
    assert len(after.beats) == len(before.beats)
    assert after.beats == before.beats or flaw.name == "tempo-drift"
    for note in (note for part in after.parts for note in part.notes):
        assert note.start >= 0
        assert note.length > 0
        assert 0 <= note.pitch <= 127
    assert flaw.measure(before, after) >= 0


@every_flaw
@pytest.mark.parametrize("strength", [-0.01, 1.01, float("nan")])
def test_a_strength_out_of_range_is_refused(flaw, strength):
    with pytest.raises(ValueError, match="from 0 to 1"):
        spoilt(flaw, BAND, strength)
