"""Ceilings: how well any scorer could do, because listeners disagree and a take has one score for all of them.

Computed if the same takes have mean ratings and votes of single listeners, or if several people voted on a pair.
`everyone` is the accuracy of the mean rating (the majority) on the votes; `others` leaves the voter's own ratings out,
and is closer to what a scorer can reach.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cmi.report.numbers import percent
from cmi.report.tables import Table
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import MUSICALITY_PREFERENCE
from cmi.take import Audio


class Ceiling(NamedTuple):
    """Shares from 0 to 1 of n votes."""

    dataset: str
    question: str
    n: int
    everyone: float
    others: float


class _Rated(NamedTuple):
    """A take's ratings: their mean, and how many there are."""

    mean: float
    raters: int

    def without(self, one: float) -> float:
        return (self.mean * self.raters - one) / (self.raters - 1) if self.raters > 1 else self.mean


def ceilings(items: Iterable[RatedItem]) -> list[Ceiling]:
    """Return the ceiling of each question of each data set, for musicality."""
    by_question: dict[tuple[str, str], list[RatedItem]] = defaultdict(list)
    for item in items:
        by_question[item.dataset, item.about.get("question", "")].append(item)
    found = []
    for place, own in by_question.items():
        credits = _by_ratings(own) or _by_majority(own)
        if credits:
            seen, unseen = (sum(values) / len(credits) for values in zip(*credits, strict=True))
            found.append(Ceiling(*place, len(credits), seen, unseen))
    return found


def _by_ratings(items: Sequence[RatedItem]) -> list[tuple[float, float]]:
    """Return the mean rating's credit on each vote, with and without the voter's own ratings."""
    rated: dict[Audio, _Rated] = {
        item.takes[0]: _Rated(item.ratings["musicality"], int(item.about["raters"]))
        for item in items
        if "raters" in item.about
    }
    credits = []
    for item in items:
        if "better_rating" in item.about and all(take in rated for take in item.takes):
            better, worse = (rated[take] for take in _by_rank(item))
            own = float(item.about["better_rating"]), float(item.about["worse_rating"])
            unseen = _credit(better.without(own[0]), worse.without(own[1]))
            credits.append((_credit(better.mean, worse.mean), unseen))
    return credits


def _by_majority(items: Sequence[RatedItem]) -> list[tuple[float, float]]:
    """Return the majority's credit on each vote on a pair with several raters, with and without the voter's own."""
    decided = [item for item in items if "rater" in item.about and _by_rank(item)]
    won = Counter((item.prompt, _by_rank(item)) for item in decided)
    credits = []
    for item in decided:
        better, worse = won[item.prompt, _by_rank(item)], won[item.prompt, _by_rank(item)[::-1]]
        if better + worse > 1:
            credits.append((_credit(better, worse), _credit(better - 1, worse)))
    return credits


def _by_rank(item: RatedItem) -> tuple[Audio, ...]:
    """Return the takes of a pair, the preferred one first; empty for a tie."""
    axis = MUSICALITY_PREFERENCE.axis(item)
    choice = item.votes[axis].choice if axis is not None else "neither"
    return {"a": item.takes, "b": item.takes[::-1]}.get(choice, ())


def _credit(better: float, worse: float) -> float:
    return 0.5 if better == worse else float(better > worse)


def ceiling_table(found: Sequence[Ceiling]) -> Table:
    rows = [[one.dataset, one.question, str(one.n), percent(one.everyone, 2), percent(one.others, 2)] for one in found]
    notes = [
        "ACC in percent of people's mean rating of each take, or of their majority on each pair, on the same votes; "
        "with the voter's own and without. A scorer can hardly do better."
    ]
    return Table("Ceilings", ["data set", "question", "n", "everyone", "the others"], rows, labels=2, notes=notes)
