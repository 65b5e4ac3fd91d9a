"""Prompts and trials: how much a score moves when the question is worded otherwise, or just asked again (figure 3).

Spread
    Of one variant: mean, standard deviation (n - 1), least and greatest over its trials. Over all: of every run. The
    spread of prompts is the range of the variants' means, that of trials the largest range within a variant.

Is it large?
    A score on some hundred clips is itself uncertain. The spread of prompts is compared with the width of the 95 %
    sampling interval of a run (the mean over the runs): a spread below it could be seen on other clips alone. The runs
    share their clips, so that this is a careful comparison: it may miss a small effect of prompts.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cmi._util.errors import InputError
from cmi.bench.analysis.sources import read_score_file
from cmi.bench.analysis.variants import Variants, split_source, split_trial
from cmi.bench.catalog import ROWS
from cmi.bench.evaluation import Protocol
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import Cell, score_file
from cmi.bench.scoring.responses import find_responses

EVERY_VARIANT = "all"
LARGER, NOT_LARGER, ONE_VARIANT, NO_INTERVAL = (
    "prompts move it more than clips",
    "prompts move it no more than clips",
    "one variant: nothing to compare",
    "no sampling interval to compare with",
)


@dataclass(frozen=True)
class Run:
    """One score: of a model, asked in one variant, in one trial."""

    variant: str
    cell: Cell


@dataclass(frozen=True)
class Spread:
    """The scores of one model in one metric, asked in one variant, or in all."""

    model: str
    row: str
    metric: str
    variant: str
    trials: int
    mean: float
    deviation: float | None  # None for one trial
    least: float
    greatest: float
    n: int  # items of a trial, the fewest
    unparsed: float  # answers of a trial, the mean


@dataclass(frozen=True)
class Sensitivity:
    """What one model's score in one metric depends on."""

    model: str
    row: str
    metric: str
    better: str
    variants: tuple[Spread, ...]
    overall: Spread
    prompt_range: float | None
    trial_range: float | None
    sampling_width: float | None
    null_value: float | None
    verdict: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_runs(
    sources: Sequence[str],
    variants: Variants,
    protocol: Protocol,
    tools: Tools,
    resamples: int = 1000,
    on_scored: Callable[[str], None] = lambda name: None,
) -> list[Run]:
    """The scores of all sources: `VARIANT=PATH` or `PATH`, of score files or of response files, which are scored."""
    runs: list[Run] = []
    for variant, path in map(split_source, sources):
        cells = read_score_file(path)
        if cells is not None:
            if not variant:
                raise InputError(f"{path}: scores do not say which wording they are of; name it as VARIANT={path}")
            runs += [Run(variant, cell) for cell in cells if cell.protocol == protocol]
            continue
        for file in find_responses([path]):
            asked = variant or variants.of(file)
            scored = score_file(file, protocol, tools, variants.annotations(file, asked), resamples)
            runs += [Run(asked, cell) for cell in scored]
            on_scored(f"{file.model} {file.dataset.name} {asked}")
    return runs


def sensitivities(runs: Sequence[Run]) -> list[Sensitivity]:
    """By model, then by the table's rows. InputError if one trial of a variant is there twice."""
    names = {(run.variant, run.cell.model) for run in runs}
    groups: dict[tuple[str, str, str], dict[tuple[str, int], Cell]] = {}
    for run in runs:
        cell = run.cell
        if cell.is_null or cell.value is None:
            continue
        model, trial = split_trial(cell.model, {name for variant, name in names if variant == run.variant})
        group = groups.setdefault((model, cell.row, cell.metric), {})
        if group.setdefault((run.variant, trial), cell) != cell:
            raise InputError(
                f"{model}, {cell.row} {cell.metric}, variant {run.variant!r}, trial {trial} is there twice: name its"
                " runs apart, trials as <model>-t2"
            )
    if not groups:
        raise InputError("no scores to compare: no metric was computed")
    ordered = sorted(groups.items(), key=lambda entry: (entry[0][0], ROWS.index(entry[0][1])))
    return [_sensitivity(*place, cells) for place, cells in ordered]


def _sensitivity(model: str, row: str, metric: str, cells: dict[tuple[str, int], Cell]) -> Sensitivity:
    names = list(dict.fromkeys(variant for variant, _ in cells))
    by_variant = [
        _spread(model, row, metric, name, [cell for (variant, _), cell in cells.items() if variant == name])
        for name in names
    ]
    means = [one.mean for one in by_variant]
    prompts = max(means) - min(means) if len(means) > 1 else None
    repeated = [one.greatest - one.least for one in by_variant if one.trials > 1]
    widths = [cell.high - cell.low for cell in cells.values() if cell.high is not None and cell.low is not None]
    width = statistics.fmean(widths) if widths else None
    nulls = [cell.null_value for cell in cells.values() if cell.null_value is not None]
    better = next(iter(cells.values())).better
    return Sensitivity(
        model,
        row,
        metric,
        better,
        tuple(by_variant),
        _spread(model, row, metric, EVERY_VARIANT, list(cells.values())),
        prompts,
        max(repeated) if repeated else None,
        width,
        (max(nulls) if better == "higher" else min(nulls)) if nulls else None,
        _verdict(prompts, width),
    )


def _spread(model: str, row: str, metric: str, variant: str, cells: Sequence[Cell]) -> Spread:
    values = [float(cell.value) for cell in cells if cell.value is not None]
    return Spread(
        model,
        row,
        metric,
        variant,
        len(values),
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else None,
        min(values),
        max(values),
        min(cell.n for cell in cells),
        statistics.fmean(cell.unparsed for cell in cells),
    )


def _verdict(prompts: float | None, width: float | None) -> str:
    if prompts is None:
        return ONE_VARIANT
    if width is None:
        return NO_INTERVAL
    return LARGER if prompts > width else NOT_LARGER
