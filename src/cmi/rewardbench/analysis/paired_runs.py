"""Compare two runs of one model that differ only in the window or in whether the prompt is given.

Windows (Tables 18 and 19 of the paper; Table 17 is the one by duration)
    Scores under two windows are compared take by take, in bins of the takes' length: the root mean squared difference
    (RMSE) and the linear correlation (LCC), beside the spread of the scores.

Context (Table 14)
    A run with `--without-prompt` is compared with the same model's run with prompts, by modality, pair by pair. The
    paper trained a model for each case: its numbers show what can be learnt, ours how one model uses prompts.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product, zip_longest
from typing import NamedTuple

import numpy as np

from cmi.report.numbers import number, percent, signed
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.cells import RewardCell, Versus
from cmi.rewardbench.evaluation.tables import difference_cells, read_published
from cmi.rewardbench.runs.released_results import DURATION_BINS, duration_bin
from cmi.rewardbench.runs.run_folder import System
from cmi.rewardbench.runs.sources import Source, by_modality
from cmi.rewardbench.tasks import MUSICALITY_PREFERENCE, Protocol, key
from cmi.stats import pearson
from cmi.take import Score, Take

OVERALL = "overall"


class WindowChange(NamedTuple):
    """Scores of one axis under two windows, for takes of one length."""

    a: str
    b: str
    axis: str
    duration: str
    n: int
    rmse: float
    lcc: float
    spread: float  # standard deviation under b


def window_changes(source: Source) -> list[WindowChange]:
    """Compare every two runs of a model that differ only in the window."""
    return [
        change
        for a, b in combinations(source.systems, 2)
        if (a.about.model, a.about.prompt) == (b.about.model, b.about.prompt) and a.about.window != b.about.window
        for change in _changes(source, a, b)
    ]


def _changes(source: Source, a: System, b: System) -> Iterator[WindowChange]:
    rows = list(_rows(source, a, b))
    for i, axis in enumerate(Score._fields):
        for name in (*(name for name, _, _ in DURATION_BINS), OVERALL):
            inside = [(x[i], y[i]) for bin_, x, y in rows if name in (OVERALL, bin_)]
            pairs = np.array([pair for pair in inside if not any(map(math.isnan, pair))], np.float64)
            if len(pairs) > 1:
                x, y = pairs.T
                rmse, spread = float(np.sqrt(np.mean((x - y) ** 2))), float(y.std())
                yield WindowChange(a.about.name, b.about.name, axis, name, len(x), rmse, pearson(x, y), spread)


def _rows(source: Source, a: System, b: System) -> Iterator[tuple[str | None, Score, Score]]:
    """Yield the bin and the two scores of each take that both scored, once."""
    seen: set[Take] = set()
    for item in source.items:
        found = (a.scores.get(key(item), ()), b.scores.get(key(item), ()), source.heard.get(key(item), ()))
        for take, x, y, one in zip_longest(item.asked, *found):
            if x is not None and y is not None and take not in seen:
                seen.add(take)
                yield duration_bin([None if one is None else one.seconds]), x, y


def windows_table(changes: Sequence[WindowChange]) -> Table:
    rows = [
        [
            *(one.a, one.b, one.axis, one.duration, str(one.n)),
            *(number(value, 4) for value in (one.rmse, one.lcc, one.spread)),
        ]
        for one in changes
    ]
    rows += [
        [f"(paper) {one['a']}", *(one[name] for name in ("b", "axis", "duration", "n", "rmse", "lcc")), ""]
        for one in read_published("windows")
    ]
    headers = ["window", "against", "axis", "seconds", "n", "RMSE", "LCC", "spread"]
    notes = ["Spread: the standard deviation of the scores under the second window."]
    return Table("Scores under other windows (Tables 18, 19)", headers, rows, labels=4, notes=notes)


PUBLISHED_CONTEXT = (
    ("text+lyrics+audio", 82.40, 68.80),
    ("text+audio", 79.20, 68.80),
    ("text+lyrics", 72.00, 76.00),
    ("text", 68.80, 67.20),
    ("all", 75.60, 70.20),
)


def context(source: Source, protocol: Protocol, resamples: int) -> tuple[list[RewardCell], list[Versus]]:
    """Return the musicality accuracy of the models that were run both ways, and their differences."""
    pairs = [
        (a.about.name, b.about.name)
        for a, b in product(source.systems, repeat=2)
        if a.about.prompt and not b.about.prompt and (a.about.model, a.about.window) == (b.about.model, b.about.window)
    ]
    if not pairs:
        return [], []
    found = source.evaluate(protocol, resamples, by_modality, (MUSICALITY_PREFERENCE,))
    names = {name for pair in pairs for name in pair}
    cells = [cell for cell in found.cells if cell.model in names and cell.metric == "ACC"]
    versus = [one for one in found.versus if one.metric == "ACC" and {(one.a, one.b), (one.b, one.a)} & set(pairs)]
    return cells, [one if (one.a, one.b) in pairs else turned(one) for one in versus]


def turned(one: Versus) -> Versus:
    """Swap the two models of a comparison."""
    low, high = (None if end is None else 0.0 - end for end in (one.high, one.low))
    return replace(one, a=one.b, b=one.a, difference=0.0 - one.difference, low=low, high=high)


def context_table(cells: Iterable[RewardCell], versus: Iterable[Versus]) -> Table:
    values = {(cell.model, cell.dataset, cell.group): cell.value for cell in cells}
    rows = []
    for one in versus:
        both = [values[model, one.dataset, one.group] for model in (one.a, one.b)]
        rows.append([one.a, one.dataset, one.group, *(percent(value, 2) for value in both), *difference_cells(one)])
    for group, with_prompt, without in PUBLISHED_CONTEXT:
        numbers = (number(with_prompt), number(without), signed(with_prompt - without))
        rows.append(["(paper, Table 14)", "cmi-pref", group, *numbers, "", "500" if group == "all" else "125", ""])
    headers = ["model", "data set", "prompt", "with", "without", "difference", "95 %", "n", "p"]
    notes = ["Musicality accuracy in percent. The paper trained one model for each column; yours is one model twice."]
    return Table("Contextual musicality (Table 14)", headers, rows, labels=3, notes=notes)
