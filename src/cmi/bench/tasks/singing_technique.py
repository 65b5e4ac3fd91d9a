"""Singing technique: name the technique of a sung clip, one of ten. Data set: VocalSet (VocalSet_tech).

Metrics and protocols are those of `cmi.bench.tasks._labels`.
"""

from cmi.bench.tasks._classes import evaluate, reader
from cmi.bench.tasks._labels import expected, nulls

__all__ = ["evaluate", "expected", "nulls", "reader"]
