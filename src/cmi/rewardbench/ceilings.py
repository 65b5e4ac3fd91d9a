"""How well any scorer could do: listeners differ, and a score is one number for a take whoever hears it.

Computed where the same takes have mean ratings and votes of single listeners. `mean` is what the mean rating of each
take gets of the votes, which it has seen; `others` is what it gets if each voter's own ratings are left out of it, and
is nearer to what can be reached.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cmi.report.tables import Table
from cmi.rewardbench.items import Item
from cmi.take import Audio


class Ceiling(NamedTuple):
    """Shares from 0 to 1 of n votes."""

    dataset: str
    n: int
    mean: float
    others: float


class _Rated(NamedTuple):
    """A take's ratings: their mean, and how many there are."""

    mean: float
    raters: int

    def without(self, one: float) -> float:
        return (self.mean * self.raters - one) / (self.raters - 1) if self.raters > 1 else self.mean


def ceilings(items: Iterable[Item]) -> list[Ceiling]:
    """Of each data set whose pairs are two ratings of one listener, and whose takes have mean ratings."""
    by_dataset: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_dataset[item.dataset].append(item)
    found = (_ceiling(name, own) for name, own in by_dataset.items())
    return [one for one in found if one is not None]


def _ceiling(dataset: str, items: Sequence[Item]) -> Ceiling | None:
    rated: dict[Audio, _Rated] = {
        item.takes[0]: _Rated(item.ratings["musicality"], int(item.about["raters"]))
        for item in items
        if "raters" in item.about
    }
    seen, unseen = [], []
    for item in items:
        if "better_rating" in item.about and all(take in rated for take in item.takes):
            (vote,) = item.votes.values()
            better, worse = (rated[take] for take in (item.takes if vote.choice == "a" else item.takes[::-1]))
            own = float(item.about["better_rating"]), float(item.about["worse_rating"])
            seen.append(_credit(better.mean, worse.mean))
            unseen.append(_credit(better.without(own[0]), worse.without(own[1])))
    return Ceiling(dataset, len(seen), sum(seen) / len(seen), sum(unseen) / len(unseen)) if seen else None


def _credit(better: float, worse: float) -> float:
    return 0.5 if better == worse else float(better > worse)


def ceiling_table(found: Sequence[Ceiling]) -> Table:
    rows = [[one.dataset, str(one.n), f"{100 * one.mean:.2f}", f"{100 * one.others:.2f}"] for one in found]
    notes = [
        "ACC in percent: what people's mean rating of each take gets of the same votes. A scorer can hardly do better."
    ]
    return Table("Ceilings", ["data set", "n", "mean rating", "mean of the others"], rows, notes=notes)
