"""Emotion tagging: name the moods and themes of a track. Data set: MTG-Jamendo (MTG_emotion).

Metrics and protocols are those of `cmi.bench.tasks._tags`.
"""

from cmi.bench.tasks._classes import evaluate, reader
from cmi.bench.tasks._tags import nulls

__all__ = ["evaluate", "nulls", "reader"]
