"""Pitch estimation: give the MIDI number of a single note. Data set: NSynth (Nsynth_pitch).

Conventions
    A pitch is a whole number from 0 to 127, middle C = 60. Note names are no answer: numbers are asked for.

Metrics and protocols are those of `cmi.bench.tasks._labels`, with one difference under `strict`: a number is named by
a whole number in the text ('440' does not name 44), and numbers beyond 127 name nothing. Under `paper` the digits of
one label may stand inside another (69 holds 9), so that 33 of the 106 labels can never be right.
"""

import re
from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.tasks import Reader, _labels
from cmi.bench.tasks._labels import expected, nulls

__all__ = ["CLASSES", "evaluate", "expected", "nulls", "parse", "reader"]

CLASSES = tuple(str(number) for number in range(128))

_WHOLE_NUMBER = re.compile(r"(?<![\w.,#♯♭-])\d{1,3}(?![\w#♯♭]|[.,]\d)", re.ASCII)


def parse(answer: str, classes: tuple[str, ...] = CLASSES) -> str | None:
    """Return the one MIDI number that `answer` gives, or None if it gives none or several.

    >>> parse("MIDI note 69 (A4)")
    '69'
    """
    found = {str(int(number)) for number in _WHOLE_NUMBER.findall(answer)} & set(classes)
    return found.pop() if len(found) == 1 else None


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    return _labels.evaluate(items, setting, CLASSES, parse)


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    return _labels.reader(setting, truths, CLASSES, parse)
