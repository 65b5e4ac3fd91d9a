"""Votes made of nothing, and studies in which everything is known: the systems' strengths and the annotators' noise."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from cmi.arena.store.study import CountedVote

MODALITIES = ("text", "text+lyrics")
CONFIDENCES = ("alignment_confidence", "musicality_confidence")


class Study(NamedTuple):
    votes: list[CountedVote]
    wanted: list[tuple[str, str, str, int]]
    people: list[tuple[str, str | None, str, int | None]]


@pytest.fixture(scope="session")
def vote() -> Callable[..., CountedVote]:
    def make(person="ann", pair="p1", alignment="a", musicality="a", **fields) -> CountedVote:
        about = {"view": f"{person} {pair} {fields.get('repeat_of', '')}", "kind": "ordinary", "gold": None}
        about |= {"modality": "text", "system_a": "x", "system_b": "y", "alignment_confidence": 3}
        about |= {"musicality_confidence": 3, "seconds": 60.0, "created": 0.0, "swapped": False, "repeat_of": None}
        about |= {"seconds_a": 30.0, "seconds_b": 30.0, "lufs_a": -14.0, "lufs_b": -14.0}
        return CountedVote(person=person, pair=pair, alignment=alignment, musicality=musicality, **(about | fields))

    return make


@pytest.fixture(scope="session")
def simulate(vote) -> Callable[..., Study]:
    """A study of which the statistics are known.

    Each pair has a true preference on each axis. An annotator votes by it with probability `knowing`, and else tosses a
    coin. The true preference is drawn such that a vote is for a with the probability 1 / (1 + exp(-(difference of the
    strengths))), which is possible while that lies within (1 +- knowing) / 2. Then
        P(two votes agree) = (1 + knowing ** 2) / 2,   alpha = knowing ** 2.
    """

    def run(seed: int, strengths: Sequence[float], knowing=0.7, pairs=200, people=12, votes_each=3) -> Study:
        rng = np.random.default_rng(seed)
        systems = rng.random((pairs, len(strengths))).argsort(axis=1)[:, :2]
        persons = rng.random((pairs, people)).argsort(axis=1)[:, :votes_each]
        won = 1 / (1 + np.exp(np.diff(np.asarray(strengths)[systems], axis=1)))
        truth = rng.random((pairs, 2)) < (won - (1 - knowing) / 2) / knowing  # (pairs, axes)
        known, tossed = rng.random((2, pairs, votes_each, 2))
        for_a = np.where(known < knowing, truth[:, None], tossed < 0.5)
        sure, swapped = rng.integers(1, 6, (pairs, votes_each, 2)), rng.random((pairs, votes_each)) < 0.5
        votes = []
        for p, k in np.ndindex(pairs, votes_each):
            names = {"system_a": f"s{systems[p, 0]}", "system_b": f"s{systems[p, 1]}", "modality": MODALITIES[p % 2]}
            choices = ["a" if chosen else "b" for chosen in for_a[p, k]]
            confidences = dict(zip(CONFIDENCES, sure[p, k].tolist(), strict=True))
            about = {"swapped": bool(swapped[p, k]), "created": 60.0 * len(votes)}
            votes.append(vote(f"h{persons[p, k]}", f"p{p}", *choices, **names, **confidences, **about))
        wanted = [(f"p{p}", MODALITIES[p % 2], "ordinary", votes_each) for p in range(pairs)]
        return Study(votes, wanted, [(f"h{person}", None, "active", None) for person in range(people)])

    return run
