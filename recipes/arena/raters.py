"""How often the verdict on a rater of a MOS or ranking study is wrong: studies with raters of known kinds.

    python recipes/arena/raters.py

Each study has 12 raters, who all rate all pages: 6 careful, 4 noisy, 2 at random. The quality of a take on each axis
has a standard deviation of 0.8 categories; careful raters add noise of 0.7, noisy ones of 1.4. A ranking page has 4
takes.
"""

import argparse
from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from cmi.arena.statistics.inputs import AXES, Annotator
from cmi.arena.statistics.raters import compare_raters
from cmi.arena.store.ratings import CountedRating, RatedStimulus
from cmi.arena.store.trials import RatedKind
from cmi.report.tables import Table, print_tables

PAGES = (10, 20, 40, 80)
QUALITY = 0.8
RATERS = {"careful: noise 0.7": (6, 0.7), "noisy: noise 1.4": (4, 1.4), "at random": (2, None)}
TAKES: dict[RatedKind, int] = {"mos": 1, "ranking": 4}
VERDICTS = ("ok", "look", "can't tell yet")


def simulate(rng: np.random.Generator, kind: RatedKind, pages: int) -> tuple[list[str], list[CountedRating]]:
    """The kind of each rater of a study, and all ratings."""
    quality = rng.normal(0, QUALITY, (pages, len(AXES), TAKES[kind]))
    names = [name for name, (people, _) in RATERS.items() for _ in range(people)]
    found = []
    for person, name in enumerate(names):
        noise = RATERS[name][1]
        heard = (
            rng.uniform(-2.5, 2.5, quality.shape) if noise is None else quality + rng.normal(0, noise, quality.shape)
        )
        found += [_rate(f"p{person}", page, kind, values) for page, values in enumerate(heard)]
    return names, found


def _rate(person: str, page: int, kind: RatedKind, heard: NDArray[np.float64]) -> CountedRating:
    """`heard` by axis and take."""
    categories = np.clip(np.round(3 + heard), 1, 5).astype(int)
    answers = categories if kind == "mos" else 1 + (-heard).argsort(axis=1).argsort(axis=1)
    stimuli = tuple(RatedStimulus(f"s{take}", "take", "", "", "") for take in range(heard.shape[1]))
    trial, by_axis = f"t{page}", dict(zip(AXES, answers.tolist(), strict=True))
    about: tuple[str, str, str, str, None, dict[str, str]] = (trial, trial, "", "", None, {})
    return CountedRating(
        f"{person}-{page}", 1, "", person, *about, stimuli, tuple(range(len(stimuli))), by_axis, "", 0, 0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How often the verdict on a rater is wrong.")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rows = []
    for kind in TAKES:
        found: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        for pages in PAGES:
            for study in range(chosen.studies):
                names, rated = simulate(np.random.default_rng([chosen.seed, pages, study]), kind, pages)
                people = [Annotator(f"p{number}", None, "active", None) for number in range(len(names))]
                for name, row in zip(names, compare_raters(rated, kind, people), strict=True):
                    found[name, pages][row["verdict"]] += 1
        for name in RATERS:
            people_of_kind = found[name, PAGES[0]].total()
            rows += [
                [kind, name, str(people_of_kind), verdict]
                + [f"{100 * found[name, pages][verdict] / people_of_kind:.1f}" for pages in PAGES]
                for verdict in VERDICTS
            ]
    headers = ["study", "rater", "n", "verdict", *(f"{pages} pages (%)" for pages in PAGES)]
    print_tables([Table("Verdicts on raters", headers, rows, labels=4)])


if __name__ == "__main__":
    main()
