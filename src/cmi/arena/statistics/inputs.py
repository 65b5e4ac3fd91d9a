"""What the statistics are made of: votes, the votes that were wanted, the people, and which votes count for what.

Gold pairs have a known answer and were chosen to be easy; a hidden repeat is the same person on the same pair again.
Both tell of the annotator, not of the music: taken as votes, gold would raise agreement and rank the systems it was
made from, and a repeat would count one person's agreement with themselves. `study_votes` leaves both out, and all that
speaks of takes, axes or systems is made from it; screening is made from all votes.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cmi.arena.store.votes_view import CountedVote, Side
from cmi.stats import FEWEST_CLUSTERS, Interval, bootstrap, share_interval, wilson

Axis = Literal["alignment", "musicality"]
AXES: tuple[Axis, ...] = ("alignment", "musicality")

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


class Wanted(NamedTuple):
    """One pair of the project and how many votes it should get."""

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
    """A number 0.. for each name, in the order of the names."""
    place = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([place[name] for name in names], np.int64)


def interval_over_people(
    people: Sequence[str], happened: Sequence[bool], resamples: int, seed: int
) -> tuple[Interval, str]:
    """Of a share over votes: people drawn with replacement or, where there are too few of them, Wilson's over votes.

    The second value says which: 'people' or 'votes'.
    """
    by_person = codes(people)
    n = np.bincount(by_person).astype(np.float64)
    if len(n) < FEWEST_CLUSTERS:
        return wilson(sum(happened), len(happened)), "votes"
    hits = np.bincount(by_person, np.asarray(happened, np.float64))
    draws = bootstrap(lambda weights: (weights @ hits) / (weights @ n), np.arange(len(n)), resamples, seed)
    return share_interval(sum(happened) / len(happened), draws, len(n)), "people"
