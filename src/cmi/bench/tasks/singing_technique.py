"""Singing technique: name the technique of a sung clip, one of ten. Data set: VocalSet (VocalSet_tech).

Metrics and protocols are those of `cmi.bench.tasks._labels`.
"""

from collections.abc import Iterable

from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.tasks import _labels
from cmi.bench.tasks._labels import nulls

__all__ = ["CLASSES", "evaluate", "nulls"]

CLASSES = (
    "belt", "breathy", "inhaled", "lip_trill", "spoken", "straight", "trill", "trillo", "vibrato", "vocal_fry",
)  # fmt: skip


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    return _labels.evaluate(items, setting, CLASSES)
