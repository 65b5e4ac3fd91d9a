"""How often the post-screening of MUSHRA's listeners is wrong: listeners of known kinds, screened as they rate.

    python recipes/arena/post_screening.py

A careful listener recognises the hidden reference on all but a few pages. One who does not hear the difference rates it
like any other take, and one who does not listen rates at random. Verdicts are those of `cmi arena stats`: after some of
40 pages, and after all pages of studies of 3, 6, 10 and 20.
"""

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.report.tables import Table, print_tables
from cmi.stats.listening import SEEN, post_screening

MOST = 40
AFTER = (1, 3, 6, 7, 13, 20, MOST)  # of MOST pages
WHOLE = (3, 6, 10, 20)
VERDICTS = ("passes", "fails", "can't tell yet")


class Listener(NamedTuple):
    """Scores of the hidden reference: uniform from `low` to 100, but on a share of pages missed."""

    low: int
    missed: float = 0.0


LISTENERS = {
    "careful: misses 2 % of pages": Listener(int(SEEN), 0.02),
    "careful: misses 5 %": Listener(int(SEEN), 0.05),
    "careful: misses 10 %": Listener(int(SEEN), 0.1),
    "hears no difference: 60 to 100": Listener(60),
    "at random: 0 to 100": Listener(0),
}


def draw_scores(rng: np.random.Generator, who: Listener, people: int) -> NDArray[np.float64]:
    """Scores of the hidden reference, by person and page."""
    scores = rng.integers(who.low, 101, (people, MOST)).astype(np.float64)
    scores[rng.random(scores.shape) < who.missed] = SEEN - 1
    return scores


def count_verdicts(scores: NDArray[np.float64], pages: int, is_complete: bool) -> Counter[str]:
    return Counter(post_screening(mine[:pages].tolist(), is_complete) for mine in scores)


def main() -> None:
    parser = argparse.ArgumentParser(description="How often the post-screening of MUSHRA's listeners is wrong.")
    parser.add_argument("--people", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    looks = [*((pages, pages == MOST) for pages in AFTER), *((pages, True) for pages in WHOLE)]
    rows = []
    for number, (name, who) in enumerate(LISTENERS.items()):
        scores = draw_scores(np.random.default_rng([chosen.seed, number]), who, chosen.people)
        found = [count_verdicts(scores, *look) for look in looks]
        rows += [
            [name, verdict, *(f"{100 * one[verdict] / chosen.people:.1f}" for one in found)] for verdict in VERDICTS
        ]
    headers = [*(f"{pages}/{MOST}" for pages in AFTER), *(f"{pages}/{pages}" for pages in WHOLE)]
    title = f"Verdicts (%) on {chosen.people} listeners of each kind, after so many of so many pages"
    print_tables([Table(title, ["listener", "verdict", *headers], rows, labels=2)])


if __name__ == "__main__":
    main()
