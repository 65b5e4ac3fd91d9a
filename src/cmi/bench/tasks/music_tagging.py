"""Music tagging: name what describes a track. Data sets: MagnaTagATune (MTT), MTG-Jamendo's top 50 (MTG_top50tags).

Metrics and protocols are those of `cmi.bench.tasks._tags`.
"""

from cmi.bench.tasks._classes import evaluate, reader
from cmi.bench.tasks._tags import nulls

__all__ = ["evaluate", "nulls", "reader"]
