"""Systems ranked from votes: strengths with intervals, and plain win rates."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.stats.intervals import Interval, wilson
from cmi.stats.ranking import Comparisons, Ranking, bradley_terry, fit_with_prior

if TYPE_CHECKING:
    from cmi.preferences import Preference


class RankedSystem(NamedTuple):
    """A system on one axis. `best` and `worst` are the ranks that the intervals of differences allow."""

    axis: str
    system: str
    rank: int
    best: int
    worst: int
    strength: float  # log odds against the mean of its group
    low: float  # 95 %
    high: float
    votes: int
    group: int  # systems that were never compared, directly or through others, are in different groups


def rank(preferences: "Iterable[Preference]") -> list[RankedSystem]:
    """Rank systems from votes by Bradley-Terry, axis by axis, best first.

    `preferences` are what `cmi.read_preferences` reads; the systems are in its fields `system_a` and `system_b`, or
    `generator_a` and `generator_b`. Votes without two different systems, on gold pairs and in hidden repeats are left
    out; 'both' and 'neither' count as half a win for each side. Intervals are clustered by rater and by pair. A system
    that won or lost every vote is pulled to the mean by a weak prior.

    >>> from pathlib import Path
    >>> from cmi.preferences import Preference
    >>> from cmi.take import Pair, Prompt
    >>> pair = Pair(Prompt("slow sad piano"), Path("1.wav"), Path("2.wav"))
    >>> def vote(winner: str, loser: str) -> Preference:
    ...     return Preference(pair, "overall", "a", about={"system_a": winner, "system_b": loser})
    >>> for one in rank([vote("new", "old")] * 20 + [vote("old", "new")] * 10):
    ...     print(one.rank, one.system, f"{one.strength:+.2f}, 95 % from {one.low:+.2f} to {one.high:+.2f}")
    1 new +0.35, 95 % from -0.04 to +0.73
    2 old -0.35, 95 % from -0.73 to +0.04
    """
    return [
        row
        for fit in fit_systems(preferences)
        for row in ranked_systems(fit.axis, fit.names, fit.comparisons, fit.fitted)
    ]


class SystemFit(NamedTuple):
    """The fitted strengths of systems on one axis, numbered as in `names`."""

    axis: str
    names: list[str]
    comparisons: Comparisons
    fitted: Ranking


def fit_systems(preferences: "Iterable[Preference]") -> list[SystemFit]:
    """Fit Bradley-Terry to votes, axis by axis, as `rank` does."""
    by_axis: dict[str, list[tuple[str, str, Preference]]] = {}
    for one in preferences:
        a, b = (str(one.about.get(f"system_{side}") or one.about.get(f"generator_{side}") or "") for side in "ab")
        if a and b and a != b and one.about.get("kind") != "gold" and not one.about.get("repeat"):
            by_axis.setdefault(one.axis, []).append((a, b, one))
    return [_fit(axis, votes) for axis, votes in sorted(by_axis.items())]


def _fit(axis: str, votes: "Sequence[tuple[str, str, Preference]]") -> SystemFit:
    names = sorted({name for a, b, _ in votes for name in (a, b)})
    first, second = (np.array([names.index(name) for name in side]) for side in list(zip(*votes, strict=True))[:2])
    outcome = np.array([{"a": 1, "b": -1}.get(vote.choice, 0) for _, _, vote in votes])
    clusters = _codes([vote.rater for _, _, vote in votes]), _codes([vote.pair for _, _, vote in votes])
    comparisons = Comparisons(first, second, outcome, len(names))
    fitted, _ = fit_with_prior(bradley_terry, comparisons, None, clusters)
    return SystemFit(axis, names, comparisons, fitted)


def _codes(values: Sequence[Any]) -> NDArray[np.int64]:
    """Number the distinct values by first appearance."""
    numbers = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return np.array([numbers[value] for value in values], np.int64)


def ranked_systems(axis: str, names: Sequence[str], comparisons: Comparisons, fitted: Ranking) -> list[RankedSystem]:
    """Return the fitted systems as rows, group by group, the strongest first."""
    rows = []
    for i in np.lexsort([-fitted.strengths, fitted.components]).tolist():
        better = (fitted.components == fitted.components[i]) & (fitted.strengths > fitted.strengths[i])
        places = (1 + int(better.sum()), *fitted.rank(i))
        votes = int(((comparisons.first == i) | (comparisons.second == i)).sum())
        rows.append(RankedSystem(axis, names[i], *places, *fitted.strength(i), votes, int(fitted.components[i]) + 1))
    return rows


class WinRate(NamedTuple):
    system: int
    against: int | None  # None for all others together
    wins: int
    ties: int
    losses: int
    rate: float  # wins / (wins + losses); NaN if all were ties
    interval: Interval

    @property
    def n(self) -> int:
        return self.wins + self.ties + self.losses


def win_rates(comparisons: Comparisons) -> list[WinRate]:
    """Return each compared system's win rate against all others, then against each opponent."""
    wins, ties = np.zeros((2, comparisons.systems, comparisons.systems), np.int64)
    for outcome, winner, loser in ((1, *comparisons[:2]), (-1, *comparisons[1::-1])):
        here = comparisons.outcome == outcome
        np.add.at(wins, (winner[here], loser[here]), 1)
    tied = comparisons.outcome == 0
    np.add.at(ties, (comparisons.first[tied], comparisons.second[tied]), 1)
    ties = ties + ties.T
    found = []
    for system in range(comparisons.systems):
        met = np.flatnonzero(wins[system] + wins[:, system] + ties[system])
        if len(met):
            sums = int(wins[system].sum()), int(ties[system].sum()), int(wins[:, system].sum())
            found.append(_rate(system, None, *sums))
            found += [
                _rate(system, int(o), int(wins[system, o]), int(ties[system, o]), int(wins[o, system])) for o in met
            ]
    return found


def _rate(system: int, against: int | None, wins: int, ties: int, losses: int) -> WinRate:
    decided = wins + losses
    return WinRate(
        system, against, wins, ties, losses, wins / decided if decided else float("nan"), wilson(wins, decided)
    )
