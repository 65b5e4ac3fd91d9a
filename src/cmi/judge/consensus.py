"""Combine several judges' verdicts into soft labels: the probabilities that a wins, b wins, or they tie.

Dawid-Skene (1979)
    Each judge in each order has a confusion matrix over (a, b, tie); expectation-maximisation finds the matrices
    together with the pairs' true classes. A judge that guesses or depends on the order gets little weight. Counts are
    smoothed by one answer with a lean towards being right, which tells class a from class b.

Davidson-Bradley-Terry (Davidson 1970)
    The difference of two recordings' strengths, and each judge's tendency to ties and to the first take, give the
    probabilities. A normal prior keeps the strengths of recordings that always win finite. This model gains from
    recordings that appear in several pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import require_extra

A, B, TIE = 0, 1, 2
CLASSES = 3
ROUNDS, SMALL = 500, 1e-7
LEAN = 0.5  # share of the smoothing answer on the diagonal
PRIOR = 1.0  # the standard deviation of strengths

Array = NDArray[Any]


class Answers(NamedTuple):
    """One row per answer."""

    item: Array  # (n,)  0..items-1
    judge: Array  # (n,)  0..judges-1
    swapped: Array  # (n,)  1 if b was heard first
    said: Array  # (n,)  A, B or TIE, in the pair's own order


def dawid_skene(answers: Answers, items: int) -> Array:
    """Probabilities of (a, b, tie), shape (items, 3); an item without answers gets the overall shares."""
    raters = 2 * answers.judge + answers.swapped  # each order counts as its own rater
    count = int(raters.max()) + 1
    said = np.zeros((items, count, CLASSES))  # (I, R, 3)  counts
    np.add.at(said, (answers.item, raters, answers.said), 1.0)
    chances = _normalised(said.sum(axis=1) + 1 / CLASSES)  # (I, 3)
    smoothing = np.full((CLASSES, CLASSES), (1 - LEAN) / CLASSES) + LEAN * np.eye(CLASSES)
    for _ in range(ROUNDS):
        shares = _normalised(chances.sum(axis=0) + 1)  # (3,)
        errors = _normalised(np.einsum("ic,irs->rcs", chances, said) + smoothing)  # (R, true, said)
        logs = np.log(shares) + np.einsum("irs,rcs->ic", said, np.log(errors))
        before, chances = chances, _normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))
        if np.abs(chances - before).max() < SMALL:
            break
    return chances


def davidson(answers: Answers, takes: Array) -> Array:
    """Probabilities of (a, b, tie), shape (items, 3). `takes` (items, 2) are the recordings a and b, 0..T-1."""
    with require_extra("Davidson-Bradley-Terry", "judge"):
        from scipy.optimize import minimize
    judges, count = int(answers.judge.max()) + 1, int(takes.max()) + 1

    def loss(values: Array) -> tuple[float, Array]:
        strength, ties, first = np.split(values, [count, count + judges])
        a, b = takes[answers.item].T
        sign = 1 - 2 * answers.swapped
        gap = strength[a] - strength[b] + sign * first[answers.judge]  # (n,)
        chances = _chances(gap, ties[answers.judge])  # (n, 3)
        rows = np.arange(len(gap))
        total = -np.log(chances[rows, answers.said]).sum() + (strength**2).sum() / (2 * PRIOR**2)
        half = np.array([0.5, -0.5, 0.0])
        by_gap = chances @ half - half[answers.said]  # d(-log p)/d(gap)
        by_tie = chances[:, TIE] - (answers.said == TIE)
        slope = strength / PRIOR**2
        np.add.at(slope, a, by_gap)
        np.add.at(slope, b, -by_gap)
        by_first = np.bincount(answers.judge, sign * by_gap, judges) + first * SMALL
        return float(total), np.concatenate([slope, np.bincount(answers.judge, by_tie, judges), by_first])

    found = minimize(loss, np.zeros(count + 2 * judges), jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    strength, ties, _ = np.split(found.x, [count, count + judges])
    weights = np.bincount(answers.judge, minlength=judges)
    a, b = takes.T
    return _chances(strength[a] - strength[b], np.full(len(takes), np.average(ties, weights=weights)))


def _chances(gap: Array, tie: Array) -> Array:
    """Davidson's probabilities of (a, b, tie) for a difference of strengths and a tendency to ties."""
    logs = np.stack([gap / 2, -gap / 2, tie], axis=1)
    return _normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _normalised(values: Array) -> Array:
    return values / values.sum(axis=-1, keepdims=True)
