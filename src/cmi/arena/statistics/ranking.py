"""Rank the systems on each axis: win rates, and strengths by Bradley-Terry and Davidson's model.

First votes on ordinary pairs with two different named systems count. Choices are forced, so Davidson's model takes
votes of confidence 1, which the guidelines define as 'cannot tell them apart', as ties; Bradley-Terry uses all choices.

Systems with fewer votes than the minimum are left out of the ranking and named. Systems that were never compared,
directly or through others, are in different groups, each ranked around its own mean of 0.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.arena.statistics.inputs import AXES, Axis, choice, codes, confidence, study_votes
from cmi.arena.store.study import CountedVote
from cmi.stats import logistic
from cmi.stats.ranking import (
    Comparisons,
    Ranking,
    Separated,
    bradley_terry,
    connected_components,
    davidson,
    fit_with_prior,
)
from cmi.stats.systems import WinRate, ranked_systems, win_rates

UNSURE = 1  # the confidence that says the takes cannot be told apart


class Field(NamedTuple):
    """The compared systems in alphabetical order, and the votes on them."""

    systems: tuple[str, ...]
    votes: tuple[CountedVote, ...]

    def comparisons(self, axis: Axis, unsure_ties: bool = False) -> Comparisons:
        place = {name: i for i, name in enumerate(self.systems)}
        outcome = [
            0 if unsure_ties and confidence(vote, axis) == UNSURE else 1 if choice(vote, axis) == "a" else -1
            for vote in self.votes
        ]
        return Comparisons(
            np.array([place[vote.system_a] for vote in self.votes], np.int64),
            np.array([place[vote.system_b] for vote in self.votes], np.int64),
            np.array(outcome, np.int64),
            len(self.systems),
        )

    def clusters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cluster numbers by person and by pair."""
        return codes([vote.person for vote in self.votes]), codes([vote.pair for vote in self.votes])


def compared(votes: Sequence[CountedVote]) -> Field:
    kept = [vote for vote in study_votes(votes) if vote.system_a and vote.system_b and vote.system_a != vote.system_b]
    return _field(kept)


def with_enough_votes(field: Field, minimum_votes: int) -> tuple[Field, dict[str, int]]:
    """Leave out systems with too few votes, repeatedly, because a vote is lost with either system; name them."""
    all_counts = _votes_of(field.votes)
    while True:
        counts = _votes_of(field.votes)
        few = {name for name in field.systems if counts[name] < minimum_votes}
        if not few:
            break
        field = _field([vote for vote in field.votes if not few & {vote.system_a, vote.system_b}])
    return field, {name: count for name, count in sorted(all_counts.items()) if name not in field.systems}


def wins(votes: Sequence[CountedVote]) -> dict[str, Any]:
    """`systems`: each against all others; `matrix`: each against each; `left_out`: votes without two named systems.

    Wilson's intervals assume independent votes.
    """
    field = compared(votes)
    found = [(axis, one) for axis in AXES for one in win_rates(field.comparisons(axis))]
    return {
        "systems": [_win_row(field, axis, one) for axis, one in found if one.against is None],
        "matrix": [_win_row(field, axis, one) for axis, one in found if one.against is not None],
        "left_out": len(study_votes(votes)) - len(field.votes),
    }


def ranking(votes: Sequence[CountedVote], minimum_votes: int) -> dict[str, Any]:
    """`systems`: a row per axis and system; `axes`: the fits; `left_out`; `groups` that are ranked separately.

    strength, low, high       log odds against the group's mean (Bradley-Terry), with a 95 % interval that is robust to
                              clusters by person and pair
    beats_average             the same as a probability
    rank, best, worst         rank in the group, and the range that the intervals of differences allow
    davidson...               strength by Davidson's model; in `axes`: `ties`, and how likely two equals tie
    prior                     0, or SEPARATED_PRIOR if some system won or lost everything
    """
    field, left_out = with_enough_votes(compared(votes), max(1, minimum_votes))
    rows: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    groups: list[list[str]] = []
    if field.votes:
        labels = connected_components(field.comparisons(AXES[0]))
        groups = [[field.systems[i] for i in np.flatnonzero(labels == g)] for g in range(labels.max() + 1)]
        for axis in AXES:
            fit, systems = _fit_axis(field, axis)
            fits.append(fit)
            rows += systems
    return {
        "systems": rows,
        "axes": fits,
        "groups": groups,
        "left_out": [{"system": name, "votes": count} for name, count in left_out.items()],
        "minimum_votes": minimum_votes,
    }


def _fit_axis(field: Field, axis: Axis) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of an axis, and those of its systems."""
    clusters = field.clusters()
    fitted, prior = fit_with_prior(bradley_terry, field.comparisons(axis), None, clusters)
    unsure = field.comparisons(axis, unsure_ties=True)
    tied: Ranking | None = None
    with suppress(Separated):  # if every vote is unsure, the tie parameter is unbounded
        tied, _ = fit_with_prior(davidson, unsure, None, clusters)
    nu, (people, pairs) = tied.nu if tied else None, fitted.clusters
    ties = int((unsure.outcome == 0).sum())
    row = {
        **{"axis": axis, "votes": len(field.votes), "prior": prior, "ties": ties},
        "equals_tie": None if nu is None else nu / (2 + nu),
        **{"people": people or None, "pairs": pairs or None},
    }
    return row, _system_rows(field, axis, fitted, tied)


def _system_rows(field: Field, axis: Axis, fitted: Ranking, tied: Ranking | None) -> list[dict[str, Any]]:
    rows = []
    for one in ranked_systems(axis, field.systems, field.comparisons(axis), fitted):
        other = tied.strength(field.systems.index(one.system)) if tied else (None, None, None)
        rows.append(
            {
                **{"axis": axis, "group": one.group, "system": one.system, "votes": one.votes},
                **{"strength": one.strength, "low": one.low, "high": one.high},
                "beats_average": float(logistic(one.strength)),
                **{"rank": one.rank, "best": one.best, "worst": one.worst},
                **dict(zip(("davidson", "davidson_low", "davidson_high"), other, strict=True)),
            }
        )
    return rows


def _win_row(field: Field, axis: Axis, one: WinRate) -> dict[str, Any]:
    against = {} if one.against is None else {"against": field.systems[one.against]}
    counts = {"votes": one.n, "wins": one.wins, "rate": one.rate}
    spans = {"low": one.interval.low, "high": one.interval.high}
    return {"axis": axis, "system": field.systems[one.system], **against, **counts, **spans}


def _field(votes: Sequence[CountedVote]) -> Field:
    return Field(tuple(sorted(_votes_of(votes))), tuple(votes))


def _votes_of(votes: Sequence[CountedVote]) -> Counter[str]:
    return Counter(name for vote in votes for name in (vote.system_a, vote.system_b))
