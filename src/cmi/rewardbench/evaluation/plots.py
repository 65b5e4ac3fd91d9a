"""Plots of an evaluation: calibration, and accuracy by group."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi._util.files import make_folder
from cmi.report.numbers import percent
from cmi.report.pictures import QUIET, new_figure, new_panels, require_matplotlib, save_picture
from cmi.rewardbench.evaluation.cells import Reliability
from cmi.stats import expected_calibration_error


def draw_reliability(reliabilities: Sequence[Reliability], path: Path) -> bool:
    """Plot each model's calibration, one panel per task of a data set; False if there is nothing to plot."""
    panels = list(dict.fromkeys((one.dataset, one.task) for one in reliabilities if one.bins))
    if not panels:
        return False
    figure, axes = _panels(len(panels))
    for panel, (dataset, task) in zip(axes, panels, strict=True):
        panel.plot([0.5, 1], [0.5, 1], color=QUIET, linewidth=0.8)
        for one in reliabilities:
            if (one.dataset, one.task) == (dataset, task):
                x, y = [b.forecast for b in one.bins], [b.happened for b in one.bins]
                bars = [
                    [b.happened - b.interval.low for b in one.bins],
                    [b.interval.high - b.happened for b in one.bins],
                ]
                label = f"{one.model} (ECE {percent(expected_calibration_error(one.bins))} %)"
                panel.errorbar(x, y, yerr=bars, marker="o", capsize=2, label=label)
        panel.set_title(f"{dataset}: {task}", loc="left", fontsize=9)
        panel.set_xlabel("said: probability of the predicted winner")
        panel.set_ylim(0, 1.02)
        panel.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("happened: share of pairs, 95 %")
    save_picture(figure, path)
    return True


def draw_groups(records: Sequence[dict[str, Any]], title: str, path: Path) -> bool:
    """Plot accuracy by group, one panel per task of a data set; False if there is nothing to plot."""
    shown = [one for one in records if one["metric"] == "ACC" and one["value"] is not None]
    panels = list(dict.fromkeys((one["dataset"], one["task"]) for one in shown))
    if not panels:
        return False
    figure, axes = _panels(len(panels))
    for panel, (dataset, task) in zip(axes, panels, strict=True):
        own = [one for one in shown if (one["dataset"], one["task"]) == (dataset, task)]
        groups = list(dict.fromkeys(one["group"] for one in own))
        models = list(dict.fromkeys(one["model"] for one in own))
        for i, model in enumerate(models):
            rows = [one for one in own if one["model"] == model]
            x = [groups.index(one["group"]) + 0.6 * (i + 0.5) / len(models) - 0.3 for one in rows]
            bars = [[one["value"] - one["low"] for one in rows], [one["high"] - one["value"] for one in rows]]
            panel.errorbar(x, [one["value"] for one in rows], yerr=bars, fmt="o", capsize=2, label=model)
        panel.axhline(0.5, color=QUIET, linewidth=0.8)
        panel.set_xticks(range(len(groups)), groups, fontsize=7, rotation=20)
        panel.set_title(f"{dataset}: {task}", loc="left", fontsize=9)
        panel.set_ylim(0, 1.02)
        panel.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("accuracy, 95 %")
    figure.suptitle(title, fontsize=9)
    save_picture(figure, path)
    return True


def picture_folder(folder: Path) -> Path:
    """Make the folder for pictures, before the work begins."""
    require_matplotlib()
    make_folder(folder)
    return folder


def _panels(count: int) -> tuple[Any, list[Any]]:
    figure = new_figure(1 + 4 * count, 4)
    return figure, new_panels(figure, columns=count)
