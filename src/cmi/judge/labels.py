"""Pseudo-labels: a verdict counts only if it does not depend on the order in which the takes were heard.

A label is kept where the same take wins both times, or both times are ties (of either kind; two kinds are 'both'). By
axis, or, with `intersection`, only for pairs that have a label on every axis. Win rates are by the pair's own letters,
as in table 8 of the paper: a judge that does not mind the order has the same in both.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cmi.judge.run import Asking, Judged, Order
from cmi.judge.verdict import TIES, Opinion
from cmi.preferences import AXES, NamedPair, Preference
from cmi.take import Axis, Choice

Retention = Literal["axis", "intersection"]


@dataclass(frozen=True)
class Outcomes:
    """How often a wins, b wins, neither does."""

    a: int
    b: int
    tie: int

    @property
    def n(self) -> int:
        return self.a + self.b + self.tie


@dataclass(frozen=True)
class AxisCounts:
    """One axis of a judge's verdicts in both orders. `kept` of `asked` pairs have a label; others contradict
    themselves, or lack an opinion in one order or both."""

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
    """What two opinions by the pair's own letters have in common."""
    if forward.choice == reverse.choice:
        return forward.choice
    return "both" if forward.choice in TIES and reverse.choice in TIES else None


def opinions(judged: Judged, axis: Axis) -> dict[str, tuple[Opinion | None, Opinion | None]]:
    """Of each pair that was asked in both orders, what was said on an axis: forward, reverse."""
    found = {}
    for asking in judged.verdicts.keys() | judged.failures.keys():
        if asking.order == "forward" and asking.repeat == 1:
            found[asking.pair] = (
                _opinion(judged, asking.pair, "forward", axis),
                _opinion(judged, asking.pair, "reverse", axis),
            )
    return found


def labels(judged: Judged, axis: Axis) -> dict[str, Choice]:
    """The pairs that have a label on an axis."""
    both = {pair: said for pair, said in opinions(judged, axis).items() if None not in said}
    found = {pair: agreed(forward, reverse) for pair, (forward, reverse) in both.items()}  # type: ignore[arg-type]
    return {pair: choice for pair, choice in found.items() if choice is not None}


def axes_of(judged: Judged) -> list[Axis]:
    """The axes that any verdict speaks of."""
    found = {axis for verdict in judged.verdicts.values() for axis in verdict.opinions}
    return [axis for axis in AXES if axis in found]


def retained(judged: Judged, retention: Retention) -> dict[Axis, dict[str, Choice]]:
    """The labels that are kept, by axis."""
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
    """A preference for each label, with its `soft` shares if there are any."""
    for pair in pairs:
        for axis, found in kept.items():
            if pair.id in found:
                about = {**pair.about, **({} if soft is None else {"soft": dict(soft[axis][pair.id])})}
                yield Preference(pair.pair, axis, found[pair.id], None, rater, f"{pair.id} {axis}", about)


def _opinion(judged: Judged, pair: str, order: Order, axis: Axis) -> Opinion | None:
    verdict = judged.verdicts.get(Asking(pair, order))
    return verdict.opinions.get(axis) if verdict else None


def _outcomes(choices: Sequence[Choice]) -> Outcomes:
    counted = Counter(choices)
    return Outcomes(counted["a"], counted["b"], counted["both"] + counted["neither"])
