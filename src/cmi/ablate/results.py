"""Results of an ablation: values with intervals, differences from the reference, nulls, and findings.

Measures of a test set
    an axis          pairs: how often the preferred take scores higher, a tie of scores counting half;
                     ratings: Spearman's rank correlation of scores and ratings
    mean             of the axes
    cross-entropy    pairs: of the logistic function of the difference of scores, mean of the axes; 0.693 for a guess

Intervals are 95 %, from a bootstrap over prompts. Differences are of rows that all variants scored, on the same draws;
p values are adjusted by Holm over the variants of a table. With fewer than 20 prompts there is no p value. Neither
covers the choice of the training's seed.

Findings
    'one is better'      holds if the interval is above 0, fails if it is below 0
    'no difference'      holds if the interval lies within 2 points of 0, fails if it excludes 0
    inconclusive         everything else, and fewer than 30 prompts
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.ablate.matrix import Claim, Matrix, MatrixTable
from cmi.preferences import AXES
from cmi.report.numbers import interval, number, p_value, signed
from cmi.report.tables import Table, to_plain
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import Array, Scores, Task, answers, ask, credit
from cmi.stats import weighted_spearman
from cmi.stats.comparison import Comparison, Metric, adjust_p, compare, draw, finite, interval_of
from cmi.take import Axis

MEAN, ENTROPY, EVERYTHING = "mean", "cross-entropy", "all"
NULL = "null: "
RESAMPLES = 2000
HOLDS, FAILS, UNKNOWN = "holds", "fails", "inconclusive"
FEWEST = 30  # prompts behind a verdict
SAME = 0.02
Record = dict[str, Any]
Floats = NDArray[np.float64]
SHARE, OTHER = Metric("share", is_share=True), Metric("other")
TASKS = (
    Task("musicality", True, ("musicality",), "musicality"),
    Task("alignment", True, ("alignment",), "alignment"),
    Task("overall", True, ("overall",), "mean"),
    Task("musicality", False, ("musicality",), "musicality"),
    Task("alignment", False, ("alignment",), "alignment"),
)


@dataclass(frozen=True)
class AblationCell:
    """One number of a variant or a null, and its difference from the reference of its table."""

    variant: str
    table: str
    test: str
    measure: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    prompts: int
    reference: str = ""
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None


class ScoredSet:
    """The pairs or the ratings of one test set, and the scores that variants and nulls gave them."""

    def __init__(
        self,
        name: str,
        items: Sequence[RatedItem],
        variants: Mapping[str, Scores],
        nulls: Mapping[str, Scores],
        axes: Sequence[Axis] = AXES,
    ) -> None:
        asked = ask(items, [task for task in TASKS if task.name in axes])
        self.name, self.is_pairs = name, items[0].is_pair
        self.axes = [one.task.name for one in asked]
        self.variants = list(variants)
        rows = [(axis, item) for axis, one in enumerate(asked) for item in one.items]
        self._axis = np.array([axis for axis, _ in rows])
        self._groups = np.array([item.prompt.modality for _, item in rows])
        self._clusters = np.unique([item.cluster for _, item in rows], return_inverse=True)[1]
        self._truth: Floats = np.concatenate([np.empty(0), *(one.truth for one in asked)])
        self._given: dict[str, Floats] = {
            system: np.concatenate([np.empty(0), *(answers(one, scores) for one in asked)])
            for system, scores in {**variants, **{NULL + null: scores for null, scores in nulls.items()}}.items()
        }
        self._scored = np.all([~np.isnan(self._given[variant]) for variant in variants], axis=0)
        self.unscored = int((~self._scored).sum())
        self.nulls = [system for system in self._given if system not in variants and self._counted(system, MEAN).any()]
        self.draws = cache(self._draws)

    @property
    def measures(self) -> list[str]:
        return [*self.axes, MEAN, *([ENTROPY] if self.is_pairs else [])]

    @property
    def groups(self) -> list[str]:
        return sorted(set(self._groups))

    def _counted(self, system: str, measure: str, group: str = EVERYTHING) -> NDArray[np.bool_]:
        """The rows (n,) that a measure is of."""
        of_axis = self._axis == self.axes.index(measure) if measure in self.axes else np.ones(len(self._axis), bool)
        in_group = (self._groups == group) | (group == EVERYTHING)
        return self._scored & of_axis & in_group & ~np.isnan(self._given[system])

    def size(self, system: str, measure: str, group: str = EVERYTHING) -> tuple[int, int]:
        """The numbers of rows and of prompts."""
        counted = self._counted(system, measure, group)
        return int(counted.sum()), len(np.unique(self._clusters[counted]))

    def _statistic(self, weights: Floats, system: str, measure: str, group: str) -> Floats:
        """The measure (b,) under weights (b, n): the mean of that of each axis."""
        found = []
        for axis in self.axes if measure in (MEAN, ENTROPY) else [measure]:
            rows = self._counted(system, axis, group)
            if rows.any():
                of = weights[:, rows], self._given[system][rows], self._truth[rows]
                found.append(_share(*of, measure == ENTROPY) if self.is_pairs else weighted_spearman(*of[1:], of[0]))
        return np.mean(found, axis=0) if found else np.full(len(weights), np.nan)

    def value(self, system: str, measure: str, group: str = EVERYTHING) -> float:
        return float(self._statistic(np.ones((1, len(self._axis))), system, measure, group)[0])

    def _draws(self, system: str, measure: str, group: str = EVERYTHING) -> Array:
        statistic = {0: lambda weights: self._statistic(np.asarray(weights, float), system, measure, group)}
        return draw(statistic, self._clusters, RESAMPLES)[0]

    def compare(self, one: str, other: str, measure: str, group: str = EVERYTHING) -> Comparison:
        """One variant minus another."""
        difference = self.value(one, measure, group) - self.value(other, measure, group)
        ours, theirs = (self.draws(name, measure, group) for name in (one, other))
        return compare(difference, ours, theirs, self.size(one, measure, group)[1])


def _share(weights: Floats, differences: Floats, truth: Floats, entropy: bool) -> Floats:
    """The accuracy or the cross-entropy of differences of scores (n,) in each draw; NaN in a draw of no row."""
    leads = np.where(truth == 1, differences, -differences)
    values = np.logaddexp(0, -leads) if entropy else credit(differences, truth, "strict")
    with np.errstate(invalid="ignore"):
        return (weights @ values) / weights.sum(axis=1)


class ComparedRows(NamedTuple):
    """The cells of one table of the matrix on one test set."""

    table: MatrixTable
    reference: str  # '' if it is not finished
    tested: ScoredSet
    cells: list[AblationCell]


def compare_variants(
    matrix: Matrix, items: Iterable[RatedItem], variants: Mapping[str, Scores], nulls: Mapping[str, Scores]
) -> list[ComparedRows]:
    """Return each table of the matrix on each test set, with the variants that were scored."""
    parts: dict[tuple[str, bool], list[RatedItem]] = {}  # pairs and ratings of a set are apart
    for item in items:
        parts.setdefault((item.dataset, item.is_pair), []).append(item)

    @cache
    def score_sets(axes: tuple[Axis, ...]) -> list[ScoredSet]:
        sets = [ScoredSet(name, part, variants, nulls, axes) for (name, _), part in parts.items()]
        return [one for one in sets if one.axes]

    found = []
    for table in matrix.tables or (MatrixTable("Ablations", tuple(matrix.variants)),):
        rows = [name for name in table.variants if name in variants]
        reference = table.reference or matrix.reference
        reference = reference if reference in variants else ""
        if rows:
            sets = score_sets(table.axes)
            found += [ComparedRows(table, reference, one, _cells(table, reference, rows, one)) for one in sets]
    return found


def _cells(table: MatrixTable, reference: str, rows: Sequence[str], tested: ScoredSet) -> list[AblationCell]:
    cells = []
    for group in (EVERYTHING, *(tested.groups if table.by else ())):
        for system in (*rows, *tested.nulls):
            is_null = system in tested.nulls
            for measure in tested.measures:
                if is_null and measure == ENTROPY:  # nulls give no probabilities
                    continue
                value, (n, prompts) = tested.value(system, measure, group), tested.size(system, measure, group)
                metric = SHARE if tested.is_pairs and measure != ENTROPY else OTHER
                ends = interval_of(metric, value, tested.draws(system, measure, group), prompts)
                place = (system, table.title, tested.name, measure, group)
                cell = AblationCell(*place, finite(value), finite(ends.low), finite(ends.high), n, prompts)
                if reference and not is_null and system != reference:
                    difference, low, high, p = map(finite, tested.compare(system, reference, measure, group))
                    cell = replace(cell, reference=reference, difference=difference, p=p)
                    cell = replace(cell, difference_low=low, difference_high=high)
                cells.append(cell)
    return adjust_p(cells, lambda cell: (cell.measure, cell.group))


def result_records(about: Sequence[Record], compared: Sequence[ComparedRows]) -> list[Record]:
    """Return a record for each variant and each null: its facts and its cells."""
    found: dict[str, Record] = {record["id"]: {**record, "cells": []} for record in about}
    for cell in (cell for one in compared for cell in one.cells):
        record = found.setdefault(cell.variant, {"id": cell.variant, "cells": []})
        record["cells"].append({name: value for name, value in asdict(cell).items() if name != "variant"})
    return [to_plain(record) for record in found.values()]


def result_tables(
    about: Sequence[Record], matrix: Matrix, compared: Sequence[ComparedRows], failures: Mapping[str, str]
) -> list[Table]:
    """The variants, every table of the matrix on every test set, and the findings."""
    tables = [_variants_table(about, failures), *map(_results_table, compared)]
    by_axes = sorted((one.tested for one in compared), key=lambda one: len(one.axes))
    tested = {(one.name, one.is_pairs): one for one in by_axes}.values()  # each set with as many axes as a table has
    rows = [row for claim in matrix.findings for one in tested for row in _finding(claim, one)]
    if rows:
        headers = ["finding", "section", "here", "measure", "test set", "n", "difference", "95 %", "it"]
        notes = [
            f"Inconclusive: the interval includes 0 (if no difference is claimed: is not within {100 * SAME:g} "
            f"points), or there are fewer than {FEWEST} prompts.",
        ]
        tables.append(Table("Findings", headers, rows, labels=5, notes=notes))
    return tables


def _variants_table(about: Sequence[Record], failures: Mapping[str, str]) -> Table:
    rows = []
    for record in about:
        trained = sum(group["examples"] for group in record["counts"]["data"])
        kept = f"{record['best_step']:,} of {record['steps']:,}"
        rows.append([record["id"], record["after"], record["changes"], f"{trained:,}", kept])
    notes = [f"{name} failed: {reason}." for name, reason in failures.items()]
    if untrained := [record["id"] for record in about if record["best_step"] == 0]:
        notes.append(f"Training did not help {', '.join(untrained)}: the head before it validated best, and was kept.")
    if left_out := max(record["unheard"] for record in about):
        notes.append(
            f"Up to {left_out:,} examples of a variant were left out because their recordings could not be read."
        )
    return Table("Variants", ["variant", "after", "changes", "examples", "step kept"], rows, labels=3, notes=notes)


def _results_table(one: ComparedRows) -> Table:
    table, tested = one.table, one.tested
    measures = [*tested.axes, *([MEAN] if len(tested.axes) > 1 else [])]
    printed = table.paper.get(tested.name) or table.paper.get(tested.name.partition(" (")[0], {})
    by_row: dict[tuple[str, str], dict[str, AblationCell]] = {}
    for cell in one.cells:
        by_row.setdefault((cell.variant, cell.group), {})[cell.measure] = cell
    digits, scale = (1, 100) if tested.is_pairs else (3, 1)
    rows = []
    for (variant, group), cells in by_row.items():
        row = [variant, *([group] if table.by else [])]
        for measure in measures:
            cell = cells[measure]
            shown = (number(cell.value, digits, scale), interval((cell.low, cell.high), digits, scale))
            row += [*shown, *([f"{cell.n:,}"] if measure != MEAN else [])]
        row += [number(cells[ENTROPY].value, 3) if ENTROPY in cells else ""] if tested.is_pairs else []
        mean = cells[MEAN]
        difference = signed(mean.difference, digits, scale)
        ends = interval((mean.difference_low, mean.difference_high), digits, scale, with_sign=True)
        row += [difference, ends, p_value(mean.p)] if mean.reference else ["", "", ""]
        place = variant if group == EVERYTHING else f"{variant} {group}"
        rows.append([*row, *([printed.get(place, "")] if printed else [])])
    words = ["variant", *(["prompt"] if table.by else [])]
    unit = " %" if tested.is_pairs else ""
    columns = [name for m in measures for name in (f"{m}{unit}", "95 %", *(["n"] if m != MEAN else []))]
    headers = [*words, *columns, *(["cross-entropy"] if tested.is_pairs else [])]
    headers += [f"v {one.reference or 'reference'}", "95 %", "p", *(["paper"] if printed else [])]
    what = "accuracy" if tested.is_pairs else "rank correlation with ratings"
    prompts = max(cell.prompts for cell in one.cells)
    notes = [f"{tested.unscored} rows were left out because a take has no score."] if tested.unscored else []
    return Table(f"{table.title}: {what} on {tested.name}, {prompts:,} prompts", headers, rows, len(words), notes)


def _finding(claim: Claim, tested: ScoredSet) -> Iterator[list[str]]:
    """The row of a claim on a test set that has its measure, if both variants were scored."""
    if not {claim.better, claim.worse} <= set(tested.variants) or claim.measure not in tested.measures:
        return
    if claim.on not in ("", "pairs" if tested.is_pairs else "ratings"):
        return
    found = tested.compare(claim.better, claim.worse, claim.measure)
    if claim.measure == ENTROPY:  # of which less is better
        found = Comparison(-found.difference, -found.high, -found.low, found.p)
    n, prompts = tested.size(claim.better, claim.measure)
    shown = (1, 100) if tested.is_pairs and claim.measure != ENTROPY else (3, 1)
    yield [
        *(claim.text, claim.section, f"{claim.better} v {claim.worse}", claim.measure, tested.name, f"{n:,}"),
        *(signed(found.difference, *shown), interval(found[1:3], *shown, with_sign=True)),
        verdict(found, prompts, claim.same),
    ]


def verdict(found: Comparison, prompts: int, same: bool) -> str:
    low, high = found.low, found.high
    if prompts < FEWEST or math.isnan(low):
        return UNKNOWN
    if same:
        return HOLDS if max(-low, high) <= SAME else FAILS if low > 0 or high < 0 else UNKNOWN
    return HOLDS if low > 0 else FAILS if high < 0 else UNKNOWN
