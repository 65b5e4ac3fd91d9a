"""Simulated studies: how often a predicted number of votes suffices, and what choosing pairs by uncertainty saves.

    python benchmarks/arena_votes.py needed [--studies 400]
    python benchmarks/arena_votes.py choice [--studies 100] [--uneven]

needed  A study of 5 systems has 300 votes of 12 people, three on each pair of takes. Each pair has a true preference;
        a person votes by it with probability 0.7, and else at random. The report predicts how many votes narrow every
        score's interval to ± the margin. Then a new study of so many votes, with people and pairs in proportion, is
        simulated. Of neighbours whose order is open, it says how often they are apart or alike then.
choice  Studies of 8 systems with 60 pairs of takes for each two systems and one vote on each pair. Strengths are normal
        with a standard deviation of 0.8 on both axes (correlation 0.7). With --uneven there are 120 pairs for each two
        of the first four systems, and 24 for each two others. Pairs are given out in random order, or by the weights of
        `cmi.arena.statistics.choosing`, made anew after every 25 votes. Both see the same systems, pairs and votes.

Intervals are 95 %, over studies.
"""

import argparse
import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from rich.console import Console

from cmi.arena.statistics.choosing import pair_weights
from cmi.arena.statistics.inputs import AXES
from cmi.arena.statistics.needed import log_odds, votes_needed
from cmi.arena.statistics.ranking import compared
from cmi.arena.store.pairs import draw_lot
from cmi.arena.store.study import CountedVote
from cmi.report.tables import Table, print_tables
from cmi.stats import logistic, wilson
from cmi.stats.ranking import bradley_terry, fit_with_prior

MARGIN = 0.05
KNOWING = 0.7
STRENGTHS = np.array([0.4, 0.15, 0.0, -0.1, -0.45])
CHECKED = (100, 200, 400, 800)  # votes
SYSTEMS, TAKES, COMMON, RARE, SPREAD, EVERY = 8, 60, 120, 24, 0.8, 25


def make_vote(person: str, pair: str, systems: tuple[str, str], choices: tuple[str, str]) -> CountedVote:
    fields: dict[str, Any] = {
        "view": f"{person} {pair}",
        "kind": "ordinary",
        "gold": None,
        "modality": "text",
        "seconds": 60.0,
    }
    fields |= {"system_a": systems[0], "system_b": systems[1], "created": 0.0, "swapped": False, "repeat_of": None}
    fields |= {"seconds": 60.0, "seconds_a": 30.0, "seconds_b": 30.0, "lufs_a": None, "lufs_b": None}
    fields |= {"alignment": choices[0], "musicality": choices[1], "alignment_confidence": 3, "musicality_confidence": 3}
    return CountedVote(person=person, pair=pair, **fields)


def simulate(seed: int, votes: int, people: int, each: int = 3) -> list[CountedVote]:
    """A study of STRENGTHS, the pairs of which have a true preference each."""
    rng = np.random.default_rng(seed)
    found = []
    for pair in range(math.ceil(votes / each)):
        i, j = rng.choice(len(STRENGTHS), 2, replace=False)
        won = logistic(STRENGTHS[i] - STRENGTHS[j])
        truth = rng.random(2) < (won - (1 - KNOWING) / 2) / KNOWING
        for person in rng.choice(people, min(each, people), replace=False):
            for_a = np.where(rng.random(2) < KNOWING, truth, rng.random(2) < 0.5)
            choices = ("a" if for_a[0] else "b", "a" if for_a[1] else "b")
            found.append(make_vote(f"h{person}", f"p{pair}", (f"s{i}", f"s{j}"), choices))
    return found[:votes]


def needed(studies: int) -> Table:
    keys = [(what, kind) for what in ("score", "neighbours") for kind in ("needed", "safe")]
    counts: dict[tuple[str, str], list[bool]] = {key: [] for key in keys}
    predicted: dict[tuple[str, str], list[int]] = {key: [] for key in keys}
    for study in range(studies):
        now = votes_needed(simulate(study, 300, 12), 20, MARGIN)
        for kind in ("needed", "safe"):
            score = max(now["scores"], key=lambda row: row[kind])
            later = _later(studies + study, score[kind])
            row = next(r for r in later["scores"] if (r["axis"], r["system"]) == (score["axis"], score["system"]))
            counts["score", kind].append(row["half_width"] <= log_odds(MARGIN))
            predicted["score", kind].append(score[kind])
            is_open = [row for row in now["neighbours"] if row["state"] == "open"]
            if is_open:
                pair = is_open[study % len(is_open)]
                later = _later(2 * studies + study, pair[kind])
                counts["neighbours", kind].append(_are_settled(later, pair))
                predicted["neighbours", kind].append(pair[kind])
    rows = []
    for (what, kind), held in counts.items():
        low, high = wilson(sum(held), len(held))
        spread = np.percentile(predicted[what, kind], (10, 50, 90))
        rows.append(
            [what, kind, str(len(held)), f"{100 * np.mean(held):.1f}", f"{100 * low:.1f} – {100 * high:.1f}"]
            + [f"{votes:,.0f}" for votes in spread]
        )
    headers = ["of", "number", "studies", "sufficed (%)", "95 %", "10 %", "median", "90 %"]
    title = f"Predicted after 300 votes of 12 people, for ±{100 * MARGIN:g} points"
    return Table(title, headers, rows, labels=2)


def _later(seed: int, votes: int) -> dict[str, Any]:
    return votes_needed(simulate(seed, votes, round(12 * votes / 300)), 20, MARGIN)


def _are_settled(later: dict[str, Any], pair: dict[str, Any]) -> bool:
    """Whether the two systems are apart or alike in another study, neighbours there or not."""
    names = pair["system"], pair["next"]
    rows = [row for row in later["neighbours"] if row["axis"] == pair["axis"]]
    order = [rows[0]["system"], *(row["next"] for row in rows)]
    first, last = sorted(map(order.index, names))
    between = rows[first:last]
    return any(row["state"] == "apart" for row in between) or all(row["state"] == "alike" for row in between)


def choice(studies: int, is_uneven: bool) -> list[Table]:
    ways = {"random": False, "adaptive": True}
    found = {way: [_run_study(seed, flag, is_uneven) for seed in range(studies)] for way, flag in ways.items()}
    tables = []
    for name, title in (
        ("wrong", "Pairs of systems in the wrong order (%), both axes"),
        ("half", "Mean half width of a score's interval, log odds"),
        ("widest", "Widest half width of a score's interval, log odds"),
        ("error", "Root mean square error of a score, log odds"),
    ):
        values = {way: np.array([run[name] for run in runs]) for way, runs in found.items()}
        values["difference"] = values["adaptive"] - values["random"]
        rows = [[f"{votes:,}", *(_mean(one[:, at]) for one in values.values())] for at, votes in enumerate(CHECKED)]
        tables.append(Table(f"{title}, {studies} studies", ["votes", *values], rows))
    return tables


def _mean(values: np.ndarray) -> str:
    half = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():.3f} ± {half:.3f}"


def _run_study(seed: int, is_adaptive: bool, is_uneven: bool) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    first = rng.normal(0, SPREAD, SYSTEMS)
    strengths = np.stack([first, 0.7 * first + math.sqrt(1 - 0.49) * rng.normal(0, SPREAD, SYSTEMS)])
    names = [f"s{i:02d}" for i in range(SYSTEMS)]
    left = {
        f"{i} {j} {take}": (i, j)
        for i, j in combinations(range(SYSTEMS), 2)
        for take in range((COMMON if j < SYSTEMS / 2 else RARE) if is_uneven else TAKES)
    }
    answers = {pair: rng.random(2) for pair in left}
    lots = {pair: draw_lot(seed, pair) for pair in left}
    votes: list[CountedVote] = []
    found: dict[str, list[float]] = {"wrong": [], "half": [], "widest": [], "error": []}
    while len(votes) < CHECKED[-1]:
        if is_adaptive and votes and len(votes) % EVERY == 0:
            weights = pair_weights(votes, [(names[i], names[j]) for i, j in left.values()])
            lots = {pair: draw_lot(seed, pair, weights[names[i], names[j]]) for pair, (i, j) in left.items()}
        pair = min(left, key=lots.__getitem__)
        i, j = left.pop(pair)
        for_a = answers[pair] < logistic(strengths[:, i] - strengths[:, j])
        choices = ("a" if for_a[0] else "b", "a" if for_a[1] else "b")
        votes.append(make_vote(f"h{len(votes) % 30}", pair, (names[i], names[j]), choices))
        if len(votes) in CHECKED:
            for key, value in _assess(votes, strengths).items():
                found[key].append(value)
    return found


def _assess(votes: list[CountedVote], strengths: np.ndarray) -> dict[str, float]:
    field = compared(votes)
    places = np.array([int(name[1:]) for name in field.systems])  # of those with a vote
    wrong, half, error = [], [], []
    for axis, true in zip(AXES, strengths[:, places], strict=True):
        fitted, _ = fit_with_prior(bradley_terry, field.comparisons(axis))
        for i, j in combinations(range(len(places)), 2):
            wrong.append(100.0 * ((fitted.strengths[i] > fitted.strengths[j]) != (true[i] > true[j])))
        half += [(value.high - value.low) / 2 for value in map(fitted.strength, range(len(places)))]
        error.append(np.mean((fitted.strengths - (true - true.mean())) ** 2))
    root = float(np.mean(error) ** 0.5)
    return {"wrong": float(np.mean(wrong)), "half": float(np.mean(half)), "widest": max(half), "error": root}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["needed", "choice"])
    parser.add_argument("--studies", type=int)
    parser.add_argument("--uneven", action="store_true", help="far more pairs of some systems than of others")
    arguments = parser.parse_args()
    work: dict[str, Callable[[], list[Table]]] = {
        "needed": lambda: [needed(arguments.studies or 400)],
        "choice": lambda: choice(arguments.studies or 100, arguments.uneven),
    }
    print_tables(work[arguments.what](), Console(width=140))


if __name__ == "__main__":
    main()
