"""Win rates of each system against each, from exported votes: figure 3 of CMI-RewardBench.

Share       of each prompt, the share of votes for the row's system, 'both' and 'neither' as half; then the mean over
            prompts, so that a prompt with more votes counts no more than others.
Same take   in a study of best-of-N (`cmi.reward.pick.study`), prompts of which both conditions are the same take: ties
            that nobody was asked about. `share` has them in it, `asked` is the share without them.
Intervals   95 %, bootstrap over prompts; with fewer than ten, Wilson's.

Gold pairs and hidden repeats are left out. A vote on a take that stands for several conditions counts for each.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.preferences import Preference, prompt_key
from cmi.report.numbers import interval, percent
from cmi.report.tables import Table
from cmi.reward.pick.study import JOINED, PROMPT, PickStudy
from cmi.stats import bootstrap, share_interval

CREDIT = {"a": 1.0, "b": 0.0}
FIGURE = (
    "Figure 3 of the paper shows such matrices for MusicGen-small and Stable Audio Open small (MusicCaps, N = 1, 3, 10 "
    "by CMI-RM) as a picture. Its text has no numbers; it says that the ground truth wins against every N, that picks "
    "do not get better at every step, and that with Stable Audio more takes make little difference."
)


class WinShare(NamedTuple):
    """How often the system `row` won against `column`, on one axis."""

    axis: str
    row: str
    column: str
    share: float
    low: float
    high: float
    asked: float | None  # None if no prompt with two takes has a vote
    votes: int
    prompts: int  # with votes
    same: int
    without_votes: int

    def turned(self) -> "WinShare":
        """Return the same comparison from the column's side."""
        return self._replace(
            row=self.column,
            column=self.row,
            share=1 - self.share,
            low=1 - self.high,
            high=1 - self.low,
            asked=None if self.asked is None else 1 - self.asked,
        )


def win_matrix(
    preferences: Iterable[Preference], study: PickStudy | None = None, resamples: int = 2000, seed: int = 0
) -> list[WinShare]:
    """Return the share of every two systems that were compared, from both sides, axis by axis."""
    credits: dict[str, dict[tuple[str, str], dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for one in preferences:
        prompt = str(one.about.get(PROMPT) or prompt_key(one))
        for row, column, credit in _comparisons(one, prompt, study):
            credits[one.axis][row, column][prompt].append(credit)
    names = study.conditions if study else sorted({name for by in credits.values() for pair in by for name in pair})
    found = []
    for axis, by_pair in sorted(credits.items()):
        for pair in combinations(names, 2):
            same, asked = (study.same(*pair), study.asked(*pair)) if study else ([], [])
            by_prompt = by_pair.get(pair, {})
            if by_prompt or same:
                missing = len(set(asked) - by_prompt.keys())
                one_way = _share(axis, *pair, by_prompt, len(same), missing, resamples, seed)
                found += [one_way, one_way.turned()]
    return found


def _comparisons(one: Preference, prompt: str, study: PickStudy | None) -> list[tuple[str, str, float]]:
    """Return (row, column, credit) of a vote, in both directions."""
    if one.about.get("kind") == "gold" or one.about.get("repeat"):
        return []
    a, b = (str(one.about.get(f"generator_{side}") or "") for side in "ab")
    sides = [name.split(JOINED) if study else [name] for name in (a, b)]
    if study is not None:
        unknown = [name for side in sides for name in side if name not in study.conditions]
        if unknown or prompt not in study.prompts:
            what = f"{unknown[0]!r}, which is not a condition" if unknown else f"{prompt!r}, which is not a prompt"
            raise InputError(f"vote {one.id!r} is on {what} of this study; name the study that the pairs are from")
    credit = CREDIT.get(one.choice, 0.5)
    pairs = [(x, y) for x in sides[0] for y in sides[1] if x and y and x != y]
    return [each for x, y in pairs for each in ((x, y, credit), (y, x, 1 - credit))]


def _share(
    axis: str,
    row: str,
    column: str,
    by_prompt: dict[str, list[float]],
    same: int,
    missing: int,
    resamples: int,
    seed: int,
) -> WinShare:
    voted = [sum(given) / len(given) for given in by_prompt.values()]
    values = np.array([*voted, *([0.5] * same)])
    draws = bootstrap(lambda weights: weights @ values / weights.sum(axis=1), np.arange(len(values)), resamples, seed)
    ends = share_interval(float(values.mean()), draws, len(values))
    asked = float(np.mean(voted)) if voted else None
    votes = sum(map(len, by_prompt.values()))
    return WinShare(axis, row, column, float(values.mean()), *ends, asked, votes, len(voted), same, missing)


def matrix_tables(found: Sequence[WinShare], study: PickStudy | None = None) -> list[Table]:
    """Return the matrix of each axis, and every comparison in full."""
    names = study.conditions if study else tuple(sorted({one.row for one in found}))
    shares = {(one.axis, one.row, one.column): one for one in found}
    tables = []
    for axis in dict.fromkeys(one.axis for one in found):
        rows = [[row, *(_cell(shares, axis, row, column) for column in names)] for row in names]
        title = f"Row beats column, {axis}, %"
        tables.append(Table(title, ["", *names], rows, notes=["Ties count half. 50 is no difference."]))
    place = {name: i for i, name in enumerate(names)}
    rows = [
        [
            *(one.axis, one.row, one.column, percent(one.share), interval((one.low, one.high), 1, 100)),
            *(percent(one.asked), str(one.votes), str(one.prompts), str(one.same), str(one.without_votes)),
        ]
        for one in found
        if place[one.row] < place[one.column]
    ]
    headers = ["axis", "row", "column", "share", "95 %", "asked", "votes", "prompts", "same take", "no vote yet"]
    notes = [
        "Each prompt counts once. Share: with prompts whose two picks are the same take, as ties; asked: without them. "
        "95 %: bootstrap over prompts, with fewer than ten Wilson's. No vote yet: prompts that are asked about."
    ]
    if any(one.without_votes for one in found):
        notes.append("Votes are missing: until then `share` is too close to 50; see `asked`.")
    return [*tables, Table("Every comparison", headers, rows, 3, [*notes, *([FIGURE] if study else [])])]


def _cell(shares: dict[tuple[str, str, str], WinShare], axis: str, row: str, column: str) -> str:
    one = shares.get((axis, row, column))
    return "" if row == column else percent(one.share) if one else "-"
