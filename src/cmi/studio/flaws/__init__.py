"""Flaws of known kind and strength, each with an objective measure of the change.

Families
    production    damage to the recording
    performance   how the music is played
    composition   how the music is made

Kinds
    SoundFlaw   damages a recording: `FLAWS[name].apply(samples, rate, strength, rng)`, samples (n, channels) float32
    PieceFlaw   damages a piece before it is played: `FLAWS[name].apply(piece, strength, rng)`

Strength
    0 changes nothing, 0.5 is plain to an attentive listener, 1 is blatant. Anything outside 0 to 1 is a ValueError.
    With generators of one seed, `measure(before, after)` is 0 at strength 0 and never falls as strength grows.
    A measure of 0 at another strength means that the flaw could not be applied: silence, or a lone part to detune.

Level
    Sound flaws keep the RMS of the input, so loudness does not reveal them, except `level`, which is about loudness.
    If a peak would exceed full scale, the whole sound is turned down.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from cmi.studio.flaws import composition, performance, production, tape
from cmi.studio.flaws.production import Sound
from cmi.studio.piece import Piece

Family = Literal["production", "performance", "composition"]


@dataclass(frozen=True)
class SoundFlaw:
    name: str
    description: str
    change: Callable[[Sound, int, float, Generator], Sound]
    measure: Callable[[Sound, Sound], float]
    keeps_level: bool = True
    family: Family = "production"

    def apply(self, samples: Sound, rate: int, strength: float, rng: Generator) -> Sound:
        """Return a damaged copy, within full scale; silence stays silent."""
        loudness = production.rms(samples)
        if not (_checked(strength) and loudness):
            return samples.copy()
        return production.settled(self.change(samples, rate, strength, rng), loudness if self.keeps_level else None)


@dataclass(frozen=True)
class PieceFlaw:
    name: str
    family: Literal["performance", "composition"]
    description: str
    change: Callable[[Piece, float, Generator], Piece]
    measure: Callable[[Piece, Piece], float]

    def apply(self, piece: Piece, strength: float, rng: Generator) -> Piece:
        """Return a damaged piece, or the same if there is nothing to damage."""
        if not (_checked(strength) and any(part.notes for part in piece.parts)):
            return piece
        return self.change(piece, strength, rng)


Flaw = SoundFlaw | PieceFlaw


def _checked(strength: float) -> float:
    if not 0 <= strength <= 1:
        raise ValueError(f"a flaw's strength is {strength}, expected a number from 0 to 1")
    return strength


SOUND_FLAWS = (
    SoundFlaw("noise", "hiss over the music", production.noise, production.distortion),
    SoundFlaw("hum", "mains hum over the music", production.hum, production.distortion),
    SoundFlaw("clipping", "overdriven until it distorts", production.clipping, production.distortion),
    SoundFlaw("low-pass", "muffled, without highs", production.low_pass, production.octaves_darker),
    SoundFlaw("thin", "tinny, without lows", production.thin, production.octaves_brighter),
    SoundFlaw("dropouts", "short gaps of silence", production.dropouts, production.distortion),
    SoundFlaw("smear", "blurred as by a poor codec", production.smear, production.distortion),
    SoundFlaw("pumping", "level ducks and swells", production.pumping, production.distortion),
    SoundFlaw("over-reverb", "drowned in reverberation", production.over_reverb, production.distortion),
    SoundFlaw("ringing", "rings like a metal tube", production.ringing, production.distortion),
    SoundFlaw("level", "far too quiet", production.level, production.decibels_lost, keeps_level=False),
)
TAPE_FLAWS = (
    SoundFlaw("wavering", "runs fast and slow like a worn tape", tape.wavering, tape.delays, family="performance"),
    SoundFlaw("detuned-copy", "doubled out of tune", tape.detuned_copy, production.distortion, family="performance"),
    SoundFlaw("fragments", "short stretches in the wrong order", tape.fragments, tape.moved, family="composition"),
    SoundFlaw("stuck", "stuck like a scratched record", tape.stuck, tape.moved, family="composition"),
)
PERFORMANCE_FLAWS = (
    PieceFlaw(
        "timing-jitter", "performance", "notes early and late", performance.timing_jitter, performance.onset_deviation
    ),
    PieceFlaw("wrong-notes", "performance", "notes a semitone off", performance.wrong_notes, performance.notes_changed),
    PieceFlaw("detuned-part", "performance", "one part out of tune", performance.detuned_part, performance.detuning),
    PieceFlaw("tempo-drift", "performance", "tempo wanders", performance.tempo_drift, performance.tempo_spread),
)
COMPOSITION_FLAWS = (
    PieceFlaw(
        "bars-shuffled", "composition", "bars in the wrong order", composition.bars_shuffled, composition.bars_changed
    ),
    PieceFlaw("bar-looped", "composition", "stuck in one bar", composition.bar_looped, composition.bars_changed),
    PieceFlaw(
        "random-tune",
        "composition",
        "random notes in place of the tune",
        composition.random_tune,
        performance.notes_changed,
    ),
    PieceFlaw("abrupt-cut", "composition", "breaks off", composition.abrupt_cut, composition.music_lost),
    PieceFlaw(
        "clashing-keys", "composition", "parts in different keys", composition.clashing_keys, performance.notes_changed
    ),
)

FLAWS: dict[str, Flaw] = {
    flaw.name: flaw for flaw in (*SOUND_FLAWS, *TAPE_FLAWS, *PERFORMANCE_FLAWS, *COMPOSITION_FLAWS)
}
