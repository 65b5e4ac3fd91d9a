"""Has a mean fallen? A test that may be looked at after every observation, as a watch that runs every night does.

An e-process is the capital of a player who bets against the hypothesis that each new observation, given the earlier
ones, has a mean of at least m. Under the hypothesis it exceeds 1 / alpha with a probability of at most alpha, at any
time and however often one looks (Ville's inequality; Waudby-Smith and Ramdas 2024 on betting). Here the capital is
shared equally by players who each bet a fixed part of the most that can be staked.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

STAKES = np.linspace(0.05, 0.95, 19)  # parts of the most that can be staked


class EProcess(NamedTuple):
    """The capital after all observations, its highest value so far, and where it first reached a limit."""

    value: float
    highest: float
    first_above: int | None  # the observation, counted from 0


def e_process(observations: ArrayLike, at_least: float, limit: float) -> EProcess:
    """Test that values from 0 to 1 have a mean of `at_least` or more, in the order in which they came.

    >>> fallen = e_process([1, 0, 0, 1, 0] * 20, at_least=0.7, limit=20)
    >>> fallen.highest > 20, fallen.first_above
    (True, 21)
    >>> e_process([1, 1, 0, 1, 1] * 20, at_least=0.7, limit=20).first_above is None
    True
    """
    values = np.asarray(observations, np.float64)
    if not 0 < at_least < 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("expected observations from 0 to 1, and a mean between 0 and 1")
    if not len(values):
        return EProcess(1.0, 1.0, None)
    won = np.log1p(np.multiply.outer(STAKES / (1 - at_least), at_least - values))  # (players, n)
    capital = np.exp(np.minimum(np.cumsum(won, axis=1), 600)).mean(axis=0)
    above = np.flatnonzero(capital >= limit)
    return EProcess(float(capital[-1]), max(1.0, float(capital.max())), int(above[0]) if len(above) else None)
