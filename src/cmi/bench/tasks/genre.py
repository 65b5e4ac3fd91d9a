"""Genre classification: one of ten genres (GTZAN), or any number of genre tags (MTG-Jamendo, MTG_genre).

Metrics and protocols are those of `cmi.bench.tasks._labels` for GTZAN and of `cmi.bench.tasks._tags` for MTG_genre.
"""

from cmi.bench.tasks._classes import evaluate, reader
from cmi.bench.tasks._labels import expected, nulls

__all__ = ["evaluate", "expected", "nulls", "reader"]
