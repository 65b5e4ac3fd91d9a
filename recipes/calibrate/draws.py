"""How much do 30, 60 or 100 votes give back? Fit offsets to so many votes of a run, test them on all the others.

    python published_scores.py TuneJury/data/labels/ma_postcut_scored.csv runs/tunejury
    python draws.py runs/tunejury 500

Each draw takes its votes at random. The gain is the accuracy on the other votes with the offsets minus that without;
'covers' is how often the interval that the drawn votes alone give, as `cmi calibrate` prints it, holds that gain.
"""

import argparse
from pathlib import Path

import numpy as np

from cmi.rewardbench.analysis.calibrate import fit_offsets, measure_gain, scored_votes
from cmi.rewardbench.runs.run_folder import read_run
from cmi.stats import Interval, percentile_interval

SIZES = (10, 30, 60, 100, 250)


def main(folder: Path, draws: int) -> None:
    run = read_run(folder)
    votes = scored_votes(run.items, run.systems[0].scores, "musicality")
    n = len(votes.outcome)
    rng = np.random.default_rng(0)
    print(f"{run.systems[0].about.name}: {n} votes, {draws} draws")
    print("votes  before  after  gain  95 % of draws  gains above 0  told a gain  told a loss  covers")
    for size in SIZES:
        rows = []
        for _ in range(draws):
            order = rng.permutation(n)
            drawn, rest = order[:size], order[size:]
            chosen = np.isin(np.arange(n), drawn)
            offsets = np.nan_to_num(fit_offsets(votes, chosen).strengths)
            after = votes.difference + offsets[votes.first] - offsets[votes.second]
            right = [float(np.mean(np.sign(one[rest]) == votes.outcome[rest])) for one in (votes.difference, after)]
            few = votes._replace(**{name: getattr(votes, name)[drawn] for name in COLUMNS})
            found = measure_gain(few, shuffles=0)
            ends = Interval(found.low or 0.0, found.high or 0.0)  # too few clusters for one: no gain is told
            gain = right[1] - right[0]
            rows.append((*right, gain, gain > 0, ends.low > 0, ends.high < 0, ends.low <= gain <= ends.high))
        before, after, gain, positive, told, lost, covers = np.mean(rows, axis=0)
        low, high = percentile_interval([row[2] for row in rows])
        shown = f"{100 * low:+.1f} to {100 * high:+.1f}"
        print(
            f"{size:5} {100 * before:7.1f} {100 * after:6.1f} {100 * gain:+5.1f}   {shown}"
            f" {100 * positive:12.0f} %{100 * told:10.0f} %{100 * lost:10.0f} %{100 * covers:8.0f} %",
            flush=True,
        )


COLUMNS = ("first", "second", "difference", "outcome", "prompts", "raters")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a folder of `cmi rewardbench run`, or of published_scores.py")
    parser.add_argument("draws", type=int)
    given = parser.parse_args()
    main(given.run, given.draws)
