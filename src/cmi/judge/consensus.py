"""One soft label out of several judges' verdicts: how probably a wins, b wins, neither does.

Dawid-Skene (1979)
    Each judge in each order has its own way of erring, a confusion matrix over (a, b, tie); the pairs' true classes and
    the matrices are found together by expectation-maximisation. A judge that minds the order, or that guesses, gets
    little weight. Counts are smoothed by one answer, spread with a lean towards being right, which keeps a and b apart.

Davidson-Bradley-Terry (Davidson 1970)
    Each recording has a strength; a take wins against another, or ties with it, by their difference, by how freely the
    judge calls ties, and by how much it favours what comes first, both of each judge's own. Strengths have a normal
    prior, so recordings that always win stay finite. It gains from recordings that are in several pairs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import MissingExtra

A, B, TIE = 0, 1, 2
CLASSES = 3
ROUNDS, SMALL = 500, 1e-7
LEAN = 0.5  # of the smoothing answer that is on the diagonal
PRIOR = 1.0  # the standard deviation of strengths

Array = NDArray[Any]


class Answers(NamedTuple):
    """What was said, a row for each asking: which item, which judge, whether swapped, and the class it named."""

    item: Array  # (n,)  0..items-1
    judge: Array  # (n,)  0..judges-1
    swapped: Array  # (n,)  1 where b was heard first
    said: Array  # (n,)  A, B or TIE, by the pair's own letters


def dawid_skene(answers: Answers, items: int) -> Array:
    """The chances of (a, b, tie) for each item: (items, 3); one that nobody spoke of has the overall shares."""
    raters = 2 * answers.judge + answers.swapped  # an order is a rater of its own
    count = int(raters.max()) + 1
    said = np.zeros((items, count, CLASSES))  # (I, R, 3)  how often a rater said what of an item
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
    """The chances of (a, b, tie) for each item: (items, 3). `takes` (items, 2) are the recordings a and b, 0..T-1."""
    try:
        from scipy.optimize import minimize
    except ModuleNotFoundError as error:
        raise MissingExtra("Davidson-Bradley-Terry", "judge") from error
    judges, count = int(answers.judge.max()) + 1, int(takes.max()) + 1

    def loss(values: Array) -> tuple[float, Array]:
        strength, ties, first = np.split(values, [count, count + judges])
        a, b = takes[answers.item].T
        sign = 1 - 2 * answers.swapped
        gap = strength[a] - strength[b] + sign * first[answers.judge]  # (n,)
        chances = _chances(gap, ties[answers.judge])  # (n, 3)
        rows = np.arange(len(gap))
        total = -np.log(chances[rows, answers.said]).sum() + (strength**2).sum() / (2 * PRIOR**2)
        # d(-log p)/dgap: half the win rate of a less b's, less the same of what was said; of ties likewise
        half = np.array([0.5, -0.5, 0.0])
        by_gap = chances @ half - half[answers.said]
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
    """Davidson's chances of (a, b, tie) at a difference of strengths and a readiness for ties."""
    logs = np.stack([gap / 2, -gap / 2, tie], axis=1)
    return _normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _normalised(values: Array) -> Array:
    return values / values.sum(axis=-1, keepdims=True)


def hard(chances: Sequence[float]) -> int:
    """The likeliest class."""
    return int(np.argmax(chances))
