"""Instrument classification: the family of a single note (NSynth, Nsynth_instrument), or any number of instrument tags
(MTG-Jamendo, MTG_instrument).

Metrics and protocols are those of `cmi.bench.tasks._labels` for NSynth and of `cmi.bench.tasks._tags` for MTG-Jamendo.

The published NSynth prompt lists instruments (piano, violin, trumpet, ...) of which only bass, guitar and flute are
labels: a model that obeys it can reach 40.9 at most.
"""

from cmi.bench.tasks._classes import evaluate, reader
from cmi.bench.tasks._labels import expected, nulls

__all__ = ["evaluate", "expected", "nulls", "reader"]
