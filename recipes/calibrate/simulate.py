"""Simulated studies: does the interval of a calibration's gain cover, and how often is a drift alarm false?

    python simulate.py gain 1000
    python simulate.py drift 1000

Votes follow P(a) = sigmoid(score difference + offset of a's generator - that of b's + what the annotator and the prompt
add for each generator). The gain of a study is what its fitted offsets change on 20,000 new votes on new prompts by new
annotators.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from cmi.rewardbench.analysis import drift
from cmi.rewardbench.analysis.calibrate import ScoredVotes, fit_offsets, measure_gain
from cmi.stats import wilson

TASTE = 0.5  # deviation of what an annotator, and a prompt, add to a generator


def draw_votes(
    rng: np.random.Generator, n: int, offsets: NDArray[np.float64], prompts: int, raters: int, skill: float = 1.0
) -> ScoredVotes:
    """Votes with scores of a model that knows `skill` of what people hear."""
    systems = len(offsets)
    prompt, rater = rng.integers(prompts, size=n), rng.integers(raters, size=n)
    first = rng.integers(systems, size=n)
    second = (first + rng.integers(1, systems, size=n)) % systems
    difference = rng.normal(0, 1, n)
    worth = offsets + rng.normal(0, TASTE, (raters, systems))[rater] + rng.normal(0, TASTE, (prompts, systems))[prompt]
    at = np.arange(n)
    eta = skill * difference + worth[at, first] - worth[at, second]
    outcome = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), 1, -1)
    names = [f"g{i}" for i in range(systems)]
    return ScoredVotes(names, first, second, difference, outcome, prompt, rater, raters, [""] * n)


def simulate_gain(studies: int) -> None:
    print("votes generators offsets  true gain  half width  covered (95 %)   gain told  loss told")
    for n, systems in ((30, 4), (60, 4), (100, 4), (100, 8), (250, 8)):
        for spread in (0.0, 0.5, 1.0):
            rng = np.random.default_rng(1000 * n + 10 * systems + round(2 * spread))
            covered, gains, halves, told, lost = 0, [], [], 0, 0
            for _ in range(studies):
                offsets = rng.normal(0, spread, systems)
                votes = draw_votes(rng, n, offsets, max(10, n // 2), max(5, n // 8))
                found = measure_gain(votes, shuffles=0)
                fitted = np.nan_to_num(fit_offsets(votes, np.ones(n, bool)).strengths)
                new = draw_votes(rng, 20_000, offsets, 5_000, 5_000)
                after = new.difference + fitted[new.first] - fitted[new.second]
                right = [np.mean(np.sign(values) == new.outcome) for values in (after, new.difference)]
                true = right[0] - right[1]
                assert found.low is not None
                assert found.high is not None
                covered += found.low <= true <= found.high
                told, lost = told + (found.low > 0), lost + (found.high < 0)
                gains.append(true)
                halves.append((found.high - found.low) / 2)
            low, high = wilson(covered, studies)
            print(
                f"{n:5} {systems:10} {spread:7.1f} {100 * np.mean(gains):+9.1f} {100 * np.mean(halves):10.1f}"
                f"   {100 * covered / studies:5.1f} ({100 * low:.1f}-{100 * high:.1f})"
                f"{100 * told / studies:10.1f} {100 * lost / studies:10.1f}",
                flush=True,
            )


def simulate_drift(studies: int) -> None:
    """A year of 100 votes a month, three months of them the baseline, looked at monthly; then a new generator comes."""
    drift.RESAMPLES = 100  # intervals are not looked at here
    print("skill after the baseline   alarm of all votes       alarm of a generator     months until the first")
    for skill in (1.0, 0.8, 0.5, 0.25, 0.0):
        rng = np.random.default_rng(round(100 * skill))
        everything, generators, months = 0, 0, []
        for _ in range(studies):
            offsets = np.zeros(6)  # the sixth comes after the baseline
            before = _as_votes(draw_votes(rng, 300, offsets[:5], 150, 40), 0)
            after = _as_votes(draw_votes(rng, 900, offsets, 450, 120, skill), 1000)
            found: set[bool] = set()
            for month in range(1, 10):
                seen = after.of(np.arange(900) < 100 * month)
                raised = {
                    one.group == "all" for one in drift._alarms("musicality", before, seen, None) if one.is_raised
                }
                if raised and not found:
                    months.append(month)
                found |= raised
            everything += True in found
            generators += False in found
        shares = [
            f"{100 * k / studies:5.1f} ({100 * wilson(k, studies).low:.1f}-{100 * wilson(k, studies).high:.1f})"
            for k in (everything, generators)
        ]
        print(
            f"{skill:10.2f} {shares[0]:>30} {shares[1]:>24} {np.mean(months) if months else float('nan'):12.1f}",
            flush=True,
        )


def _as_votes(votes: ScoredVotes, first_prompt: int) -> drift._Votes:
    credit = 0.5 + np.sign(votes.difference) * votes.outcome / 2
    names = [(votes.names[a], votes.names[b]) for a, b in zip(votes.first, votes.second, strict=True)]
    return drift._Votes(credit, votes.prompts + first_prompt, [""] * len(credit), names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["gain", "drift"])
    parser.add_argument("studies", type=int, help="in each row")
    given = parser.parse_args()
    {"gain": simulate_gain, "drift": simulate_drift}[given.what](given.studies)
