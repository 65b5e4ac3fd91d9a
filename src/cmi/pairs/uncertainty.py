"""Weights for sampling pairs of systems whose order is least certain, from earlier votes.

For each two systems Bradley-Terry gives the difference of their strengths with an interval (`cmi.stats.ranking`). Their
weight is the chance that their order is wrong, times the interval's width: two systems that are clearly apart, or known
to be equal, need no more votes. Two that cannot be compared yet weigh as much as the heaviest. Of several axes the
heaviest counts.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement
from math import isnan
from statistics import NormalDist

from cmi._util.errors import InputError
from cmi.pairs.sampling import Match
from cmi.preferences import Preference
from cmi.stats.ranking import LEVEL, FittedValue
from cmi.stats.systems import fit_systems

LIGHTEST = 0.01  # of the heaviest, so that no match is left out


def weigh_matches(votes: Iterable[Preference], systems: Sequence[str]) -> dict[Match, float]:
    """Return a weight for every two of the systems, 1 for the heaviest; of one system with itself too."""
    fits = fit_systems(votes)
    voted = {name for fit in fits for name in fit.names} & set(systems)
    if len(voted) < 2:
        raise InputError(
            f"the votes are about {len(voted)} of the takes' systems ({', '.join(systems)}), expected at least two"
        )
    known: dict[Match, float] = {}
    for match in combinations_with_replacement(sorted(systems), 2):
        found = []
        for fit in fits:
            if match[0] != match[1] and set(match) <= set(fit.names):
                first, second = map(fit.names.index, match)
                found.append(_doubt(fit.fitted.difference(first, second)))
        if found and not any(map(isnan, found)):
            known[match] = max(found)
    heaviest = max(known.values(), default=1.0) or 1.0
    return {
        match: max(LIGHTEST, known.get(match, heaviest) / heaviest)
        for match in combinations_with_replacement(sorted(systems), 2)
    }


def _doubt(difference: FittedValue) -> float:
    half = (difference.high - difference.low) / 2
    if not half > 0:
        return half  # 0 or NaN
    errors = abs(difference.value) / half * NormalDist().inv_cdf((1 + LEVEL) / 2)
    return NormalDist().cdf(-errors) * half
