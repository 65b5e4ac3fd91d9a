"""Sample pairs of takes so that every two systems, every system and every prompt occur evenly.

One pair is drawn after the other. The next match (two systems) is the one with the fewest pairs for its weight so far,
and among equals the one whose systems have the fewest; the next pair of that match is from the prompt with the fewest
pairs so far, of the takes with the fewest. What is still equal is random. With equal weights this is the balanced
sampling; `cmi.pairs.uncertainty` gives the weights of the uncertain one.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from cmi.pairs.filters import GoodTake

Match = tuple[str, str]  # two systems, by name

MOST_USES = 1000  # of a take, that order takes within a prompt
FEWEST_CANDIDATES = 1000  # of a prompt that are looked at, if it has so many
CANDIDATES_PER_PAIR = 20  # of a prompt that are looked at for each pair wanted of it


class CandidatePair(NamedTuple):
    """Two takes of one prompt, as numbers of takes."""

    prompt: int
    first: int
    second: int
    match: Match


def list_candidates(
    takes: Sequence[GoodTake], same_system: bool, rng: random.Random, per_prompt: int | None = None
) -> list[CandidatePair]:
    """Return the possible pairs of each prompt; of a prompt with too many, a random sample."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(takes):
        groups[one.prompt].append(number)
    found: list[CandidatePair] = []
    names: dict[Match, Match] = {}  # one object for each, whatever the number of pairs
    for prompt, numbers in groups.items():
        possible = []
        for first, second in combinations(numbers, 2):
            a, b = sorted((takes[first].take.system, takes[second].take.system))
            if same_system or a != b:
                possible.append(CandidatePair(prompt, first, second, names.setdefault((a, b), (a, b))))
        found += possible if per_prompt is None or len(possible) <= per_prompt else rng.sample(possible, per_prompt)
    return found


def candidates_per_prompt(prompts: int, pairs: int | None, per_prompt: int | None) -> int | None:
    """Return how many candidates of a prompt are enough to choose from; None for all."""
    wanted = [per_prompt] if per_prompt else []
    if pairs:
        wanted.append(-(-pairs // max(1, prompts)))
    return max(FEWEST_CANDIDATES, CANDIDATES_PER_PAIR * min(wanted)) if wanted else None


class PairSampler:
    """Draws pairs evenly, and remembers what it drew before."""

    def __init__(
        self, rng: random.Random, per_prompt: int | None = None, weights: Mapping[Match, float] | None = None
    ) -> None:
        self._rng = rng
        self._per_prompt = per_prompt
        self._weights = weights
        self._matches: Counter[Match] = Counter()
        self._systems: Counter[str] = Counter()
        self._prompts: Counter[int] = Counter()
        self._uses: Counter[int] = Counter()  # of takes

    def draw(self, candidates: Iterable[CandidatePair], wanted: int | None = None) -> list[CandidatePair]:
        """Draw `wanted` of the candidates, or all if there are fewer."""
        heaps: defaultdict[Match, list[tuple[int, float, CandidatePair]]] = defaultdict(list)
        for one in candidates:
            heaps[one.match].append((self._cost(one), self._rng.random(), one))
        for heap in heaps.values():
            heapify(heap)
        if not heaps:
            return []
        matches = sorted(heaps)
        order = _MatchOrder(matches, self._weights, self._matches, self._systems, self._rng)
        drawn: list[CandidatePair] = []
        while (wanted is None or len(drawn) < wanted) and (place := order.next()) is not None:
            pair = self._pop(heaps[matches[place]])
            if pair is None:
                order.close(place)
                continue
            drawn.append(pair)
            order.count(place)
            self._matches[pair.match] += 1
            self._systems.update(pair.match)
            self._prompts[pair.prompt] += 1
            self._uses.update((pair.first, pair.second))
        return drawn

    def _pop(self, heap: list[tuple[int, float, CandidatePair]]) -> CandidatePair | None:
        """Take the cheapest pair. Costs only grow, so an entry is looked at again when it comes first."""
        while heap:
            cost, tie, pair = heap[0]
            if self._per_prompt is not None and self._prompts[pair.prompt] >= self._per_prompt:
                heappop(heap)
            elif (now := self._cost(pair)) > cost:
                heapreplace(heap, (now, tie, pair))
            else:
                heappop(heap)
                return pair
        return None

    def _cost(self, pair: CandidatePair) -> int:
        return self._prompts[pair.prompt] * MOST_USES + self._uses[pair.first] + self._uses[pair.second]


class _MatchOrder:
    """Which match comes next."""

    def __init__(
        self,
        matches: Sequence[Match],
        weights: Mapping[Match, float] | None,
        counts: Mapping[Match, int],
        systems: Mapping[str, int],
        rng: random.Random,
    ) -> None:
        names = sorted({name for match in matches for name in match})
        places = {name: place for place, name in enumerate(names)}
        self._first = np.array([places[a] for a, _ in matches])
        self._second = np.array([places[b] for _, b in matches])
        self._weights = np.array([1.0 if weights is None else weights[match] for match in matches])
        self._counts = np.array([float(counts.get(match, 0)) for match in matches])
        self._systems = np.array([float(systems.get(name, 0)) for name in names])
        self._tie = np.array([rng.random() for _ in matches])

    def next(self) -> int | None:
        load = (self._counts + 0.5) / self._weights  # half a pair, so that a greater weight comes first
        least = np.flatnonzero(load <= load.min() * (1 + 1e-12))
        if not np.isfinite(load[least[0]]):
            return None
        used = self._systems[self._first[least]] + self._systems[self._second[least]] + self._tie[least]
        return int(least[used.argmin()])

    def count(self, place: int) -> None:
        self._counts[place] += 1
        self._systems[self._first[place]] += 1
        self._systems[self._second[place]] += 1

    def close(self, place: int) -> None:
        self._counts[place] = np.inf


def choose_sides(
    pairs: Sequence[CandidatePair], takes: Sequence[GoodTake], rng: random.Random
) -> list[tuple[int, int]]:
    """Return the numbers of takes a and b of each pair: at random, and each system as often a as b.

    In each match either system is a in half of its pairs; an odd one is decided by the systems' other pairs.
    """
    leads: Counter[Match] = Counter()  # how much more often a match's first system was a
    as_a: Counter[str] = Counter()  # how much more often a system was a than b
    sides: dict[int, tuple[int, int]] = {}
    for number in rng.sample(range(len(pairs)), len(pairs)):
        pair = pairs[number]
        first, second = sorted((pair.first, pair.second), key=lambda take: takes[take].take.system)
        one, other = pair.match
        if one == other:
            is_swapped = rng.random() < 0.5
        else:
            lead = leads[pair.match] or as_a[one] - as_a[other]
            is_swapped = lead > 0 if lead else rng.random() < 0.5
            step = -1 if is_swapped else 1
            leads[pair.match] += step
            as_a.update({one: step, other: -step})
        sides[number] = (second, first) if is_swapped else (first, second)
    return [sides[number] for number in range(len(pairs))]
