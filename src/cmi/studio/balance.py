"""Balance a set of pairs so that null baselines, such as 'the louder take wins', are near chance."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from cmi.studio.recordings import MeasuredTake

NULLS: dict[str, Callable[[MeasuredTake], float]] = {
    "louder": lambda heard: heard.loudness,
    "longer": lambda heard: heard.seconds,
    "brighter": lambda heard: heard.brightness,
    "more notes": lambda heard: heard.notes,
}
MOST = 0.53  # highest accuracy of a null or its opposite
Pair = tuple[MeasuredTake, MeasuredTake]  # the better and the worse


def verdicts(pair: Pair) -> dict[str, float]:
    """Each null's verdict on a pair: 1 for the better take, -1 for the worse, 0 for a tie."""
    better, worse = pair
    return {name: float((of(better) > of(worse)) - (of(better) < of(worse))) for name, of in NULLS.items()}


def null_accuracies(pairs: Sequence[Pair]) -> dict[str, float]:
    """Accuracy of each null; a tie counts half."""
    said = [verdicts(pair) for pair in pairs]
    return {name: sum(0.5 + said_of[name] / 2 for said_of in said) / len(said) if said else 0.5 for name in NULLS}


def balanced(pairs: Mapping[str, Pair], strictly: bool) -> list[str]:
    """Return the largest set of pair ids for which no null, nor its opposite, is right more often than MOST.

    If not `strictly`, a null may also be right once more than it is wrong, so that a few pairs can be kept.
    """
    kinds: dict[tuple[float, ...], list[str]] = {}
    for name, pair in pairs.items():
        kinds.setdefault(tuple(verdicts(pair).values()), []).append(name)
    if not kinds:
        return []
    leans, most = np.array(list(kinds)), np.array([len(names) for names in kinds.values()])
    wanted = _most_of_each(leans, most, by_share=2 * MOST - 1)
    if not strictly:
        wanted = max(wanted, _most_of_each(leans, most, by_count=1), key=sum)
    kept = {name for names, count in zip(kinds.values(), wanted, strict=True) for name in names[:count]}
    return [name for name in pairs if name in kept]


def _most_of_each(
    leans: NDArray[np.float64], most: NDArray[np.int64], by_share: float = 0.0, by_count: int = 0
) -> list[int]:
    """The most pairs of each kind for which no lean exceeds that share of all, or that count."""
    both_ways = np.concatenate((leans, -leans), axis=1).T - by_share  # (2 nulls, kinds)
    found = milp(
        -np.ones(len(most)),
        integrality=np.ones(len(most)),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(both_ways, ub=by_count + 1e-9),
    )
    return [round(count) for count in found.x]
