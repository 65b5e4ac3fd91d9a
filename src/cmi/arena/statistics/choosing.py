"""Which two systems the next pairs should compare: those whose votes reduce the uncertainty of the ranking most.

The chance that two systems are in the wrong order falls with the variance of their difference, and most so if the
difference is near 0 for its standard error. A vote between two systems of which one wins with probability p adds
p (1 - p) to the information on their difference, and through it lowers the variances of others; its gain is what that
takes off the chances of wrong orders, added up over all pairs of systems and both axes. The weight of a pair of systems
is FLOOR + (1 - FLOOR) gain ** SHARPNESS / its mean: it keeps at least FLOOR times its chance in a random draw.

Votes decide which systems are compared next, but never which of their takes. The Bradley-Terry model holds whichever
systems are compared, so strengths and their intervals stay valid. The win rate of a system against all others does
depend on whom it met. `benchmarks/arena_votes.py choice` compares this with random order.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from cmi.arena.statistics.inputs import AXES, Axis
from cmi.arena.statistics.ranking import Field, compared
from cmi.arena.store.study import CountedVote
from cmi.stats import logistic
from cmi.stats.ranking import SEPARATED_PRIOR, Array, bradley_terry

if TYPE_CHECKING:
    from cmi.arena.store.database import Database

FLOOR = 0.2
SHARPNESS = 3.0

SystemPair = tuple[str, str]  # in alphabetical order


def reorder_project(database: "Database", project: str) -> int:
    """Give out the pairs of a project by their weights, if it wants that; return how many pairs have another place."""
    from cmi.arena.store import pairs, projects, votes

    study = projects.get(database, project).settings
    if not study.uncertain_first:
        return 0
    weights = pair_weights(list(votes.counted(database, project)), pairs.systems_left(database, project))
    return pairs.set_order(database, project, study, weights)


def pair_weights(votes: Sequence[CountedVote], pairs: Iterable[tuple[str, str]]) -> dict[SystemPair, float]:
    """Weight the pairs of systems that `pairs` of takes compare, with a mean of 1."""
    distinct = sorted({(min(a, b), max(a, b)) for a, b in pairs if a and b and a != b})
    systems = tuple(sorted({name for pair in distinct for name in pair}))
    place = {name: i for i, name in enumerate(systems)}
    cast = tuple(vote for vote in compared(votes).votes if vote.system_a in place and vote.system_b in place)
    if len(distinct) < 2 or not cast:
        return dict.fromkeys(distinct, 1.0)
    field = Field(systems, cast)
    gains = np.sum([_gains(field, axis) for axis in AXES], axis=0)
    sharp = np.array([gains[place[a], place[b]] for a, b in distinct]) ** SHARPNESS
    mean = float(sharp.mean())
    if not (math.isfinite(mean) and mean > 0):
        return dict.fromkeys(distinct, 1.0)
    return dict(zip(distinct, (FLOOR + (1 - FLOOR) * sharp / mean).tolist(), strict=True))


def _gains(field: Field, axis: Axis) -> Array:
    """(systems, systems) what a vote between two systems takes off the chances of wrong orders, relative to the sum."""
    comparisons, n = field.comparisons(axis), len(field.systems)
    strengths = np.nan_to_num(bradley_terry(comparisons, prior=SEPARATED_PRIOR).strengths)
    chance = logistic(strengths[:, None] - strengths[None, :])
    information = chance * (1 - chance)  # of one vote
    met = np.zeros((n, n))
    np.add.at(met, (comparisons.first, comparisons.second), 1)
    met = (met + met.T) * information
    covariance = np.linalg.inv(np.diag(met.sum(axis=1)) - met + SEPARATED_PRIOR * np.eye(n))
    first, second = np.array(list(combinations(range(n), 2))).T
    contrasts = np.eye(n)[first] - np.eye(n)[second]  # (system pairs, systems)
    shared = contrasts @ covariance @ contrasts.T  # covariances of differences
    variance, one_vote = np.diag(shared), information[first, second]
    urgency = np.exp(-((contrasts @ strengths) ** 2) / variance / 2) / variance
    gain = one_vote * (shared**2 @ urgency) / (1 + one_vote * variance)
    found = np.zeros((n, n))
    found[first, second] = found[second, first] = gain / gain.sum()
    return found
