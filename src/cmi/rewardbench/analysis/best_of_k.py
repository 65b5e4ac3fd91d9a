"""Best of k, and several best: the accuracies of RewardBench 2 on takes of one prompt.

Groups
    The takes of one prompt on one axis, if there are three or more. Rated takes (PAM, MusicEval): those with the
    highest mean rating are right, all others wrong. Compared takes: those that were preferred and never lost are
    right, and those that lost to every right one are wrong; a majority decides between two takes.

Best of k, groups with one right take
    1 if it has the highest score. If it shares the highest score with others, 1 divided by their number, so that equal
    scores earn what chance does: 1 / k.

Ties, groups with several right takes
    accuracy    every right take scores above every wrong one
    margin      the lowest right score exceeds the highest wrong one by more than the right ones differ
    score       0.6 accuracy + 0.4 margin: the weights of RewardBench 2 without its reference prompts (the same question
                with one right answer), which no music data has

The definitions are those of allenai/reward-bench@05a9005, rewardbench/utils.py. A group with an unscored take is left
out and counted. Chance is that of scores drawn at random: the mean of 1 / k, and for ties of 1 / C(k, right takes).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cmi.report.numbers import interval, percent
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.tables import NULL
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import DECIDED, Key, Scores, key
from cmi.stats import bootstrap, share_interval
from cmi.take import Audio, Axis, Prompt, Score

FEWEST = 3  # takes of a group; two are a pair
ACCURACY, MARGIN = 0.6, 0.4  # weights
NAMES = {"best of k": "one right take", "ties": "several right takes"}
UNITS = "In percent. n: prompts; k: takes of a prompt; 95 %: bootstrap over prompts, with fewer than ten Wilson's."
NOTES = {
    "best of k": "A highest score that m takes share earns 1 / m. Chance: 1 / k.",
    "ties": f"Score: {ACCURACY} accuracy (every right take above every wrong one) + {MARGIN} margin (by more than the "
    "right ones differ). Chance: of the accuracy.",
}

Places = tuple[tuple[Key, int], ...]  # where a take is scored: items, and its place in each


class RankedGroup(NamedTuple):
    """Takes of one prompt, of which some are right on an axis."""

    dataset: str
    axis: Axis
    cluster: str
    right: tuple[Places, ...]
    wrong: tuple[Places, ...]

    @property
    def k(self) -> int:
        return len(self.right) + len(self.wrong)


class GroupCredit(NamedTuple):
    """A model's credits on the groups of a data set with one right take, or with several."""

    model: str
    dataset: str
    axis: Axis
    measure: str
    value: float
    low: float
    high: float
    chance: float | None
    n: int
    least_k: int
    most_k: int
    unscored: int
    accuracy: float | None = None  # of ties
    margin: float | None = None


def credit_of_best(right: float, wrong: Sequence[float]) -> float:
    """Return the credit of the one right take's score among those of the wrong ones.

    >>> credit_of_best(2.0, [1.0, 0.0]), credit_of_best(2.0, [2.0, 2.0, 0.0]), credit_of_best(1.0, [2.0, 0.0])
    (1.0, 0.3333333333333333, 0.0)
    """
    best = max(wrong)
    return 0.0 if right < best else 1.0 / (1 + sum(score == right for score in wrong))


def credit_of_ties(right: Sequence[float], wrong: Sequence[float]) -> tuple[bool, bool]:
    """Tell whether all right scores exceed all wrong ones, and whether by more than the right ones differ.

    >>> credit_of_ties([5.0, 4.0], [1.0, 0.0]), credit_of_ties([5.0, 2.0], [1.0]), credit_of_ties([5.0, 1.0], [1.0])
    ((True, True), (True, False), (False, False))
    """
    gap = min(right) - max(wrong)
    return gap > 0, gap > max(right) - min(right)


def take_groups(items: Iterable[RatedItem]) -> list[RankedGroup]:
    """Return the groups of takes of one prompt, with at least one right and one wrong take."""
    by_prompt: dict[tuple[str, Axis, bool, str], list[RatedItem]] = defaultdict(list)
    for item in items:
        prompt = _prompt(item)
        if prompt is not None:
            for axis in item.votes if item.is_pair else item.ratings:
                by_prompt[item.dataset, axis, item.is_pair, prompt].append(item)
    groups = []
    for (dataset, axis, is_pair, _), asked in by_prompt.items():
        right, wrong = _compared(asked, axis) if is_pair else _rated(asked, axis)
        if right and wrong and len(right) + len(wrong) >= FEWEST:
            places = _places(asked)
            sides = [tuple(places[take] for take in side) for side in (right, wrong)]
            groups.append(RankedGroup(dataset, axis, asked[0].cluster, *sides))
    return groups


def _prompt(item: RatedItem) -> str | None:
    """Return what the takes of a group share; None if nothing is known of the prompt, or the takes have two."""
    if item.other_prompt is not None:
        return None
    if item.prompt == Prompt():
        return item.about.get("prompt_id")
    return "\n".join((item.prompt.text, item.prompt.lyrics, str(item.prompt.reference or "")))


def _places(items: Iterable[RatedItem]) -> dict[Audio, Places]:
    found: dict[Audio, Places] = defaultdict(tuple)
    for item in items:
        for place, take in enumerate(item.takes):
            found[take] += ((key(item), place),)
    return found


def _rated(items: Iterable[RatedItem], axis: Axis) -> tuple[list[Audio], list[Audio]]:
    ratings: dict[Audio, list[float]] = defaultdict(list)
    for item in items:
        ratings[item.takes[0]].append(item.ratings[axis])
    means = {take: sum(given) / len(given) for take, given in ratings.items()}
    best = max(means.values())
    right = [take for take, mean in means.items() if math.isclose(mean, best)]
    return right, [take for take in means if take not in right]


def _compared(items: Iterable[RatedItem], axis: Axis) -> tuple[list[Audio], list[Audio]]:
    votes: dict[tuple[Audio, Audio], float] = defaultdict(float)  # for the first minus for the second
    for item in items:
        lead = 2 * DECIDED[item.votes[axis].choice] - 1
        votes[item.takes] += lead  # type: ignore[index]
        votes[item.takes[::-1]] -= lead  # type: ignore[index]
    takes = list(dict.fromkeys(first for first, _ in votes))
    beaten = {take: {other for (first, other), lead in votes.items() if first == take and lead > 0} for take in takes}
    losers = set().union(*beaten.values()) if beaten else set()
    right = [take for take in takes if beaten[take] and take not in losers]
    return right, [take for take in takes if right and all(take in beaten[one] for one in right)]


def group_credits(
    groups: Sequence[RankedGroup], models: Mapping[str, Scores], resamples: int, seed: int = 0
) -> Iterator[GroupCredit]:
    """Yield each model's credits on each data set and axis: groups with one right take, then with several."""
    for dataset, axis in dict.fromkeys((group.dataset, group.axis) for group in groups):
        for measure in NAMES:
            here = [
                g
                for g in groups
                if (g.dataset, g.axis) == (dataset, axis) and (len(g.right) > 1) == (measure == "ties")
            ]
            for model, scores in models.items() if here else ():
                found = _credits(here, scores, model, measure, resamples, seed)
                if found is not None:
                    yield found


def _credits(
    groups: Sequence[RankedGroup], scores: Scores, model: str, measure: str, resamples: int, seed: int
) -> GroupCredit | None:
    scored = [(group, given) for group in groups if (given := _given(group, scores)) is not None]
    if not scored:
        return None
    kept = [group for group, _ in scored]
    sizes = [group.k for group in kept]
    about = (len(kept), min(sizes), max(sizes), len(groups) - len(kept))
    parts: tuple[float | None, float | None] = (None, None)
    if measure == "ties":
        both = np.array([credit_of_ties(*given) for _, given in scored], float)
        values = both @ (ACCURACY, MARGIN)
        parts = (float(both[:, 0].mean()), float(both[:, 1].mean()))
        chance = np.mean([1 / math.comb(group.k, len(group.right)) for group in kept])
    else:
        values = np.array([credit_of_best(right, wrong) for _, ((right,), wrong) in scored])
        chance = np.mean([1 / size for size in sizes])
    _, codes = np.unique([group.cluster for group in kept], return_inverse=True)
    draws = bootstrap(lambda weights: weights @ values / weights.sum(axis=1), codes, resamples, seed)
    ends = share_interval(float(values.mean()), draws, int(codes.max()) + 1)
    place = (model, kept[0].dataset, kept[0].axis, measure)
    return GroupCredit(*place, float(values.mean()), *ends, float(chance), *about, *parts)


def _given(group: RankedGroup, scores: Scores) -> tuple[list[float], list[float]] | None:
    """Return the scores of the right and the wrong takes; None if one is missing. A take's scores are averaged."""
    sides = []
    for takes in (group.right, group.wrong):
        values = [[_value(scores.get(item, ()), place, group.axis) for item, place in places] for places in takes]
        sides.append([_mean(each) for each in values])
    return None if any(map(math.isnan, (*sides[0], *sides[1]))) else (sides[0], sides[1])


def _mean(values: Sequence[float]) -> float:
    """Return the mean, of equal values exactly: rounding must not decide which of two takes is better."""
    return values[0] if min(values) == max(values) else sum(values) / len(values)


def _value(given: Sequence[Score | None], place: int, axis: Axis) -> float:
    score = given[place] if place < len(given) else None
    return math.nan if score is None else score.alignment if axis == "alignment" else score.musicality


def best_of_k_tables(found: Sequence[GroupCredit], nulls: Iterable[str]) -> list[Table]:
    """Return a table for groups with one right take, and one for those with several."""
    shown = set(nulls)
    tables = []
    for measure, kind in NAMES.items():
        parts = ["accuracy", "margin"] if measure == "ties" else []
        rows = [
            [
                *(one.dataset, one.axis, NULL + one.model if one.model in shown else one.model),
                *(percent(one.value), interval((one.low, one.high), 1, 100)),
                *(percent(getattr(one, part)) for part in parts),
                *(percent(one.chance), str(one.n), _sizes(one), str(one.unscored)),
            ]
            for one in found
            if one.measure == measure
        ]
        if rows:
            title = f"{measure.capitalize()}: {kind} of a prompt, as in RewardBench 2"
            headers = ["data set", "axis", "model", "score", "95 %", *parts, "chance", "n", "k", "unscored"]
            tables.append(Table(title, headers, rows, labels=3, notes=[f"{UNITS} {NOTES[measure]}"]))
    return tables


def _sizes(one: GroupCredit) -> str:
    return str(one.least_k) if one.least_k == one.most_k else f"{one.least_k}–{one.most_k}"
