"""Beat tracking: list the times of all beats of a clip. Data sets: GTZAN-Rhythm (gtzan_beat), ballroom (ballroom_beat).

Conventions, metrics and protocols are those of `cmi.bench.tasks._times`.
"""

from cmi.bench.tasks._times import evaluate, f_measure, nulls, parse, parse_paper, reader

__all__ = ["evaluate", "f_measure", "nulls", "parse", "parse_paper", "reader"]
