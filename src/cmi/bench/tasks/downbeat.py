"""Downbeat tracking: list the times of the first beats of all bars. Data sets: gtzan_downbeat, ballroom_downbeat.

Conventions, metrics and protocols are those of `cmi.bench.tasks._times`.
"""

from cmi.bench.tasks._times import evaluate, f_measure, nulls, parse, parse_paper, reader

__all__ = ["evaluate", "f_measure", "nulls", "parse", "parse_paper", "reader"]
