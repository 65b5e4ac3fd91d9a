"""Verdicts as pseudo-labels and as scores.

A pair gets a label if the same take wins in both orders, or both are ties (two different ties become 'both'). Labels
are kept per axis or, with `intersection`, only for pairs that have one on every axis. Win rates are in terms of the
pair's own a and b, as in table 8 of the paper, so an unbiased judge has the same in both orders.

As scores, the chosen take gets 1 and the other 0, or each 0.5 after a tie; both orders are averaged.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cmi.judge.run import Asking, Judged, Order
from cmi.judge.verdict import TIES, Opinion
from cmi.preferences import AXES, NamedPair, Preference
from cmi.take import Axis, Choice, Score

Retention = Literal["axis", "intersection"]


@dataclass(frozen=True)
class Outcomes:
    a: int
    b: int
    tie: int

    @property
    def n(self) -> int:
        return self.a + self.b + self.tie


@dataclass(frozen=True)
class AxisCounts:
    """Counts of pairs on one axis: those without a label contradict themselves or lack an opinion in some order."""

    axis: Axis
    asked: int
    original: Outcomes
    reversed: Outcomes
    agreed: Outcomes
    contradicted: int
    first_both_times: int
    second_both_times: int
    missing: int

    @property
    def kept(self) -> int:
        return self.agreed.n


def agreed(forward: Opinion, reverse: Opinion) -> Choice | None:
    """The choice that two opinions share, None if they contradict each other."""
    if forward.choice == reverse.choice:
        return forward.choice
    return "both" if forward.choice in TIES and reverse.choice in TIES else None


def opinions(judged: Judged, axis: Axis) -> dict[str, tuple[Opinion | None, Opinion | None]]:
    """Each pair's opinions on an axis, in forward and reverse order."""
    found = {}
    for asking in judged.verdicts.keys() | judged.failures.keys():
        if asking.order == "forward" and asking.repeat == 1:
            found[asking.pair] = (
                _opinion(judged, asking.pair, "forward", axis),
                _opinion(judged, asking.pair, "reverse", axis),
            )
    return found


def labels(judged: Judged, axis: Axis) -> dict[str, Choice]:
    both = {pair: said for pair, said in opinions(judged, axis).items() if None not in said}
    found = {pair: agreed(forward, reverse) for pair, (forward, reverse) in both.items()}  # type: ignore[arg-type]
    return {pair: choice for pair, choice in found.items() if choice is not None}


def axes_of(judged: Judged) -> list[Axis]:
    """The axes on which there are opinions."""
    found = {axis for verdict in judged.verdicts.values() for axis in verdict.opinions}
    return [axis for axis in AXES if axis in found]


def retained(judged: Judged, retention: Retention) -> dict[Axis, dict[str, Choice]]:
    """The labels to keep, by axis and pair."""
    kept = {axis: labels(judged, axis) for axis in axes_of(judged)}
    if retention == "intersection" and kept:
        everywhere = set.intersection(*(set(found) for found in kept.values()))
        kept = {axis: {pair: c for pair, c in found.items() if pair in everywhere} for axis, found in kept.items()}
    return kept


def count(judged: Judged, axis: Axis) -> AxisCounts:
    said = opinions(judged, axis)
    both = [(f, r) for f, r in said.values() if f is not None and r is not None]
    clashes = [(f.choice, r.choice) for f, r in both if agreed(f, r) is None]
    return AxisCounts(
        axis=axis,
        asked=len(said),
        original=_outcomes([f.choice for f, _ in said.values() if f is not None]),
        reversed=_outcomes([r.choice for _, r in said.values() if r is not None]),
        agreed=_outcomes([c for f, r in both if (c := agreed(f, r)) is not None]),
        contradicted=len(clashes),
        first_both_times=clashes.count(("a", "b")),
        second_both_times=clashes.count(("b", "a")),
        missing=len(said) - len(both),
    )


def label_preferences(
    pairs: Sequence[NamedPair],
    kept: Mapping[Axis, Mapping[str, Choice]],
    rater: str,
    soft: Mapping[Axis, Mapping[str, Mapping[str, float]]] | None = None,
) -> Iterator[Preference]:
    """Yield a preference per label, with its `soft` probabilities if given."""
    for pair in pairs:
        for axis, found in kept.items():
            if pair.id in found:
                about = {**pair.about, **({} if soft is None else {"soft": dict(soft[axis][pair.id])})}
                yield Preference(pair.pair, axis, found[pair.id], None, rater, f"{pair.id} {axis}", about)


def scored_axes(judged: Judged) -> tuple[Axis, ...]:
    """The axes of `pair_scores`. An overall verdict counts as musicality, as in the benchmark."""
    said = axes_of(judged)
    names: list[Axis] = ["musicality"] if {"musicality", "overall"} & set(said) else []
    return (*names, "alignment") if "alignment" in said else tuple(names)


def pair_scores(judged: Judged) -> dict[str, tuple[Score, Score]]:
    """Scores of a and b for each pair with an opinion; NaN on an axis that was not judged."""
    for_a: dict[Choice, float] = {"a": 1.0, "b": 0.0, "both": 0.5, "neither": 0.5}
    shares: defaultdict[str, defaultdict[Axis, list[float]]] = defaultdict(lambda: defaultdict(list))
    for asking, verdict in judged.verdicts.items():
        for axis, opinion in verdict.opinions.items():
            shares[asking.pair][axis].append(for_a[opinion.choice])
    return {pair: (_score(found, False), _score(found, True)) for pair, found in shares.items()}


def _score(found: dict[Axis, list[float]], of_b: bool) -> Score:
    means = {axis: sum(values) / len(values) for axis, values in found.items()}
    own = {axis: 1 - mean if of_b else mean for axis, mean in means.items()}
    return Score(own.get("musicality", own.get("overall", math.nan)), own.get("alignment", math.nan))


def _opinion(judged: Judged, pair: str, order: Order, axis: Axis) -> Opinion | None:
    verdict = judged.verdicts.get(Asking(pair, order))
    return verdict.opinions.get(axis) if verdict else None


def _outcomes(choices: Sequence[Choice]) -> Outcomes:
    counted = Counter(choices)
    return Outcomes(counted["a"], counted["b"], counted["both"] + counted["neither"])
