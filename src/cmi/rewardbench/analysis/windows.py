"""How much do scores change with how much is heard? Tables 18 and 19 of the paper; Table 17 is the one by duration.

Two runs of one model that differ in the window alone are compared take by take, in bins of the takes' length: the root
mean squared difference of their scores (RMSE) and their linear correlation (LCC), beside the scores' own spread.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.report.tables import Table
from cmi.rewardbench.items import Item
from cmi.rewardbench.runs.released_results import DURATION_BINS, duration_bin
from cmi.rewardbench.runs.run_folder import System
from cmi.rewardbench.runs.sources import Source
from cmi.rewardbench.tasks import key
from cmi.stats import pearson
from cmi.take import Score, Take

OVERALL = "overall"


class Change(NamedTuple):
    """Scores of one axis under two windows, for takes of one length."""

    a: str
    b: str
    axis: str
    duration: str
    n: int
    rmse: float
    lcc: float
    spread: float  # standard deviation under b


def window_changes(source: Source) -> list[Change]:
    """Every two runs of a model that differ in the window alone."""
    return [
        change
        for a, b in combinations(source.systems, 2)
        if (a.about.model, a.about.prompt) == (b.about.model, b.about.prompt) and a.about.window != b.about.window
        for change in _changes(source, a, b)
    ]


def _changes(source: Source, a: System, b: System) -> Iterator[Change]:
    rows = list(_rows(source, a, b))
    for i, axis in enumerate(Score._fields):
        for name in (*(name for name, _, _ in DURATION_BINS), OVERALL):
            inside = [(x[i], y[i]) for bin_, x, y in rows if name in (OVERALL, bin_)]
            pairs = np.array([pair for pair in inside if not any(map(math.isnan, pair))], np.float64)
            if len(pairs) > 1:
                yield _change((a.about.name, b.about.name, axis, name), pairs)


def _change(about: tuple[str, str, str, str], pairs: NDArray[np.float64]) -> Change:
    x, y = pairs.T
    return Change(*about, len(x), float(np.sqrt(np.mean((x - y) ** 2))), pearson(x, y), float(y.std()))


def _rows(source: Source, a: System, b: System) -> Iterator[tuple[str | None, Score, Score]]:
    """Each take that both scored, once: its bin and its two scores."""
    seen: set[Take] = set()
    for item in source.items:
        for place, take in enumerate(item.asked):
            x, y = (_at(system, item, place) for system in (a, b))
            if x is not None and y is not None and take not in seen:
                seen.add(take)
                heard = source.heard.get(key(item), ())
                one = heard[place] if place < len(heard) else None
                yield duration_bin([None if one is None else one.seconds]), x, y


def _at(system: System, item: Item, place: int) -> Score | None:
    scores = system.scores.get(key(item), ())
    return scores[place] if place < len(scores) else None


def windows_table(changes: Sequence[Change]) -> Table:
    rows = [
        [
            *(one.a, one.b, one.axis, one.duration, str(one.n)),
            *(f"{one.rmse:.4f}", f"{one.lcc:.4f}", f"{one.spread:.4f}"),
        ]
        for one in changes
    ]
    headers = ["window", "against", "axis", "seconds", "n", "RMSE", "LCC", "spread"]
    notes = ["Spread: the standard deviation of the scores under the second window."]
    return Table("Scores under other windows (Tables 18, 19)", headers, rows, labels=4, notes=notes)
