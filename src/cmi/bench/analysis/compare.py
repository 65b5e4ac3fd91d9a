"""Compare models, wordings or protocols on the same questions of CMI-Bench.

Questions
    A data set is compared on the questions that all contenders have. Under `strict` with annotation files these are all
    questions, because an unanswered one counts as an empty answer. Questions that are left out are counted.

Differences
    Each metric's difference has the percentile interval of a paired bootstrap over recordings. Its p value is that of
    the exact McNemar test if every item is right or wrong and has its own recording, else that of the bootstrap; Holm's
    correction is over all differences of a pair of contenders.

Overall
    The exact sign test over the data sets, each by its first metric; and the mean difference in points, with a
    bootstrap interval that takes the data sets as given. Correlations and error rates are not in this mean, because
    their scales differ.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.analysis.prompts import split_source
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Array, Evaluation, Item, Metric, Protocol, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import is_exact
from cmi.bench.scoring.responses import (
    QuestionKey,
    ResponseFile,
    ResponseSet,
    by_question,
    errors_at,
    find_responses,
    prefer,
)
from cmi.bench.tasks import load_task
from cmi.report.numbers import interval, number, p_value, signed
from cmi.report.tables import Table
from cmi.stats.comparison import (
    Better,
    adjust_p,
    compare,
    draw,
    finite,
    is_gain,
    mcnemar_exact,
    paired_bootstrap,
    verdict_of,
)

OTHER_SCALES = ("emotion_regression", "lyrics")  # tasks whose first metric is not a percentage with a best value of 100


@dataclass(frozen=True)
class Contender:
    """A model, or one wording or protocol of a model, with its answer files by data set."""

    name: str
    protocol: Protocol
    files: Mapping[str, ResponseFile]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Contender a minus contender b in one metric, on the questions that all contenders have."""

    a: str
    b: str
    dataset: str
    row: str
    task: str
    metric: str
    better: Better
    n: int
    left_out: int  # questions that only some contenders have
    value_a: float | None
    value_b: float | None
    unparsed_a: int
    unparsed_b: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None  # adjusted by Holm over the pair's differences
    test: Literal["McNemar", "bootstrap"]

    @property
    def is_gain(self) -> bool:
        """Whether a is better, by however little."""
        return is_gain(self.difference, self.better)

    @property
    def verdict(self) -> str:
        """'better', 'worse' or 'not told apart'; empty without a test."""
        return verdict_of(self.difference, self.p, self.better)


@dataclass(frozen=True, kw_only=True)
class OverallDifference:
    """Contender a against contender b over all data sets."""

    a: str
    b: str
    better: int  # metrics by their verdicts
    worse: int
    not_told_apart: int
    not_tested: int
    datasets: int
    gains: int  # data sets whose first metric is better
    losses: int
    p: float  # exact sign test of gains against losses
    averaged: int  # data sets in the mean difference
    mean_difference: float | None  # in points
    low: float | None
    high: float | None


class _Compared(NamedTuple):
    """One metric of one pair: its difference, and the difference of each draw."""

    found: Difference
    draws: Array


def find_contenders(sources: Sequence[str], protocols: Sequence[Protocol]) -> list[Contender]:
    """Find the contenders of `PATH` or `NAME=PATH`: one for each model there and each protocol."""
    files: dict[str, dict[str, ResponseFile]] = {}
    for name, path in map(split_source, sources):
        found = find_responses([path])
        models = sorted({file.model for file in found})
        if name and len(models) > 1:
            raise InputError(f"{path}: has answers of {', '.join(models)}, but {name!r} can name only one of them")
        for file in found:
            own, dataset = files.setdefault(name or file.model, {}), file.dataset.name
            own[dataset] = prefer(own.get(dataset), file, "give them different names, as NAME=PATH")
    many = len(protocols) > 1
    return [
        Contender(f"{name} ({protocol})" if many else name, protocol, own)
        for name, own in files.items()
        for protocol in protocols
    ]


def pair_contenders(contenders: Sequence[Contender], model: str = "") -> list[tuple[str, str]]:
    """Pair `model`, by default the first, with each other contender; or the two protocols of each model."""
    names = [one.name for one in contenders]
    if len({one.protocol for one in contenders}) > 1:
        if model:
            raise InputError("--model is for one protocol: with both, each model's two protocols are compared")
        return list(zip(names[::2], names[1::2], strict=True))
    if model and model not in names:
        raise InputError(f"--model: none is named {model!r}; there are {', '.join(names)}")
    if len(names) < 2:
        raise InputError(f"only {names[0]} was given: name a second model, or use --protocol both")
    first = model or names[0]
    return [(first, name) for name in names if name != first]


def compare_all(
    contenders: Sequence[Contender],
    pairs: Sequence[tuple[str, str]],
    annotations: Mapping[str, Path],
    tools: Tools,
    resamples: int = 1000,
    on_compared: Callable[[str], None] = lambda name: None,
) -> tuple[list[Difference], list[OverallDifference]]:
    """Compare the pairs on every data set that both have; InputError if there is none."""
    found: list[Difference] = []
    firsts: list[_Compared] = []
    for dataset in DATASETS:
        having = [one for one in contenders if dataset in one.files]
        asked = [pair for pair in pairs if set(pair) <= {one.name for one in having}]
        if asked:
            having = [one for one in having if any(one.name in pair for pair in asked)]
            for differences in _compare_dataset(dataset, having, asked, annotations.get(dataset), tools, resamples):
                found += [one.found for one in differences]
                firsts += [one for one in differences if one.found.difference is not None][:1]
            on_compared(dataset)
    if not found:
        raise InputError("no two models have answers on the same data set")
    adjusted = adjust_p(found, lambda one: (one.a, one.b))
    return adjusted, [_overall(pair, adjusted, firsts) for pair in pairs]


def _compare_dataset(
    dataset: str,
    contenders: Sequence[Contender],
    pairs: Sequence[tuple[str, str]],
    annotations: Path | None,
    tools: Tools,
    resamples: int,
) -> Iterator[list[_Compared]]:
    """Yield for each pair the differences in all metrics that both have."""
    items = {one.name: _items(one, dataset, annotations) for one in contenders}
    first, *others = items.values()
    common = [key for key in first if all(key in other for other in others)]
    left_out = len(set().union(*items.values())) - len(common)
    evaluations = {}
    for one in contenders:
        with errors_at(one.files[dataset].path):
            setting = Setting(dataset, one.protocol, one.name, tools)
            evaluations[one.name] = load_task(DATASETS[dataset]).evaluate(
                [items[one.name][key] for key in common], setting
            )
    measured = _measure(evaluations, dataset, resamples) if common else {}
    for a, b in pairs if common else []:
        yield [
            _compare(dataset, (a, b), (measured[a][i], measured[b][j]), left_out)
            for (i, one), (j, other) in product(*(enumerate(evaluations[name].metrics) for name in (a, b)))
            if one.name == other.name
        ]


def _items(contender: Contender, dataset: str, annotations: Path | None) -> dict[QuestionKey, Item]:
    entries = by_question(ResponseSet(contender.files[dataset], annotations))
    return {key: entry.item for key, entry in entries if entry.answered or contender.protocol == "strict"}


class _Measured(NamedTuple):
    """One metric of one contender: its value and its draws."""

    evaluation: Evaluation
    metric: Metric
    value: float
    draws: Array


def _measure(evaluations: Mapping[str, Evaluation], dataset: str, resamples: int) -> dict[str, list[_Measured]]:
    """Draw every metric of every contender on the same recordings; each corpus has a seed of its own."""
    corpus = next(one.name for one in DATASETS.corpora.values() if DATASETS[dataset] in one.datasets)
    limits = [one.most_resamples for one in evaluations.values() if one.most_resamples]
    clusters = next(iter(evaluations.values())).clusters
    functions = {name: one.values for name, one in evaluations.items()}
    draws = draw(functions, clusters, min([resamples, *limits]), seed=crc32(corpus.encode()))
    found: dict[str, list[_Measured]] = {}
    for name, one in evaluations.items():
        values, drawn = one.values()[0], draws[name]
        if one.is_biased:
            drawn = drawn + values - np.nanmean(drawn, axis=0)
        found[name] = [_Measured(one, metric, float(values[i]), drawn[:, i]) for i, metric in enumerate(one.metrics)]
    return found


def _compare(dataset: str, names: tuple[str, str], measured: tuple[_Measured, _Measured], left_out: int) -> _Compared:
    a, b = measured
    compared = compare(a.value - b.value, a.draws, b.draws, a.evaluation.recordings)
    is_mcnemar = is_exact(a.evaluation) and is_exact(b.evaluation)
    difference = Difference(
        a=names[0],
        b=names[1],
        dataset=dataset,
        row=DATASETS[dataset].row,
        task=DATASETS[dataset].task,
        metric=a.metric.name,
        better=a.metric.better,
        n=a.evaluation.n,
        left_out=left_out,
        value_a=finite(a.value),
        value_b=finite(b.value),
        unparsed_a=a.evaluation.unparsed,
        unparsed_b=b.evaluation.unparsed,
        difference=finite(compared.difference),
        low=finite(compared.low),
        high=finite(compared.high),
        p=finite(_mcnemar(a, b) if is_mcnemar else compared.p),
        test="McNemar" if is_mcnemar else "bootstrap",
    )
    return _Compared(difference, a.draws - b.draws)


def _mcnemar(a: _Measured, b: _Measured) -> float:
    ours, theirs = (one.evaluation.statistics[:, one.metric.mean_of] for one in (a, b))
    return mcnemar_exact(int(np.sum(ours > theirs)), int(np.sum(theirs > ours)))


def _overall(
    pair: tuple[str, str], differences: Sequence[Difference], firsts: Sequence[_Compared]
) -> OverallDifference:
    verdicts = Counter(one.verdict for one in differences if (one.a, one.b) == pair)
    own = [one for one in firsts if (one.found.a, one.found.b) == pair]
    gains = sum(one.found.is_gain for one in own)
    losses = sum(bool(one.found.difference) and not one.found.is_gain for one in own)
    averaged = [one for one in own if one.found.task not in OTHER_SCALES]
    mean = float(np.mean([one.found.difference for one in averaged])) if averaged else None
    low = high = None
    if averaged and all(one.found.low is not None for one in averaged):
        count = min(len(one.draws) for one in averaged)
        drawn = np.mean([one.draws[:count] for one in averaged], axis=0)
        low, high = paired_bootstrap(mean or 0.0, drawn, np.zeros(count))[1:3]
    return OverallDifference(
        a=pair[0],
        b=pair[1],
        better=verdicts["better"],
        worse=verdicts["worse"],
        not_told_apart=verdicts["not told apart"],
        not_tested=verdicts[""],
        datasets=len(own),
        gains=gains,
        losses=losses,
        p=mcnemar_exact(gains, losses),
        averaged=len(averaged),
        mean_difference=mean,
        low=low,
        high=high,
    )


MARKS = {"better": "▲", "worse": "▼", "not told apart": "·", "": ""}
_HEADERS = ["row", "metric", "a", "b", "a - b", "95 %", "n", "unparsed a, b", "p", "test", ""]
_OVERALL = ["a", "b", "▲", "▼", "·", "no test", "data sets a > b", "a < b", "sign test p", "mean a - b", "95 %", "of"]
LEGEND = (
    "▲ a is better than b, ▼ worse, · no significant difference (p < .05, Holm over the pair's differences). 95 %: "
    "paired bootstrap of whole recordings. p: exact McNemar test, or that bootstrap."
)
OVERALL_LEGEND = (
    "▲ ▼ ·: numbers of metrics. Data sets count by their first metric; the sign test is exact. mean: in points, over "
    "the data sets whose first metric is a percentage ('of' is their number), which are taken as given."
)


def compare_tables(differences: Sequence[Difference], overall: Sequence[OverallDifference]) -> list[Table]:
    """Return a table for each pair, then one of all pairs."""
    pairs = list(dict.fromkeys((one.a, one.b) for one in differences))
    tables = [_pair_table(pair, [one for one in differences if (one.a, one.b) == pair]) for pair in pairs]
    rows = [
        [
            *(one.a, one.b, str(one.better), str(one.worse), str(one.not_told_apart), str(one.not_tested)),
            *(str(one.gains), str(one.losses), p_value(one.p)),
            *(signed(one.mean_difference), interval((one.low, one.high), with_sign=True), str(one.averaged)),
        ]
        for one in overall
    ]
    return [*tables, Table("Overall", _OVERALL, rows, labels=2, notes=[OVERALL_LEGEND])]


def _pair_table(pair: tuple[str, str], differences: Sequence[Difference]) -> Table:
    rows = [
        [
            *(one.row, one.metric, number(one.value_a), number(one.value_b)),
            *(signed(one.difference), interval((one.low, one.high), with_sign=True), str(one.n)),
            *(f"{one.unparsed_a}, {one.unparsed_b}", p_value(one.p), one.test if one.p is not None else ""),
            MARKS[one.verdict],
        ]
        for one in differences
    ]
    left_out = {one.row: one.left_out for one in differences if one.left_out}
    counts = ", ".join(f"{row} {count}" for row, count in left_out.items())
    notes = [f"Left out because not all have answers: {counts}."] if left_out else []
    return Table(f"a: {pair[0]}, b: {pair[1]}", _HEADERS, rows, labels=2, notes=[*notes, LEGEND])
