"""How well scores rank positives above negatives: ROC-AUC and average precision, for many item weights at once.

With every weight 1 both equal scikit-learn's `roc_auc_score` and `average_precision_score`; with bootstrap counts as
weights they equal its `sample_weight`. The scores are sorted once, whatever the number of weightings.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


class Detection(NamedTuple):
    roc_auc: Array  # (b,)  NaN where all the weight is on positives, or none is
    average_precision: Array  # (b,)  NaN where no weight is on positives


def detection(scores: Array, truth: NDArray[np.bool_], weights: Array) -> Detection:
    """Both measures of scores (n,) against truth (n,) under weights (b, n). Ties share their threshold."""
    order = np.argsort(-scores, kind="stable")
    ranked, positive = scores[order], np.flatnonzero(truth[order])
    group_ends = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    group_of_positive = np.searchsorted(group_ends, positive)
    groups, starts = np.unique(group_of_positive, return_index=True)  # the tie groups that hold a positive

    reached = np.cumsum(weights[:, order], axis=1)  # (b, n)  weight at or above each rank
    if not len(groups):
        undefined = np.full(len(weights), np.nan)
        return Detection(undefined, undefined)
    hits = np.add.reduceat(weights[:, order[positive]], starts, axis=1)  # (b, g)  positive weight in each group
    above_or_tied = reached[:, group_ends[groups]]
    above = np.where(groups > 0, reached[:, group_ends[np.maximum(groups - 1, 0)]], 0)
    hits_reached = np.cumsum(hits, axis=1)
    positives = hits_reached[:, -1]
    negatives = reached[:, -1] - positives

    misses_above = above - (hits_reached - hits)
    misses_tied = above_or_tied - above - hits
    with np.errstate(invalid="ignore", divide="ignore"):
        outranked = negatives[:, None] - misses_above - misses_tied / 2
        roc_auc = np.sum(hits * outranked, axis=1) / (positives * negatives)
        precision = np.where(above_or_tied > 0, hits_reached / above_or_tied, 0)
        average_precision = np.sum(hits * precision, axis=1) / positives
    return Detection(roc_auc, average_precision)
