"""What the ablations show: tables, and for each finding of the paper whether it holds here.

A difference is of two variants on the same examples of a split, with a 95 % interval that covers the choice of
examples: the paired bootstrap over examples, so that what is labelled on two axes is drawn as one. It does not cover
the choice of the seed that heads begin with.

Metrics, all of which are better when higher
    accuracy      the mean over the axes of how often the preferred take scores higher
    musicality    of that axis alone
    likelihood    the mean over the axes of log p(preferred): minus the cross-entropy, in nats
    spearman      the mean over the axes of the rank correlation with ratings

Verdicts
    of 'one is better'      holds if the interval is above 0, fails if it is below 0
    of 'no difference'      holds if the interval lies within the same 2 points, fails if it excludes 0
    can't be told           everything else, and fewer than 30 examples
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from ablation_data import TESTED
from numpy.typing import NDArray

from cmi.report.tables import Table
from cmi.reward.train.data import RATED
from cmi.stats.comparison import Comparison, holm, mcnemar_exact, paired_bootstrap
from cmi.stats.correlation import spearman
from cmi.stats.intervals import bootstrap

BASE = "distil-experts"
HOLDS, FAILS, UNKNOWN = "holds", "fails", "can't be told"
FEWEST = 30  # examples: bootstrap intervals of fewer are too narrow
SAME = 0.02  # of accuracy
RESAMPLES = 1000

Record = dict[str, Any]
Metric = Literal["accuracy", "musicality", "likelihood", "spearman"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """The paper's: that of two variants one is better by a metric, or that they are the same."""

    text: str
    section: str
    better: str
    worse: str
    metric: Metric = "accuracy"
    same: bool = False


@dataclass(frozen=True)
class Finding:
    claim: Claim
    split: str
    n: int
    difference: Comparison
    verdict: str


def claims(sizes: Sequence[int]) -> list[Claim]:
    """The paper's findings on training; `sizes` are those smaller than all of the judge's labels, in order."""
    after, before = "after stage 2", "before stage 2"
    found = [
        Claim("experts' labels add to distillation", "4.2", BASE, "distil"),
        Claim("experts' pairs add more than their ratings", "4.2", "distil-pairs", "distil-ratings"),
        Claim("ratings beside pairs help to rank takes", "4.2", BASE, "distil-pairs", "spearman"),
        Claim("distillation is a better start than none", "4.2", BASE, "scratch"),
        Claim(f"smoothing stage 1 helps {after}", "C.1", BASE, "unsmoothed-experts"),
        Claim(f"smoothing makes less over-confident {before}", "C.1", "distil", "unsmoothed", "likelihood"),
    ]
    if sizes:
        few, most = sizes[0], sizes[-1]
        found += [
            Claim(f"all pseudo-labels beat {few}, {before}", "C.2", "distil", f"size-{few}"),
            Claim(f"all pseudo-labels beat {few}, {after}", "C.2", BASE, f"size-{few}-experts"),
            Claim(f"beyond {most} they add nothing, {after}", "C.2", BASE, f"size-{most}-experts", same=True),
        ]
    found += [
        Claim(f"mapping ratings: {name} is as good as tanh", "F.1", BASE, f"mapping-{name}", same=True)
        for name in ("none", "linear", "ordinal")
    ]
    return [*found, Claim("prompts help to judge musicality", "E.2", BASE, "no-prompt", "musicality")]


def findings(records: Sequence[Record], sizes: Sequence[int]) -> list[Finding]:
    """Of each claim whose variants were run, in each split."""
    known = {record["id"]: record["splits"] for record in records}
    return [
        judged(claim, split, *(known[name][split]["items"] for name in (claim.better, claim.worse)))
        for claim in claims(sizes)
        if claim.better in known and claim.worse in known
        for split in TESTED
    ]


def judged(claim: Claim, split: str, better: Record, worse: Record) -> Finding:
    n, difference = compare(better, worse, claim.metric)
    return Finding(claim, split, n, difference, verdict(difference, n, claim.same))


def verdict(difference: Comparison, n: int, same: bool) -> str:
    low, high = difference.low, difference.high
    if n < FEWEST or math.isnan(low):
        return UNKNOWN
    if same:
        return HOLDS if max(-low, high) <= SAME else FAILS if low > 0 or high < 0 else UNKNOWN
    return HOLDS if low > 0 else FAILS if high < 0 else UNKNOWN


class _Column(NamedTuple):
    """On one axis, the examples (n,) that both variants were tested on, and what each made of them, (n,) or (n, 2)."""

    places: NDArray[np.intp]
    one: Floats
    other: Floats


def compare(one: Record, other: Record, metric: Metric) -> tuple[int, Comparison]:
    """How many examples both were tested on, and how much better `one` is by the metric; NaN if there are none."""
    kind = "ratings" if metric == "spearman" else "pairs"
    axes = [axis for axis in RATED if axis == metric or metric != "musicality"]
    both = [(one[kind][axis], other[kind][axis]) for axis in axes if axis in one[kind] and axis in other[kind]]
    columns = [column for items in both if len((column := _column(*items, metric)).places)]
    if not columns:
        return 0, Comparison(math.nan, math.nan, math.nan, math.nan)
    examples, codes = np.unique(np.concatenate([column.places for column in columns]), return_inverse=True)
    parts = np.split(codes, np.cumsum([len(column.places) for column in columns])[:-1])
    statistic = _ranking if metric == "spearman" else _average

    def of(values: Sequence[Floats]) -> Callable[[Floats], Floats]:
        """From weights of the examples (b, n) to the metric (b,)."""
        return lambda weights: np.mean(
            [statistic(weights[:, part], value) for part, value in zip(parts, values, strict=True)], axis=0
        )

    sides = [of([column.one for column in columns]), of([column.other for column in columns])]
    whole = [float(side(np.ones((1, len(examples))))[0]) for side in sides]
    first, second = (bootstrap(side, np.arange(len(examples)), RESAMPLES) for side in sides)
    return len(examples), paired_bootstrap(whole[0] - whole[1], first, second)


def _column(one: Record, other: Record, metric: Metric) -> _Column:
    places, first, second = np.intersect1d(one["place"], other["place"], return_indices=True)
    return _Column(places, _values(one, metric)[first], _values(other, metric)[second])


def _values(items: Record, metric: Metric) -> Floats:
    if metric == "spearman":
        return np.column_stack([items["score"], items["rating"]]).astype(np.float64)
    margins = np.asarray(items["margin"], dtype=np.float64)
    return -np.logaddexp(0, -margins) if metric == "likelihood" else (margins > 0).astype(np.float64)


def _average(weights: Floats, values: Floats) -> Floats:
    """(b, n), (n,) -> (b,); NaN where a draw has none of the examples."""
    with np.errstate(invalid="ignore"):
        return weights @ values / weights.sum(axis=1)


def _ranking(weights: Floats, values: Floats) -> Floats:
    """The rank correlation of scores and ratings (n, 2) in each draw."""
    times = weights.astype(np.intp)
    return np.array([spearman(*np.repeat(values, row, axis=0).T) for row in times])


def variants_table(records: Sequence[Record], split: str) -> Table:
    """Each variant in a split, and how it compares with the one that all are compared with."""
    items = {record["id"]: record["splits"][split]["items"] for record in records}
    others = [name for name in items if name != BASE and BASE in items]
    adjusted = holm([mcnemar(items[name], items[BASE]) for name in others])
    against = {name: _against_base(items[name], items[BASE], p) for name, p in zip(others, adjusted, strict=True)}
    rows = [
        [
            *(record["id"], f"{record['best_step']} of {record['steps']}"),
            *(cell for axis in RATED for cell in _accuracy(record["splits"][split]["pairs"].get(axis))),
            _mean(record["splits"][split]["pairs"], "cross_entropy"),
            _mean(record["splits"][split]["ratings"], "spearman"),
            *against.get(record["id"], ("", "", "")),
        ]
        for record in records
    ]
    accuracies = [header for axis in RATED for header in (f"{axis} %", "n", "95 %")]
    headers = ["variant", "step kept", *accuracies, "cross-entropy", "rank corr.", f"v {BASE}", "95 %", "p"]
    notes = [
        f"Differences are in points of the mean accuracy over both axes, with paired 95 % bootstrap intervals; p is of "
        f"McNemar's exact test over both axes, after Holm for {len(others)} comparisons.",
        "Cross-entropy (0.693 for a guess) and rank correlation with the experts' ratings are means over both axes.",
    ]
    if unheard := max((record["unheard"]["test"] for record in records), default=0):
        notes.append(f"{unheard} test examples of both splits were left out since they could not be heard.")
    return Table(f"Ablations on {split}", headers, rows, labels=2, notes=notes)


def mcnemar(one: Record, other: Record) -> float:
    """The p value of the pairs that one variant alone got right, over all axes."""
    columns = [_column(one["pairs"][axis], other["pairs"][axis], "accuracy") for axis in one["pairs"]]
    ahead, behind = (sum(int((sign * (c.one - c.other) > 0).sum()) for c in columns) for sign in (1, -1))
    return mcnemar_exact(ahead, behind)


def _accuracy(found: Record | None) -> tuple[str, str, str]:
    if found is None:
        return "-", "0", ""
    return f"{100 * found['accuracy']:.1f}", str(found["n"]), f"{100 * found['low']:.1f} - {100 * found['high']:.1f}"


def _mean(by_axis: Record, name: str) -> str:
    values = [found[name] for found in by_axis.values() if found[name] is not None]
    return f"{sum(values) / len(values):.3f}" if values else "-"


def _against_base(own: Record, base: Record, p: float) -> tuple[str, str, str]:
    _, difference = compare(own, base, "accuracy")
    return (*_shown(difference, "accuracy"), "< .001" if p < 0.001 else f"{p:.3f}")


def _shown(difference: Comparison, metric: Metric) -> tuple[str, str]:
    """In points, or as it is if it is no share."""
    if math.isnan(difference.low):
        return "-", ""
    scale, digits = (100, 1) if metric in ("accuracy", "musicality") else (1, 3)
    value, low, high = (f"{scale * number:+.{digits}f}" for number in difference[:3])
    return value, f"{low} to {high}"


def findings_table(found: Sequence[Finding]) -> Table:
    """The paper's findings, and whether they hold here."""
    rows = [
        [
            *(f.claim.text, f.claim.section, f"{f.claim.better} v {f.claim.worse}", f.claim.metric, f.split),
            *(str(f.n), *_shown(f.difference, f.claim.metric), f.verdict),
        ]
        for f in found
    ]
    headers = ["the paper finds", "section", "here", "metric", "split", "n", "difference", "95 %", "it"]
    notes = [
        f"Can't be told: the interval includes 0 (of 'as good' and 'nothing': is not within {100 * SAME:g} points), or "
        f"there are fewer than {FEWEST} examples.",
        "Intervals cover the choice of test examples, not that of the training's seed.",
    ]
    return Table("Findings", headers, rows, labels=5, notes=notes)


def judge_table(counts: Record) -> Table:
    """What was learned from: how many labels there are, and how many of them are right."""
    rows = [
        [rater, axis, *(str(one[name]) for name in ("asked", "kept", "tied")), _share(one)]
        for rater in ("judge", "experts")
        for axis, one in counts[rater].items()
    ]
    notes = [f"Experts rated {counts['rated takes']} other takes."]
    return Table("Simulated labels", ["rater", "axis", "asked", "kept", "tied", "right %"], rows, labels=2, notes=notes)


def _share(one: Record) -> str:
    decided = one["kept"] - one["tied"]
    return f"{100 * one['right'] / decided:.1f}" if decided else "-"
