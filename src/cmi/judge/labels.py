"""Verdicts as pseudo-labels for `cmi train`, and as scores.

A pair gets a label if the same take wins in both orders, or both are ties (two different ties become 'both'). Labels
are kept per axis or, with `intersection`, only for pairs that have one on every axis. Win rates are in terms of the
pair's own a and b, as in table 8 of the paper, so an unbiased judge has the same in both orders.

preferences.jsonl    the labels, in the common format
labels.json          win rates in both orders, and how many pairs were kept

As scores, the chosen take gets 1 and the other 0, or each 0.5 after a tie; both orders are averaged.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.judge.consensus import Answers, davidson, dawid_skene
from cmi.judge.load_judge import Spec, open_judge
from cmi.judge.prompt_file import DEFAULT
from cmi.judge.run import ORDERS, Judged, askings, judge_pairs, read_run
from cmi.judge.verdict import TIES, Opinion
from cmi.preferences import AXES, NamedPair, Preference, read_pairs, read_preferences, write_preferences
from cmi.take import Axis, Choice, Score, Take

PREFERENCES, LABELS = "preferences.jsonl", "labels.json"
Method = Literal["dawid-skene", "davidson"]
CLASS_OF: dict[Choice, int] = {"a": 0, "b": 1, "both": 2, "neither": 2}
CHOICE_OF: dict[str, Choice] = {"a": "a", "b": "b", "tie": "both"}

Soft = dict[str, dict[str, float]]
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

    asked: int
    kept: int
    contradicted: int
    first_both_times: int
    second_both_times: int
    missing: int
    original: Outcomes
    reversed: Outcomes
    agreed: Outcomes


def agreed(forward: Opinion, reverse: Opinion) -> Choice | None:
    """The choice that two opinions share, None if they contradict each other."""
    if forward.choice == reverse.choice:
        return forward.choice
    return "both" if forward.choice in TIES and reverse.choice in TIES else None


def labels(judged: Judged, axis: Axis) -> dict[str, Choice]:
    both = {pair: said for pair in _asked(judged) if (said := judged.both_opinions(pair, axis))}
    return {pair: choice for pair, said in both.items() if (choice := agreed(*said)) is not None}


def _asked(judged: Judged) -> set[str]:
    every = judged.verdicts.keys() | judged.failures.keys()
    return {asking.pair for asking in every if asking.order == "forward" and asking.repeat == 1}


def retained(judged: Judged, retention: Retention) -> dict[Axis, dict[str, Choice]]:
    """The labels to keep, by axis and pair."""
    kept = {axis: labels(judged, axis) for axis in judged.axes}
    if retention == "intersection" and kept:
        everywhere = set.intersection(*(set(found) for found in kept.values()))
        kept = {axis: {pair: c for pair, c in found.items() if pair in everywhere} for axis, found in kept.items()}
    return kept


def count(judged: Judged, axis: Axis) -> AxisCounts:
    asked = _asked(judged)
    both = [said for pair in asked if (said := judged.both_opinions(pair, axis))]
    kept = [choice for said in both if (choice := agreed(*said)) is not None]
    clashes = [(f.choice, r.choice) for f, r in both if agreed(f, r) is None]
    original, reversed_ = (
        outcomes([one.choice for pair in asked if (one := judged.opinion(pair, order, axis))]) for order in ORDERS
    )
    return AxisCounts(
        asked=len(asked),
        kept=len(kept),
        contradicted=len(clashes),
        first_both_times=clashes.count(("a", "b")),
        second_both_times=clashes.count(("b", "a")),
        missing=len(asked) - len(both),
        original=original,
        reversed=reversed_,
        agreed=outcomes(kept),
    )


def label_record(judged: Judged) -> dict[str, Any]:
    return {
        "judge": judged.judge,
        "failed": len(judged.failures),
        "unparsed": sum(not verdict.opinions for verdict in judged.verdicts.values()),
        "cut": judged.cut,
        "axes": {axis: asdict(count(judged, axis)) for axis in judged.axes},
        **({"hearing": asdict(judged.hearing)} if judged.hearing else {}),
    }


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
    said = judged.axes
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


def outcomes(choices: Sequence[Choice]) -> Outcomes:
    counted = Counter(choices)
    return Outcomes(counted["a"], counted["b"], counted["both"] + counted["neither"])


# Writing them.


def label(
    pairs: Path | str, judge: str, out: Path | str, retention: Retention = "axis", prompt: str = DEFAULT
) -> list[Preference]:
    """Ask a judge about each pair in both orders, and keep the labels on which both orders agree.

    `judge` is a name as `cmi judge --model` takes it: `scorer:nano`, `omni:music-flamingo`, `module:Class`. Verdicts
    and labels are kept in `out`; the same call resumes. For a judge behind an endpoint use `cmi judge label`.
    """
    asked, folder = read_pairs(pairs), Path(out)
    with open_judge(Spec(judge, prompt=prompt), folder, asked) as opened:
        judged = judge_pairs(askings(asked, both_orders=True), opened, folder, lambda count: None)
    write_labels(asked, judged, folder, retention)
    return list(read_preferences(folder / PREFERENCES))


def write_labels(pairs: Sequence[NamedPair], judged: Judged, folder: Path, retention: Retention) -> int:
    """Write one judge's labels for pairs on which both orders agree; return their number."""
    kept = retained(judged, retention)
    return _write(pairs, kept, judged.judge, folder, {"retention": retention, **label_record(judged)})


def write_consensus(
    pairs: Sequence[NamedPair], judged: Judged, others: Sequence[Path], folder: Path, method: Method
) -> int:
    """Write the consensus labels of several judges' runs, with their probabilities; return their number."""
    runs = [judged, *(read_run(other, pairs) for other in others)]
    if len({run.judge for run in runs}) < len(runs):
        raise InputError("two of the runs are by the same judge, expected different ones")
    soft = consensus(runs, pairs, method)
    kept = {axis: _likeliest(found) for axis, found in soft.items()}
    rater = f"{method} of {'; '.join(run.judge for run in runs)}"
    record = {"method": method, "judges": [label_record(run) for run in runs]}
    return _write(pairs, kept, rater, folder, record, soft)


def _write(
    pairs: Sequence[NamedPair],
    kept: Mapping[Axis, Mapping[str, Choice]],
    rater: str,
    folder: Path,
    record: Mapping[str, Any],
    soft: Mapping[Axis, Soft] | None = None,
) -> int:
    labels = list(label_preferences(pairs, kept, rater, soft))
    write_preferences(labels, folder / PREFERENCES)
    write_whole(folder / LABELS, json.dumps({"labels": len(labels), **record}, indent=1) + "\n")
    return len(labels)


def consensus(runs: Sequence[Judged], pairs: Sequence[NamedPair], method: Method) -> dict[Axis, Soft]:
    """Probabilities of a, b and tie, by axis and pair, for pairs with a verdict."""
    axes = [axis for axis in AXES if any(axis in run.axes for run in runs)]
    if not axes:
        raise InputError("the runs have no verdicts")
    return {axis: _one_axis(runs, pairs, axis, method) for axis in axes}


def _likeliest(soft: Soft) -> dict[str, Choice]:
    return {pair: CHOICE_OF[max(chances, key=chances.__getitem__)] for pair, chances in soft.items()}


def _one_axis(runs: Sequence[Judged], pairs: Sequence[NamedPair], axis: Axis, method: Method) -> Soft:
    place = {pair.id: number for number, pair in enumerate(pairs)}
    rows = [
        (place[asking.pair], judge, int(asking.order == "reverse"), CLASS_OF[verdict.opinions[axis].choice])
        for judge, run in enumerate(runs)
        for asking, verdict in run.verdicts.items()
        if axis in verdict.opinions and asking.pair in place
    ]
    if not rows:
        return {}
    answers = Answers(*np.array(rows).T)
    if method == "dawid-skene":
        chances = dawid_skene(answers, len(pairs))
    else:
        takes: dict[Take, int] = {}
        numbers = [[takes.setdefault(take, len(takes)) for take in pair.pair.takes] for pair in pairs]
        chances = davidson(answers, np.array(numbers))
    spoken = set(answers.item.tolist())
    return {
        pair.id: dict(zip(CHOICE_OF, (round(float(chance), 4) for chance in chances[number]), strict=True))
        for number, pair in enumerate(pairs)
        if number in spoken
    }
