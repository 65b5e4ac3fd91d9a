"""The family of instruments that a single note comes from: how it fades, how its octaves stack, and musicnn's tags.

musicnn has tags for few of the families, so that brass, reeds and mallets are told by little more than their envelope.
"""

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.clips import clip
from cmi.bench.ask.reference import notes
from cmi.bench.ask.reference.labels import LabelSkill
from cmi.bench.ask.reference.pitch import OCTAVE, STACKED
from cmi.bench.ask.reference.tags import Lifts, Tagger
from cmi.bench.metrics.text import mentions
from cmi.bench.tasks.instrument import NSYNTH

LONGEST = 4.0  # seconds
HELD = 0.35  # of its loudest level after a second: below it was struck or plucked
LOW = 48  # MIDI pitch below which a plucked string is most likely a bass
MOST_LISTED = 6  # families in a prompt from which on its list is taken as the choice

STRUCK = {"guitar": ("guitar", "sitar"), "keyboard": ("piano", "harpsichord"), "mallet": ("harp",)}
HELD_TAGS = {
    "flute": ("flute",),
    "string": ("violin", "cello", "strings"),
    "vocal": ("voice", "vocal", "choir", "singing"),
    "synth_lead": ("synth", "techno", "electronic"),
    "reed": ("jazz",),
    "brass": ("soul", "funk"),
}


class InstrumentSkill:
    """A single note's family for NSynth; tags for MTG-Jamendo."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger
        self._tags = LabelSkill(tagger)
        self._notes = _note_network()

    def answer(self, question: Question) -> str:
        if question.dataset != "Nsynth_instrument":
            return self._tags.answer(question)
        waveform = clip(question, notes.RATE, LONGEST)
        strength = None if self._notes is None else self._notes.activations(waveform).mean(axis=0)
        held = held_level(waveform.samples, waveform.rate)
        listed = mentions(question.text, NSYNTH)
        choice = listed if len(listed) >= MOST_LISTED else set(NSYNTH) - {"synth_lead"}
        return family(self._tagger.lifts(question), held, strength, choice)


def _note_network() -> notes.NoteNetwork | None:
    try:
        return notes.NoteNetwork()
    except InputError:
        return None


def held_level(samples: NDArray[np.float32], rate: int) -> float:
    """The level a second after the loudest moment, as a share of it."""
    block = rate // 10
    blocks = samples[: len(samples) // block * block].reshape(-1, block)
    levels = np.sqrt((blocks.astype(np.float64) ** 2).mean(axis=1)) if len(blocks) else np.zeros(1)
    peak = int(levels.argmax())
    later = levels[peak + 10 : peak + 15]
    return float(later.mean() / max(levels[peak], 1e-9)) if len(later) else 1.0


def family(lifts: Lifts, held: float, strength: NDArray[np.float32] | None, choice: set[str]) -> str:
    """The likeliest of `choice`; `strength` says how surely each of 88 notes sounds, if that is known."""
    note = None if strength is None else int(strength.argmax())
    if held < HELD:
        if note is not None and notes.LOWEST + note < LOW and "bass" in choice:
            return "bass"
        return _strongest(lifts, STRUCK, choice)
    if strength is not None and note is not None and "organ" in choice:
        stack = strength[note : note + OCTAVE + 1 : OCTAVE]
        if len(stack) == 2 and stack[1] > STACKED / 2:
            return "organ"
    return _strongest(lifts, HELD_TAGS, choice)


def _strongest(lifts: Lifts, tags: dict[str, tuple[str, ...]], choice: set[str]) -> str:
    known = {name: max(lifts[tag] for tag in stands) for name, stands in tags.items() if name in choice}
    return max(known, key=lambda name: known[name]) if known else sorted(choice)[0]
