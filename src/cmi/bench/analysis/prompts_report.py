"""Prompts and trials, shown: the spread of each variant, what it compares with, and the paper's figure 3."""

from collections.abc import Sequence
from pathlib import Path

from cmi.bench.analysis.prompts import Sensitivity, Spread
from cmi.bench.analysis.shown import number
from cmi.report.palette import QUIET, colours
from cmi.report.pictures import new_figure, save_picture
from cmi.report.tables import Table

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
