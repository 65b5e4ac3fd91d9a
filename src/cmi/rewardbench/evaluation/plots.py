"""Plots of an evaluation: calibration, and accuracy by group."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cmi._util.files import make_folder
from cmi.report.numbers import percent
from cmi.report.pictures import QUIET, new_figure, new_panels, require_matplotlib, save_picture
from cmi.rewardbench.evaluation.cells import Reliability
from cmi.stats import expected_calibration_error

Place = tuple[str, str]  # a data set and a task


def draw_reliability(reliabilities: Sequence[Reliability], path: Path) -> bool:
    """Plot each model's calibration; False if there is nothing to plot."""
    places = list(dict.fromkeys((one.dataset, one.task) for one in reliabilities if one.bins))
    for panel, place in _panels(places, "happened: share of pairs, 95 %", "", path):
        panel.plot([0.5, 1], [0.5, 1], color=QUIET, linewidth=0.8)
        for one in reliabilities:
            if (one.dataset, one.task) == place:
                x, y = [b.forecast for b in one.bins], [b.happened for b in one.bins]
                below = [b.happened - b.interval.low for b in one.bins]
                above = [b.interval.high - b.happened for b in one.bins]
                label = f"{one.model} (ECE {percent(expected_calibration_error(one.bins))} %)"
                panel.errorbar(x, y, yerr=[below, above], marker="o", capsize=2, label=label)
        panel.set_xlabel("said: probability of the predicted winner")
    return bool(places)


def draw_groups(records: Sequence[dict[str, Any]], title: str, path: Path) -> bool:
    """Plot accuracy by group; False if there is nothing to plot."""
    shown = [one for one in records if one["metric"] == "ACC" and one["value"] is not None]
    places = list(dict.fromkeys((one["dataset"], one["task"]) for one in shown))
    for panel, place in _panels(places, "accuracy, 95 %", title, path):
        own = [one for one in shown if (one["dataset"], one["task"]) == place]
        groups = list(dict.fromkeys(one["group"] for one in own))
        models = list(dict.fromkeys(one["model"] for one in own))
        for i, model in enumerate(models):
            rows = [one for one in own if one["model"] == model]
            x = [groups.index(one["group"]) + 0.6 * (i + 0.5) / len(models) - 0.3 for one in rows]
            bars = [[one["value"] - one["low"] for one in rows], [one["high"] - one["value"] for one in rows]]
            panel.errorbar(x, [one["value"] for one in rows], yerr=bars, fmt="o", capsize=2, label=model)
        panel.axhline(0.5, color=QUIET, linewidth=0.8)
        panel.set_xticks(range(len(groups)), groups, fontsize=7, rotation=20)
    return bool(places)


def _panels(places: Sequence[Place], y_label: str, title: str, path: Path) -> Iterator[tuple[Any, Place]]:
    """Yield a panel for each task of a data set, then write the picture."""
    if not places:
        return
    figure = new_figure(1 + 4 * len(places), 4)
    panels = new_panels(figure, columns=len(places))
    for panel, place in zip(panels, places, strict=True):
        yield panel, place
        panel.set_title(": ".join(place), loc="left", fontsize=9)
        panel.set_ylim(0, 1.02)
        panel.legend(frameon=False, fontsize=7)
    panels[0].set_ylabel(y_label)
    if title:
        figure.suptitle(title, fontsize=9)
    save_picture(figure, path)


def picture_folder(folder: Path) -> Path:
    """Make the folder for pictures, before the work begins."""
    require_matplotlib()
    make_folder(folder)
    return folder
