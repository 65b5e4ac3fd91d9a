"""The map of models, shown: components with their null, coordinates, loadings; and a picture of all three."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmi.bench.analysis.model_map import ModelMap
from cmi.bench.analysis.shown import sentence, signed
from cmi.report.palette import QUIET, SERIES, colours
from cmi.report.pictures import new_figure, save_picture
from cmi.report.tables import Table

OWN, PUBLISHED = "scored here", "published"


def map_tables(result: ModelMap) -> list[Table]:
    names = _names(result)
    cumulative = np.cumsum([component.share for component in result.components])
    shares = [
        [name, *(f"{100 * share:.1f}" for share in (one.share, reached, one.chance, one.chance_high))]
        for name, one, reached in zip(names, result.components, cumulative, strict=True)
    ]
    notes = [
        f"{len(result.models)} models, {len(result.columns)} metrics. chance: the component's share when each row is"
        " shuffled over the models, mean and 95 % point. A component that does not exceed the latter is no finding.",
        *map(sentence, result.notes),
    ]
    places = [
        [model.name, PUBLISHED if model.is_published else OWN, *(signed(float(x)) for x in row)]
        for model, row in zip(result.models, result.coordinates, strict=True)
    ]
    loadings = [
        [column.row, column.metric, *(signed(float(x)) for x in row)]
        for column, row in zip(result.columns, result.loadings, strict=True)
    ]
    return [
        Table("Share of variance, percent", ["component", "share", "sum", "chance", "95 %"], shares, 1, notes),
        Table("Models on the components", ["model", "numbers", *names], places, 2),
        Table("Loadings: what each component is made of", ["row", "metric", *names], loadings, 2),
    ]


def map_records(result: ModelMap) -> dict[str, Any]:
    """For machines: everything, models last, as they are the records."""
    return {
        "components": [
            {"name": name, "share": one.share, "chance": one.chance, "chance_95": one.chance_high}
            for name, one in zip(_names(result), result.components, strict=True)
        ],
        "loadings": [
            {"row": column.row, "metric": column.metric, **_by_name(result, row)}
            for column, row in zip(result.columns, result.loadings, strict=True)
        ],
        "notes": list(result.notes),
    }


def model_records(result: ModelMap) -> list[dict[str, Any]]:
    return [
        {"model": model.name, "published": model.is_published, **_by_name(result, row)}
        for model, row in zip(result.models, result.coordinates, strict=True)
    ]


def _names(result: ModelMap) -> list[str]:
    return [f"PC{k}" for k in range(1, len(result.components) + 1)]


def _by_name(result: ModelMap, row: Sequence[float]) -> dict[str, float]:
    return {name: float(value) for name, value in zip(_names(result), row, strict=True)}


def draw_map(result: ModelMap, path: Path) -> None:
    """Models on the first two components, and the loadings of every component."""
    count = len(result.components)
    figure = new_figure(6.5 + 2.1 * count, max(5.5, 1.2 + 0.19 * len(result.columns)))
    panels = figure.subplots(1, 1 + count, width_ratios=[5.5, *([2] * count)], squeeze=False)[0]
    _draw_places(panels[0], result)
    labels = [str(column) for column in result.columns]
    for k, (panel, component) in enumerate(zip(panels[1:], result.components, strict=True)):
        panel.barh(range(len(labels)), result.loadings[:, k], color=SERIES[0])
        panel.axvline(0, color=QUIET, linewidth=0.6)
        panel.set_yticks(range(len(labels)), labels if k == 0 else [""] * len(labels), fontsize=6)
        panel.invert_yaxis()
        panel.set_title(
            f"PC{k + 1}: {100 * component.share:.0f} %\n(chance {100 * component.chance:.0f} %)", fontsize=8
        )
        panel.tick_params(axis="x", labelsize=6)
    save_picture(figure, path)


def _draw_places(panel: Any, result: ModelMap) -> None:
    colour = colours([PUBLISHED, OWN])
    second = result.coordinates[:, 1] if len(result.components) > 1 else np.zeros(len(result.models))
    for kind, marker in ((PUBLISHED, "o"), (OWN, "D")):
        own = [i for i, model in enumerate(result.models) if model.is_published == (kind == PUBLISHED)]
        if own:
            panel.scatter(result.coordinates[own, 0], second[own], marker=marker, color=colour[kind], label=kind)
    for model, x, y in zip(result.models, result.coordinates[:, 0], second, strict=True):
        panel.annotate(model.name, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
    panel.axhline(0, color=QUIET, linewidth=0.5)
    panel.axvline(0, color=QUIET, linewidth=0.5)
    panel.margins(0.15)
    panel.set_xlabel("PC1")
    panel.set_ylabel("PC2")
    panel.set_title(f"{len(result.models)} models by {len(result.columns)} metrics", loc="left", fontsize=9)
    panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False)
