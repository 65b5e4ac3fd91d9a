"""Inputs of the statistics, and which votes count for what.

Gold pairs and hidden repeats measure the annotator, not the music: gold pairs are chosen to be easy and would raise
agreement, and a repeat would count a person's agreement with themselves. `study_votes` leaves both out; statistics of
takes, axes and systems use it, screening uses all votes.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cmi.arena.store.study import CountedVote, Side
from cmi.stats import FEWEST_CLUSTERS, Interval, bootstrap, share_interval, wilson

Axis = Literal["alignment", "musicality"]
AXES: tuple[Axis, ...] = ("alignment", "musicality")

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


class Wanted(NamedTuple):
    pair: str
    modality: str
    kind: str
    votes: int


class Annotator(NamedTuple):
    person: str
    name: str | None
    state: str
    quota: int | None


def study_votes(votes: Iterable[CountedVote]) -> list[CountedVote]:
    """First votes on ordinary pairs."""
    return [vote for vote in votes if vote.kind == "ordinary" and vote.repeat_of is None]


def choice(vote: CountedVote, axis: Axis) -> Side:
    return vote.alignment if axis == "alignment" else vote.musicality


def confidence(vote: CountedVote, axis: Axis) -> int:
    return vote.alignment_confidence if axis == "alignment" else vote.musicality_confidence


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


def codes(names: Sequence[str]) -> NDArray[np.int64]:
    """Number the names in alphabetical order."""
    return np.unique(np.array(names, str), return_inverse=True)[1].astype(np.int64)


def interval_over_people(
    people: Sequence[str], happened: Sequence[bool], resamples: int, seed: int
) -> tuple[Interval, str]:
    """Interval of a share of votes: bootstrap over 'people' or, with too few of them, Wilson's over 'votes'."""
    by_person = codes(people)
    n = np.bincount(by_person).astype(np.float64)
    if len(n) < FEWEST_CLUSTERS:
        return wilson(sum(happened), len(happened)), "votes"
    hits = np.bincount(by_person, np.asarray(happened, np.float64))
    draws = bootstrap(lambda weights: (weights @ hits) / (weights @ n), np.arange(len(n)), resamples, seed)
    return share_interval(sum(happened) / len(happened), draws, len(n)), "people"
