"""How long the arena's dashboard waits for its numbers: the whole report against one plain bootstrap of one ranking.

    python benchmarks/arena_statistics.py [--votes 10000] [--systems 10] [--resamples 1000]

Synthetic votes, two to a pair, by 31 people. Measured, the best of three:
    report      everything: progress, agreement, screening, win rates, rankings by two models on two axes, covariates
    ranking     the rankings alone, with sandwich intervals
    plain       one ranking on one axis with bootstrap intervals, vote by vote: Bradley-Terry by Zermelo's iteration
                on each draw, from a hundredth of the draws, times 100
"""

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

from cmi.arena.statistics import report
from cmi.arena.statistics.ranking import ranking
from cmi.arena.store.study import CountedVote, Side

PEOPLE = 31
FRACTION = 100
ITERATIONS = 50


def synthetic(count: int, systems: int) -> list[CountedVote]:
    rng = random.Random(0)
    votes = []
    for i in range(count // 2):
        a, b = rng.sample(range(systems), 2)
        levels, lengths = [rng.gauss(-16, 3) for _ in "ab"], [rng.uniform(20, 200) for _ in "ab"]
        for person in rng.sample(range(PEOPLE), 2):
            sides: list[Side] = ["a" if rng.random() < 1 / (1 + math.exp(0.2 * (a - b))) else "b" for _ in range(2)]
            sure = [rng.randint(1, 5) for _ in range(2)]
            about = (f"p{i}", "ordinary", None, "text", f"s{a}", f"s{b}", sides[0], sure[0], sides[1], sure[1])
            when = (rng.gammavariate(3, 20), 60.0 * i, rng.random() < 0.5, None)
            votes.append(
                CountedVote(f"v{i}-{person}", f"h{person}", *about, *when, lengths[0], lengths[1], levels[0], levels[1])
            )
    return votes


def plain_bootstrap(votes: Sequence[CountedVote], resamples: int) -> list[tuple[float, float]]:
    """The intervals of all strengths, as one would first write it."""
    rng = random.Random(0)
    names = sorted({vote.system_a for vote in votes} | {vote.system_b for vote in votes})
    draws = []
    for _ in range(resamples):
        wins: Counter[tuple[str, str]] = Counter()
        for vote in rng.choices(votes, k=len(votes)):
            pair = (vote.system_a, vote.system_b)
            wins[pair if vote.musicality == "a" else pair[::-1]] += 1
        worth = dict.fromkeys(names, 1.0)
        for _ in range(ITERATIONS):
            for one in names:
                met = [(wins[one, o] + wins[o, one]) / (worth[one] + worth[o]) for o in names if o != one]
                worth[one] = sum(wins[one, other] for other in names) / sum(met)
        mean = sum(math.log(value) for value in worth.values()) / len(names)
        draws.append([math.log(worth[name]) - mean for name in names])
    columns = [sorted(column) for column in zip(*draws, strict=True)]
    return [(column[int(0.025 * resamples)], column[int(0.975 * resamples)]) for column in columns]


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    taken = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=10_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--resamples", type=int, default=1000)
    arguments = parser.parse_args()
    votes = synthetic(arguments.votes, arguments.systems)
    wanted = [(pair, "text", "ordinary", 2) for pair in dict.fromkeys(vote.pair for vote in votes)]
    people = [(f"h{i}", None, "active", None) for i in range(PEOPLE)]
    whole = seconds(lambda: report(votes, wanted, people, resamples=arguments.resamples))
    rankings = seconds(lambda: ranking(votes, 20))
    plain = FRACTION * seconds(lambda: plain_bootstrap(votes, max(1, arguments.resamples // FRACTION)), repeat=1)
    print(f"{len(votes):,} votes, {arguments.systems} systems, {arguments.resamples:,} resamples")
    print(f"report     {whole:8.2f} s")
    print(f"ranking    {rankings:8.2f} s   2 axes, 2 models, sandwich intervals")
    print(
        f"plain      {plain:8.2f} s   1 axis, 1 model, bootstrap intervals: {plain / (rankings / 4):,.0f} x one of ours"
    )


if __name__ == "__main__":
    main()
