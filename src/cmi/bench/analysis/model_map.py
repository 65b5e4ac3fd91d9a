"""A map of models: principal components of their scores (figure 6).

Method
    Each metric is oriented so that more is better and standardised over the models (mean 0, standard deviation 1). The
    metrics of one row of the table are divided by the square root of their number, so that captions, with four metrics,
    weigh as much as key, with one. Of the singular value decomposition, coordinates are U S and loadings V. A
    component's sign is chosen so that its largest loading is positive.

Left out, with a note
    Metrics on which all models agree, because they cannot be standardised; models that lack more than half of the
    metrics; and after that, metrics that some model still lacks (or, with `mean`, missing values are set to the mean).

Null
    With few models, some component is always large. `chance` is the component's share of variance if each row of the
    table, with all its metrics, is shuffled over the models: its mean and 95th percentile (Horn's parallel analysis).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.analysis.model_scores import MetricColumn, ScoredModel, ScoreMatrix
from cmi.bench.evaluation import Array
from cmi.report.numbers import percent, signed
from cmi.report.pictures import QUIET, SERIES, colours, new_figure, save_picture, spread_labels
from cmi.report.tables import Table, sentence

FEWEST_MODELS = 3
SEED = 0
Missing = Literal["leave-out", "mean"]


@dataclass(frozen=True)
class Component:
    share: float  # of the variance
    chance: float  # its mean share in shuffled data
    chance_high: float  # its 95 % point there


@dataclass(frozen=True)
class ModelMap:
    models: tuple[ScoredModel, ...]
    columns: tuple[MetricColumn, ...]
    coordinates: Array  # (models, components)
    loadings: Array  # (columns, components), each component a unit vector
    components: tuple[Component, ...]
    notes: tuple[str, ...]


def map_models(
    scores: ScoreMatrix, components: int = 4, missing: Missing = "leave-out", shuffles: int = 1000
) -> ModelMap:
    complete = complete_scores(scores, missing)
    table = standardised(complete)
    left, sizes, right = np.linalg.svd(table, full_matrices=False)
    count = min(components, int(np.sum(sizes > 1e-9 * sizes[0])))
    shares = sizes**2 / np.sum(sizes**2)
    by_chance = _shuffled_shares(table, [column.row for column in complete.columns], shuffles)[:, :count]
    signs = np.sign(right[np.arange(count), np.argmax(np.abs(right[:count]), axis=1)])
    return ModelMap(
        complete.models,
        complete.columns,
        (left * sizes)[:, :count] * signs,
        right[:count].T * signs,
        tuple(
            Component(float(shares[k]), float(by_chance[:, k].mean()), float(np.quantile(by_chance[:, k], 0.95)))
            for k in range(count)
        ),
        complete.notes,
    )


def complete_scores(scores: ScoreMatrix, missing: Missing) -> ScoreMatrix:
    """ScoreMatrix without gaps, and notes that say what became of them. InputError if too little is left."""
    notes = list(scores.notes)
    there = np.isfinite(scores.values)
    enough = there.mean(axis=1) >= 0.5
    if not enough.all():
        names = [f"{m.name} ({int(there[i].sum())})" for i, m in enumerate(scores.models) if not enough[i]]
        notes.append(f"models left out, with fewer than half of the {there.shape[1]} metrics: {', '.join(names)}")
    values, there = scores.values[enough], there[enough]
    whole = there.all(axis=0)
    if missing == "mean" and not whole.all():
        _, gaps = np.nonzero(~there)
        notes.append(f"{len(gaps)} missing cells of {len(set(gaps.tolist()))} metrics are set to the metric's mean")
        means = np.nanmean(np.where(there.any(axis=0), values, 0.0), axis=0)
        values = np.where(there, values, means)
    elif not whole.all():
        names = [str(column) for column, kept in zip(scores.columns, whole, strict=True) if not kept]
        notes.append(f"metrics left out, which some model lacks: {', '.join(names)}")
    kept = whole | (missing == "mean")
    varied = kept & (np.ptp(np.where(kept, values, 0.0), axis=0) > 0) if len(values) else kept & False
    if flat := [str(scores.columns[i]) for i in np.flatnonzero(kept & ~varied)]:
        notes.append(f"metrics left out, on which all models agree: {', '.join(flat)}")
    models = tuple(model for model, one in zip(scores.models, enough, strict=True) if one)
    columns = tuple(column for column, one in zip(scores.columns, varied, strict=True) if one)
    if len(models) < FEWEST_MODELS or not columns:
        raise InputError(
            f"{len(models)} models with {len(columns)} metrics in common are too few for a map, which needs "
            f"{FEWEST_MODELS}: name more scores, include the published ones, or use --missing mean"
        )
    return ScoreMatrix(models, columns, values[:, varied], tuple(notes))


def standardised(scores: ScoreMatrix) -> Array:
    """More is better, mean 0, deviation 1 over the models, and each row of the table with the same weight."""
    turned = scores.values * [1.0 if column.better == "higher" else -1.0 for column in scores.columns]
    rows = [column.row for column in scores.columns]
    weights = np.array([rows.count(row) for row in rows]) ** -0.5
    return (turned - turned.mean(axis=0)) / turned.std(axis=0) * weights


def _shuffled_shares(table: Array, rows: list[str], shuffles: int) -> Array:
    """Return the shares of variance after shuffling each row's columns over the models: (shuffles, components)."""
    rng = np.random.default_rng(SEED)
    place = np.unique(rows, return_inverse=True)[1]  # of each column's row
    shares = []
    for _ in range(shuffles):
        orders = np.argsort(rng.random((len(table), place.max() + 1)), axis=0)[:, place]
        sizes = np.linalg.svd(np.take_along_axis(table, orders, axis=0), compute_uv=False)
        shares.append(sizes**2 / np.sum(sizes**2))
    return np.array(shares)


OWN, PUBLISHED = "scored here", "published"


def map_tables(result: ModelMap) -> list[Table]:
    names = _names(result)
    cumulative = np.cumsum([component.share for component in result.components])
    shares = [
        [name, *map(percent, (one.share, reached, one.chance, one.chance_high))]
        for name, one, reached in zip(names, result.components, cumulative, strict=True)
    ]
    notes = [
        f"{len(result.models)} models, {len(result.columns)} metrics. chance: the component's share when each row is"
        " shuffled over the models, mean and 95 % point. A component that does not exceed the latter is not "
        "significant.",
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
    """Return everything as JSON records; the models come last."""
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
    names = _draw_places(panels[0], result)
    labels = [str(column) for column in result.columns]
    for k, (panel, component) in enumerate(zip(panels[1:], result.components, strict=True)):
        panel.barh(range(len(labels)), result.loadings[:, k], color=SERIES[0])
        panel.axvline(0, color=QUIET, linewidth=0.6)
        panel.set_yticks(range(len(labels)), labels if k == 0 else [""] * len(labels), fontsize=6)
        panel.invert_yaxis()
        panel.set_title(
            f"PC{k + 1}: {percent(component.share, 0)} %\n(chance {percent(component.chance, 0)} %)", fontsize=8
        )
        panel.tick_params(axis="x", labelsize=6)
    spread_labels(figure, names)
    save_picture(figure, path)


def _draw_places(panel: Any, result: ModelMap) -> list[Any]:
    """Draw the models; return the labels that name them."""
    colour = colours([PUBLISHED, OWN])
    second = result.coordinates[:, 1] if len(result.components) > 1 else np.zeros(len(result.models))
    for kind, marker in ((PUBLISHED, "o"), (OWN, "D")):
        own = [i for i, model in enumerate(result.models) if model.is_published == (kind == PUBLISHED)]
        if own:
            panel.scatter(result.coordinates[own, 0], second[own], marker=marker, color=colour[kind], label=kind)
    line = {"arrowstyle": "-", "color": QUIET, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2}
    labels = [
        panel.annotate(model.name, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7, arrowprops=line)
        for model, x, y in zip(result.models, result.coordinates[:, 0], second, strict=True)
    ]
    panel.axhline(0, color=QUIET, linewidth=0.5)
    panel.axvline(0, color=QUIET, linewidth=0.5)
    panel.margins(0.2, 0.15)
    panel.set_xlabel("PC1")
    panel.set_ylabel("PC2")
    panel.set_title(f"{len(result.models)} models by {len(result.columns)} metrics", loc="left", fontsize=9)
    panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False)
    return labels
