"""Who won against whom, how often: each ordered pair of systems with its counts and Wilson's interval."""

from typing import NamedTuple

import numpy as np

from cmi.stats.intervals import Interval, wilson
from cmi.stats.ranking import Comparisons


class WinRate(NamedTuple):
    system: int
    against: int | None  # None for all others together
    wins: int
    ties: int
    losses: int
    rate: float  # wins of wins and losses; NaN where all were ties
    interval: Interval

    @property
    def n(self) -> int:
        return self.wins + self.ties + self.losses


def win_rates(comparisons: Comparisons) -> list[WinRate]:
    """For each system that was compared: against all others, then against each that it met."""
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
