"""Prompts and trials: how much a score changes if the question is reworded, or asked again (figure 3).

Spread
    Of one variant: mean, standard deviation (n - 1), minimum and maximum over its trials; and the same over all runs.
    The spread of prompts is the range of the variants' means, that of trials the largest range within a variant.

Is it large?
    A score on a few hundred clips is itself uncertain. The spread of prompts is compared with the width of the 95 %
    sampling interval of a run (the mean over the runs): a smaller spread could be due to the choice of clips. The runs
    share their clips, so this comparison is conservative: it may miss a small effect of prompts.

Variants and trials
    A run's variant is, in this order,
        the user's name for it: `few-shot=answers/few-shot`;
        in the authors' layout, the question beside the answers: the name of our wording if it is one of ours, else
        `wording 1`, `wording 2` in order of appearance, with the text in a note;
        in our layout, that of the annotation file with the questions of the run's log (`task_type`, `prompt`).
    Anything else is an InputError: nothing is guessed from the names of folders.

    Trials after the first are models called `<model>-t2`, `<model>-t3` and so on, if there is also a `<model>`.
"""

import re
import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cmi._util import runlog
from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.bench.ask import Question
from cmi.bench.ask.answer_log import ABOUT, fingerprint
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Protocol
from cmi.bench.metrics.tools import Tools
from cmi.bench.prompts import wordings_of
from cmi.bench.scoring.many_files import read_scores
from cmi.bench.scoring.one_file import BenchCell, score_file
from cmi.bench.scoring.responses import ResponseFile, clean, find_annotations, find_responses, read_instructions
from cmi.report.numbers import number
from cmi.report.pictures import QUIET, colours, new_figure, save_picture
from cmi.report.tables import Table

EVERY_VARIANT = "all"
LARGER, NOT_LARGER, ONE_VARIANT, NO_INTERVAL = (
    "prompts move it more than clips",
    "prompts move it no more than clips",
    "one variant: nothing to compare",
    "no sampling interval to compare with",
)
_NAMED = re.compile(r"([A-Za-z][\w.+-]*)=(.+)", re.DOTALL)
_TRIAL = re.compile(r"(.+)-t(\d{1,3})")


def split_source(text: str) -> tuple[str, Path]:
    """Split `few-shot=answers/` into ('few-shot', answers/); the name is '' without one, or if such a file exists."""
    match = _NAMED.fullmatch(text)
    if match is None or Path(text).exists():
        return "", Path(text)
    return match[1], Path(match[2])


def split_trial(model: str, models: Collection[str]) -> tuple[str, int]:
    """`qwen2-t3` is ('qwen2', 3) if there is a `qwen2`; `flan-t5` without a `flan` is the first trial of itself."""
    match = _TRIAL.fullmatch(model)
    if match and match[1] in models and int(match[2]) > 1:
        return match[1], int(match[2])
    return model, 1


@dataclass
class Variants:
    """Finds the variants of response files, given the folders of annotation files."""

    folders: Sequence[Path]
    wordings: dict[tuple[str, str], str] = field(default_factory=dict)  # (data set, text) -> its number as a name

    def annotations(self, file: ResponseFile, variant: str = "") -> Path | None:
        """Return the annotation file of that variant, else any: ids agree."""
        found = self._annotations(file.dataset.name)
        return next(
            (path for path in found if variant and self._stated(file, path) == variant), next(iter(found), None)
        )

    def of(self, file: ResponseFile) -> str:
        """Return the variant of a response file; InputError if it is unknown."""
        _, first = next(read_records(file.path), ("", None))
        if first is None:
            raise InputError(f"{file.path}: empty, expected one record per answer")
        if isinstance(first.get("question"), str):
            return self._of_text(file.dataset.name, clean(first["question"]).strip())
        begun_with = _logged_fingerprint(file)
        for path in self._annotations(file.dataset.name):
            if begun_with and begun_with == _fingerprint(file, path) and (stated := self._stated(file, path)):
                return stated
        raise InputError(
            f"{file.path}: its wording is unknown; name it as VARIANT={file.path.parent}, or name its annotation files "
            "with --annotations"
        )

    def notes(self) -> list[str]:
        return [f"{dataset}, {name}: {_shortened(text)}" for (dataset, text), name in self.wordings.items()]

    def _annotations(self, dataset: str) -> list[Path]:
        return [found[dataset] for folder in self.folders if dataset in (found := find_annotations(folder))]

    def _of_text(self, dataset: str, text: str) -> str:
        ours = wordings_of(DATASETS[dataset]).variants
        known = next((name for name, variant in ours.items() if variant.wording == text), None)
        numbered = sum(name == dataset for name, _ in self.wordings)
        return known or self.wordings.setdefault((dataset, text), f"wording {numbered + 1}")

    def _stated(self, file: ResponseFile, annotations: Path) -> str:
        """Return the variant that the first test record names, or ''."""
        _, asked = next(read_instructions(annotations, file.dataset), ("", None))
        stated = asked.task_type.get("prompt") if asked else None
        return stated[0] if isinstance(stated, list) and stated and isinstance(stated[0], str) else ""


def _logged_fingerprint(file: ResponseFile) -> str:
    """Return the fingerprint of the questions in the run's log; '' if there is no log beside the answers."""
    stem = file.path.name.partition(".json")[0]
    for log in sorted(file.path.parent.glob(f"{stem}.*log*")):
        for record in runlog.read_records(log.with_name(log.name.removesuffix(runlog.PARTIAL))):
            if record.get("key") == ABOUT:
                return str(record.get("questions", ""))
    return ""


def _fingerprint(file: ResponseFile, annotations: Path) -> str:
    """Fingerprint as many questions of an annotation file as were answered (`--limit` takes the first)."""
    answered = sum(1 for _ in read_records(file.path))
    asked = islice(read_instructions(annotations, file.dataset), answered)
    return fingerprint(
        [
            Question(name, one.instruction, Path(one.audio_path), max(0.0, one.audio_start), one.audio_end)
            for name, one in asked
        ]
    )


def _shortened(text: str, longest: int = 100) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


@dataclass(frozen=True)
class VariantRun:
    """One score: of a model, asked in one variant, in one trial."""

    variant: str
    cell: BenchCell


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
    """The influence of wording and trial on one model's score in one metric."""

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


def read_runs(
    sources: Sequence[str],
    variants: Variants,
    protocol: Protocol,
    tools: Tools,
    resamples: int = 1000,
    on_scored: Callable[[str], None] = lambda name: None,
) -> list[VariantRun]:
    """Read or compute the scores of all sources: `VARIANT=PATH` or `PATH`, score files or response files."""
    runs: list[VariantRun] = []
    for variant, path in map(split_source, sources):
        cells = read_scores(path)
        if cells is not None:
            if not variant:
                raise InputError(f"{path}: scores do not say which wording they are of; name it as VARIANT={path}")
            runs += [VariantRun(variant, cell) for cell in cells if cell.protocol == protocol]
            continue
        for file in find_responses([path]):
            asked = variant or variants.of(file)
            scored = score_file(file, protocol, tools, variants.annotations(file, asked), resamples)
            runs += [VariantRun(asked, cell) for cell in scored]
            on_scored(f"{file.model} {file.dataset.name} {asked}")
    return runs


def sensitivities(runs: Sequence[VariantRun]) -> list[Sensitivity]:
    """Group scores by model, then by the table's rows; InputError if a trial of a variant occurs twice."""
    names = {(run.variant, run.cell.model) for run in runs}
    groups: dict[tuple[str, str, str], dict[tuple[str, int], BenchCell]] = {}
    for run in runs:
        cell = run.cell
        if cell.is_null or cell.value is None:
            continue
        model, trial = split_trial(cell.model, {name for variant, name in names if variant == run.variant})
        group = groups.setdefault((model, cell.row, cell.metric), {})
        if group.setdefault((run.variant, trial), cell) != cell:
            raise InputError(
                f"{model}, {cell.row} {cell.metric}, variant {run.variant!r}, trial {trial} occurs twice: give "
                "its runs different names, trials as <model>-t2"
            )
    if not groups:
        raise InputError("no scores to compare: no metric was computed")
    ordered = sorted(groups.items(), key=lambda entry: (entry[0][0], DATASETS.rows.index(entry[0][1])))
    return [_sensitivity(place, cells) for place, cells in ordered]


def _sensitivity(place: tuple[str, str, str], cells: dict[tuple[str, int], BenchCell]) -> Sensitivity:
    names = list(dict.fromkeys(variant for variant, _ in cells))
    by_variant = [
        _spread(place, name, [cell for (variant, _), cell in cells.items() if variant == name]) for name in names
    ]
    means = [one.mean for one in by_variant]
    prompts = max(means) - min(means) if len(means) > 1 else None
    repeated = [one.greatest - one.least for one in by_variant if one.trials > 1]
    widths = [cell.high - cell.low for cell in cells.values() if cell.high is not None and cell.low is not None]
    width = statistics.fmean(widths) if widths else None
    nulls = [cell.null_value for cell in cells.values() if cell.null_value is not None]
    better = next(iter(cells.values())).better
    return Sensitivity(
        *place,
        better,
        tuple(by_variant),
        _spread(place, EVERY_VARIANT, list(cells.values())),
        prompts,
        max(repeated) if repeated else None,
        width,
        (max(nulls) if better == "higher" else min(nulls)) if nulls else None,
        _verdict(prompts, width),
    )


def _spread(place: tuple[str, str, str], variant: str, cells: Sequence[BenchCell]) -> Spread:
    values = [float(cell.value) for cell in cells if cell.value is not None]
    return Spread(
        *place,
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


_SPREAD_HEADERS = ["model", "row", "metric", "variant", "trials", "mean", "sd", "min", "max", "n", "unparsed"]
_VERDICT_HEADERS = ["model", "row", "metric", "verdict", "range of prompts", "of trials", "95 % width", "best null"]
LEGEND = (
    "range of prompts: between the variants' means; of trials: the largest within a variant; 95 % width: of the"
    " sampling interval of one run, the mean over runs."
)
PANELS_A_LINE = 3


def prompt_tables(results: Sequence[Sensitivity], protocol: str, notes: Sequence[str] = ()) -> list[Table]:
    spreads = [_spread_row(spread) for one in results for spread in (*one.variants, one.overall)]
    verdicts = [
        [
            *(one.model, one.row, one.metric, one.verdict, number(one.prompt_range), number(one.trial_range)),
            *(number(one.sampling_width), number(one.null_value)),
        ]
        for one in results
    ]
    return [
        Table(f"Scores by variant of the prompt, protocol {protocol}", _SPREAD_HEADERS, spreads, 4, list(notes)),
        Table("What moves the score", _VERDICT_HEADERS, verdicts, 4, [LEGEND]),
    ]


def _spread_row(spread: Spread) -> list[str]:
    return [
        *(spread.model, spread.row, spread.metric, spread.variant, str(spread.trials)),
        *(number(spread.mean), number(spread.deviation)),
        *(number(spread.least), number(spread.greatest), str(spread.n), f"{spread.unparsed:g}"),
    ]


def draw_prompts(results: Sequence[Sensitivity], path: Path) -> None:
    """One panel a metric: a bar for each variant of each model, the deviation over trials on it, the null as a line."""
    places = list(dict.fromkeys((one.row, one.metric) for one in results))
    models = list(dict.fromkeys(one.model for one in results))
    variants = list(dict.fromkeys(spread.variant for one in results for spread in one.variants))
    colour = colours(variants)
    lines = -(-len(places) // PANELS_A_LINE)
    columns = min(len(places), PANELS_A_LINE)
    figure = new_figure(1 + max(3.2, 0.9 * len(models)) * columns, 2.8 * lines)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel in panels[len(places) :]:
        panel.set_axis_off()
    for panel, (row, metric) in zip(panels, places, strict=False):
        own = [one for one in results if (one.row, one.metric) == (row, metric)]
        for one in own:
            for spread in one.variants:
                x = models.index(one.model) + 0.8 * (variants.index(spread.variant) + 0.5) / len(variants) - 0.4
                panel.bar(x, spread.mean, 0.7 / len(variants), color=colour[spread.variant], alpha=0.8)
                panel.errorbar(x, spread.mean, yerr=spread.deviation or 0.0, color="black", capsize=2, linewidth=1)
            if one.null_value is not None:
                at = models.index(one.model)
                panel.plot([at - 0.45, at + 0.45], [one.null_value] * 2, color=QUIET, linestyle="--", linewidth=0.9)
        panel.set_xticks(range(len(models)), models, fontsize=7)
        panel.set_title(f"{row} {metric}", loc="left", fontsize=9)
    for variant, own_colour in colour.items():
        panels[0].bar(0, 0, color=own_colour, label=variant)
    panels[0].plot([], [], color=QUIET, linestyle="--", label="best null")
    figure.legend(frameon=False, fontsize=6, loc="outside lower center", ncols=len(variants) + 1)
    save_picture(figure, path)
