"""Melody extraction: list the melody's notes as (time, pitch). Data set: MedleyDB v2 (MedleyDB).

Conventions
    A note holds from its time on. Pitch is a MIDI number or a note name ('A4' = 69); MIDI 0 is silence under strict.
    Times may be on the recording's clock; the clip is 10 s of it.

Metrics, times 100 (mir_eval.melody, 50 cents)
    Acc.    Overall accuracy: frames with the right pitch, or rightly silent.
    RPA     (strict) Raw pitch accuracy: voiced frames with the right pitch.

Protocols
    strict  Unparsable notes are dropped, times are moved to the clip's clock (see `cmi.bench.tasks._clips`).
            Without any note: 0.
    paper   Times are moved by the multiple of 10 s below the first one; an item on which mir_eval fails is left out of
            the mean. No released answers exist for this data set, so this was never compared with a printed digit.
"""

import re
import warnings
from collections.abc import Iterable, Sequence

import mir_eval.melody
import numpy as np

from cmi.bench.evaluation import Array, Evaluation, Item, Measured, Setting, evaluate_each, percent_mean, percent_ratio
from cmi.bench.tasks import Null, Reader, constant, in_words, parse_truth
from cmi.bench.tasks._clips import LENGTH, clip_of

NULL_ANSWER = str([(float(second), 60) for second in range(10)])

_TIME = r"\d{1,6}(?:\.\d{0,20})?"
_PITCH = r"\d{1,3}(?:\.\d{0,20})?|[A-Ga-g][#♯b♭]?-?\d"
_NOTE = re.compile(rf"""[(\[]\s*["']?({_TIME})\s?s?["']?\s*,\s*["']?({_PITCH})["']?\s*,?\s*[)\]]""")
_NAME = re.compile(r"([A-G])([#♯b♭]?)(-?\d)")
_SEMITONE = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_SHIFT = {"": 0, "#": 1, "♯": 1, "b": -1, "♭": -1}

Note = tuple[float, float]  # seconds, MIDI number


def parse(text: str) -> list[Note] | None:
    """Return the notes that `text` lists, by time, one per time; None if there are none.

    >>> parse("[(0.5, 'A4'), (1.25, 71)]")
    [(0.5, 69), (1.25, 71.0)]
    """
    notes: dict[float, float] = {}
    for time, pitch in _NOTE.findall(text):
        number = midi(pitch)
        if 0 <= number <= 127:
            notes.setdefault(float(time), number)
    return sorted(notes.items()) or None


def midi(pitch: str) -> float:
    """Return the MIDI number of a pitch given as a number or as a note name."""
    name = _NAME.fullmatch(pitch[:1].upper() + pitch[1:])
    if not name:
        return float(pitch)
    return 12 * (int(name[3]) + 1) + _SEMITONE[name[1]] + _SHIFT[name[2]]


def series(notes: Sequence[Note], offset: float, silence: float | None = None) -> tuple[Array, Array]:
    """Times and frequencies for mir_eval; `silence` is the MIDI number that stands for none."""
    times, numbers = np.array(notes, dtype=float).T
    frequencies = 440 * 2 ** ((numbers - 69) / 12)
    return times - offset, frequencies if silence is None else np.where(numbers == silence, 0.0, frequencies)


def accuracies(reference: tuple[Array, Array], estimated: tuple[Array, Array]) -> tuple[float, float]:
    """Overall accuracy and raw pitch accuracy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mir_eval warns of clips without voiced frames
        voicing = mir_eval.melody.to_cent_voicing(*reference, *estimated)
        return mir_eval.melody.overall_accuracy(*voicing), mir_eval.melody.raw_pitch_accuracy(*voicing)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    if setting.protocol == "paper":
        return evaluate_each(items, _measure_paper, [percent_ratio("Acc.", 0, 1)])
    return evaluate_each(items, _measure, [percent_mean("Acc.", 0), percent_mean("RPA", 1)])


def _measure(item: Item) -> Measured:
    truth, answer = _truth(item), parse(item.answer)
    if answer is None:
        return Measured(False, [0.0, 0.0])
    clip = clip_of(item, [time for time, _ in truth])
    both = (series(notes, clip.offset([time for time, _ in notes]), silence=0) for notes in (truth, answer))
    return Measured(True, accuracies(*both))


def _measure_paper(item: Item) -> Measured:
    """Row: accuracy, and whether the item counts."""
    truth, answer = _truth(item), parse(item.answer)
    if answer is None:
        return Measured(False, [0.0, 1.0])
    try:
        accuracy, _ = accuracies(series(truth, _fold(truth)), series(answer, _fold(answer)))
    except Exception:  # whatever mir_eval can't take is left out, as published
        return Measured(True, [0.0, 0.0])
    return Measured(True, [accuracy, 1.0])


def _fold(notes: Sequence[Note]) -> float:
    return LENGTH * (notes[0][0] // LENGTH)


def _truth(item: Item) -> list[Note]:
    return parse_truth(item.truth, parse, "a list of (time, pitch)")


def nulls(items: Iterable[Item]) -> list[Null]:
    return [constant(NULL_ANSWER, "middle C")]


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return in_words(parse, lambda notes: ", ".join(f"({time:g}, {pitch:g})" for time, pitch in notes))
