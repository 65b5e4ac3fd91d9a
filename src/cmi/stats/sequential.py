"""Has a mean fallen? A sequential test that may be evaluated after every observation, for example every night.

An e-process is the capital of a player who bets against the hypothesis that each new observation, given the earlier
ones, has a mean of at least m. Under the hypothesis it exceeds 1 / alpha with a probability of at most alpha, at any
time and however often one looks (Ville's inequality; Waudby-Smith and Ramdas 2024 on betting).

Here the capital is divided among players who each bet a fixed part of the greatest possible stake. Players lose while
the mean still holds, and would have little left when it falls. Therefore new players join every JOIN observations: the
k-th group has the share 1 / (k (k + 1)) of the capital, untouched until then.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

STAKES = np.linspace(0.05, 0.95, 10)  # parts of the greatest possible stake
JOIN = 25


class EProcess(NamedTuple):
    """The capital after all observations, its highest value so far, and where it first reached a limit."""

    value: float
    highest: float
    first_above: int | None  # the observation, counted from 0


def e_process(observations: ArrayLike, at_least: float, limit: float) -> EProcess:
    """Test that values from 0 to 1, in the order of observation, have a mean of `at_least` or more.

    >>> fallen = e_process([1, 0, 0, 1, 0] * 20, at_least=0.7, limit=20)
    >>> fallen.highest > 20, fallen.first_above
    (True, 24)
    >>> e_process([1, 1, 0, 1, 1] * 20, at_least=0.7, limit=20).first_above is None
    True
    """
    values = np.asarray(observations, np.float64)
    if not 0 < at_least < 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("expected observations from 0 to 1, and a mean between 0 and 1")
    won = np.log1p(np.multiply.outer(STAKES / (1 - at_least), at_least - values))  # (players, n)
    capital = np.ones(len(values))
    for group, start in enumerate(range(0, len(values), JOIN), 1):
        of_group = np.exp(np.minimum(np.cumsum(won[:, start:], axis=1), 600)).mean(axis=0)
        capital[start:] += (of_group - 1) / (group * (group + 1))
    above = np.flatnonzero(capital >= limit)
    first = int(above[0]) if len(above) else None
    return EProcess(float(np.append(1.0, capital)[-1]), max([1.0, *capital.tolist()]), first)
