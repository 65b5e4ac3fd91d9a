"""Do people who rate single takes (MOS) or rank takes agree with the others? No ratings are left out by a verdict.

Measure of a person on each axis, of which chance gives one half
    others   mos: share of takes that lie on the same side of the median in the person's ratings and in the mean ratings
             of the others
             ranking: share of pages on which more of any two takes are in the others' order than in the opposite one
Takes on a median, pages with as many of both, and what nobody else rated are left out. The others' order is by their
mean ranks.

Verdicts
    ok              the share's 99 % Wilson interval lies above one half on an axis: the person does not rate at random
    look            not ok, and on an axis the interval lies below the mean share of all people
    can't tell yet  neither
`recipes/arena/raters.py` simulates how often a verdict is wrong. Somebody of another taste is looked at too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cmi.arena.statistics.inputs import AXES, Annotator, Axis, grouped
from cmi.arena.statistics.screening import VERDICT_LEVEL, is_below, pool_shares, share_columns
from cmi.arena.store.ratings import CountedRating
from cmi.arena.store.trials import RatedKind
from cmi.stats import Share, wilson


def compare_raters(
    rated: Sequence[CountedRating], kind: RatedKind, people: Sequence[Annotator]
) -> list[dict[str, Any]]:
    """A row for each person: person, name, votes, verdict, and for each axis {axis}_others with _n, _low and _high."""
    by_person, by_trial = grouped(rated, lambda row: row.person), grouped(rated, lambda row: row.trial)
    share = _share_of_takes if kind == "mos" else _share_of_pages
    shares = {
        one.person: {axis: share(by_person.get(one.person, []), by_trial, axis) for axis in AXES} for one in people
    }
    usual = {axis: pool_shares([mine[axis] for mine in shares.values()]) for axis in AXES}
    rows = []
    for one in people:
        mine = shares[one.person]
        columns: dict[str, Any] = {}
        for axis in AXES:
            columns |= share_columns(mine[axis], f"{axis}_others")
        about = {"person": one.person, "name": one.name, "votes": len(by_person.get(one.person, []))}
        rows.append({**about, "verdict": _judge(mine, usual), **columns})
    return rows


def _judge(shares: Mapping[Axis, Share], usual: Mapping[Axis, float | None]) -> str:
    if any(wilson(*share, level=VERDICT_LEVEL).low > 0.5 for share in shares.values()):
        return "ok"
    below = [is_below(share, mean) for axis, share in shares.items() if (mean := usual[axis]) is not None]
    return "look" if any(below) else "can't tell yet"


def _share_of_takes(mine: Sequence[CountedRating], by_trial: Mapping[str, list[CountedRating]], axis: Axis) -> Share:
    both = [(row.answers[axis][0], theirs[0]) for row, theirs in _with_others(mine, by_trial, axis)]
    sides = np.sign(np.array(both) - np.median(both, axis=0)) if both else np.zeros((0, 2))
    return _share(sides.prod(axis=1))


def _share_of_pages(mine: Sequence[CountedRating], by_trial: Mapping[str, list[CountedRating]], axis: Axis) -> Share:
    return _share([_concordance(row.answers[axis], theirs) for row, theirs in _with_others(mine, by_trial, axis)])


def _with_others(
    mine: Sequence[CountedRating], by_trial: Mapping[str, list[CountedRating]], axis: Axis
) -> list[tuple[CountedRating, list[float]]]:
    """A person's ratings, each with the mean answers of the others to the same trial, if there are others."""
    found = []
    for row in mine:
        others = [one.answers[axis] for one in by_trial[row.trial] if one.person != row.person]
        if others:
            found.append((row, np.mean(others, axis=0).tolist()))
    return found


def _concordance(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """How many more of any two takes are in the same order than in the opposite one."""
    one, other = (np.sign(np.subtract.outer(ranks, ranks)) for ranks in (np.array(mine), np.array(theirs)))
    return float((one * other).sum() / 2)


def _share(signs: Any) -> Share:
    """The share of those above 0 among those that are not 0."""
    signs = np.asarray(signs)
    return Share(int((signs > 0).sum()), int((signs != 0).sum()))
