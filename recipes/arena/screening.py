"""How often the arena's screening is wrong: studies with annotators of known kinds, screened as they vote.

    python recipes/arena/screening.py --studies 200 --checks 0.05

Each study has 20 annotators. `--checks` is the share of gold pairs, and of hidden repeats, among the views of each. An
ordinary pair has three votes. Verdicts are those of `cmi.arena.statistics` after 50, 100, 200 and 400 votes; `ever` is
the share of annotators who had a verdict at some moment, looked at after every 25 votes.
"""

import argparse
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.arena.statistics.inputs import AXES
from cmi.arena.statistics.screening import screening
from cmi.arena.store.study import CountedVote, Side
from cmi.report.tables import Table, print_tables

AFTER = (50, 100, 200, 400)
EVERY = 25
Answers = NDArray[np.int64]  # 1 for b, by axis

VERDICTS = ("ok", "look", "can't tell yet")


class Kind(NamedTuple):
    """How many there are in a study, and how often they answer rightly; `copied`: one answer for both questions."""

    people: int
    hears: float
    copied: bool = False
    always_first: bool = False


KINDS = {
    "careful: right in 90 %": Kind(10, 0.9),
    "as expected: right in 80 %": Kind(4, 0.8),
    "half attentive: right in 65 %": Kind(2, 0.65),
    "tosses a coin for each question": Kind(2, 0.5),
    "tosses one coin for both": Kind(1, 0.5, copied=True),
    "always the first take": Kind(1, 0.5, always_first=True),
}


class _Shown(NamedTuple):
    view: str
    person: str
    pair: str
    swapped: bool
    kind: str = "ordinary"
    gold: dict[str, str] | None = None
    repeat_of: str | None = None


def simulate(rng: np.random.Generator, checks: float, votes_each: int) -> list[tuple[str, list[CountedVote]]]:
    """The kind and the votes of each annotator of a study."""
    truth = rng.integers(2, size=(round(20 * votes_each / 3), 2))  # of ordinary pairs, by axis
    people = [name for name, kind in KINDS.items() for _ in range(kind.people)]
    return [
        (name, _vote_on(rng, f"p{number}", KINDS[name], truth, checks, votes_each))
        for number, name in enumerate(people)
    ]


def _vote_on(
    rng: np.random.Generator, person: str, kind: Kind, truth: Answers, checks: float, votes_each: int
) -> list[CountedVote]:
    found: list[CountedVote] = []
    once: list[tuple[CountedVote, Answers]] = []  # ordinary pairs that were not repeated yet
    order = iter(rng.permutation(len(truth)))
    while len(found) < votes_each:
        drawn, view = rng.random(), f"{person}-{len(found)}"
        if drawn < checks:
            known = rng.integers(2, size=2)
            gold: dict[str, str] = {axis: _side(answer) for axis, answer in zip(AXES, known, strict=True)}
            found.append(_vote(rng, kind, known, _Shown(view, person, view, bool(rng.integers(2)), "gold", gold)))
        elif drawn < 2 * checks and len(once) > 5:
            first, known = once.pop(0)
            again = _Shown(view, person, first.pair, not first.swapped, repeat_of=first.view)
            found.append(_vote(rng, kind, known, again))
        else:
            pair = next(order)
            found.append(_vote(rng, kind, truth[pair], _Shown(view, person, f"{pair}", bool(rng.integers(2)))))
            once.append((found[-1], truth[pair]))
    return found


def _vote(rng: np.random.Generator, kind: Kind, known: Answers, shown: _Shown) -> CountedVote:
    hit = rng.random(2) < kind.hears
    sides = [_side(answer if heard else 1 - answer) for answer, heard in zip(known, hit, strict=True)]
    if kind.copied:
        sides[1] = sides[0]
    if kind.always_first:
        sides = [_side(shown.swapped)] * 2
    sure = rng.integers(1, 6, 2).tolist()
    about: dict[str, Any] = {"modality": "text", "system_a": "x", "system_b": "y", "created": 0.0}
    about |= {"seconds": rng.uniform(30, 90), "seconds_a": 30.0, "seconds_b": 30.0, "lufs_a": None, "lufs_b": None}
    about |= dict(zip(AXES, sides, strict=True))
    about |= {f"{axis}_confidence": confidence for axis, confidence in zip(AXES, sure, strict=True)}
    return CountedVote(**shown._asdict(), **about)


def _side(is_b: int) -> Side:
    return "b" if is_b else "a"


def main() -> None:
    parser = argparse.ArgumentParser(description="How often the arena's screening is wrong.")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--checks", type=float, default=0.05, help="share of gold pairs, and of repeats")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    verdicts: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    ever: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for study in range(chosen.studies):
        crowd = simulate(np.random.default_rng([chosen.seed, study]), chosen.checks, AFTER[-1])
        had: defaultdict[int, set[str]] = defaultdict(set)
        for votes in range(EVERY, AFTER[-1] + 1, EVERY):
            rows = screening([one for _, mine in crowd for one in mine[:votes]], [], 20)["people"]
            for row in rows:
                person = int(row["person"].removeprefix("p"))
                had[person].add(row["verdict"])
                if votes in AFTER:
                    verdicts[crowd[person][0], votes][row["verdict"]] += 1
        for person, (name, _) in enumerate(crowd):
            ever[name].update(had[person])
    rows = []
    for name in KINDS:
        people = verdicts[name, AFTER[0]].total()
        for verdict in VERDICTS:
            shares = [verdicts[name, votes][verdict] / people for votes in AFTER] + [ever[name][verdict] / people]
            rows.append([name, str(people), verdict, *(f"{100 * share:.1f}" for share in shares)])
    headers = ["annotator", "n", "verdict", *(f"after {votes} (%)" for votes in AFTER), "ever (%)"]
    title = f"{100 * chosen.checks:g} % gold pairs and {100 * chosen.checks:g} % repeats"
    print_tables([Table(title, headers, rows, labels=3)])


if __name__ == "__main__":
    main()
