"""How good a head is: how often it prefers what was preferred, and how it ranks what was rated."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cmi.reward.train.data import AXES, TrainingExample
from cmi.stats.correlation import spearman
from cmi.stats.intervals import wilson
from cmi.take import Axis

Scores = Sequence[Mapping[Axis, float]]  # of an example's takes


def measure(examples: Sequence[TrainingExample], scores: Sequence[Scores]) -> dict[str, Any]:
    """Accuracy by axis with its n and 95 % interval; of ratings, the rank correlation (None where undefined).

    `value` is what training selects by: the mean of the accuracies or, where there are no pairs, of the correlations.
    A pair whose takes score the same is not judged rightly.
    """
    accuracy, correlation = {}, {}
    for axis in AXES:
        labelled = [(e, s, e.labels[axis]) for e, s in zip(examples, scores, strict=True) if axis in e.labels]
        hits = [
            s[0 if label.value else 1][axis] > s[1 if label.value else 0][axis] for e, s, label in labelled if e.is_pair
        ]
        if hits:
            low, high = wilson(sum(hits), len(hits))
            accuracy[axis] = {"accuracy": sum(hits) / len(hits), "n": len(hits), "low": low, "high": high}
        rated = [(s[0][axis], label.value) for e, s, label in labelled if not e.is_pair]
        if rated:
            rho = spearman(*zip(*rated, strict=True))
            correlation[axis] = {"spearman": None if math.isnan(rho) else rho, "n": len(rated)}
    values = [one["accuracy"] for one in accuracy.values()] or [one["spearman"] or 0.0 for one in correlation.values()]
    return {"value": sum(values) / len(values), "pairs": accuracy, "ratings": correlation}
