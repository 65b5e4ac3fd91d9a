"""A judge's verdicts as scores of the takes of each pair, so that a benchmark of reward models takes a judge too.

The take that is chosen gets 1, the other 0; after a tie both get a half. Heard in both orders, a take gets the mean: a
judge that contradicts itself has said nothing. An axis that was not asked about is NaN.
"""

import math
from collections import defaultdict

from cmi.judge.labels import axes_of
from cmi.judge.run import Judged
from cmi.take import Axis, Choice, Score

FOR_A: dict[Choice, float] = {"a": 1.0, "b": 0.0, "both": 0.5, "neither": 0.5}


def scored_axes(judged: Judged) -> tuple[Axis, ...]:
    """The axes of a score that the verdicts speak of. An overall verdict stands for musicality, as in the benchmark."""
    said = axes_of(judged)
    names: list[Axis] = ["musicality"] if {"musicality", "overall"} & set(said) else []
    return (*names, "alignment") if "alignment" in said else tuple(names)


def pair_scores(judged: Judged) -> dict[str, tuple[Score, Score]]:
    """The scores of a and b of each pair that has an opinion, by the pair's name."""
    shares: defaultdict[str, defaultdict[Axis, list[float]]] = defaultdict(lambda: defaultdict(list))
    for asking, verdict in judged.verdicts.items():
        for axis, opinion in verdict.opinions.items():
            shares[asking.pair][axis].append(FOR_A[opinion.choice])
    return {pair: (_score(found, False), _score(found, True)) for pair, found in shares.items()}


def _score(found: dict[Axis, list[float]], of_b: bool) -> Score:
    means = {axis: sum(values) / len(values) for axis, values in found.items()}
    own = {axis: 1 - mean if of_b else mean for axis, mean in means.items()}
    return Score(own.get("musicality", own.get("overall", math.nan)), own.get("alignment", math.nan))
