"""A map of models: principal components of what they score (figure 6).

Method
    Each metric is turned so that more is better and standardised over the models (mean 0, standard deviation 1). The
    metrics of one row of the table are divided by the square root of their number, so that captions, with four metrics,
    weigh as much as key, with one. Then the singular value decomposition: coordinates are U S, loadings V. A
    component's sign is chosen so that its largest loading is positive.

What is left out, and said
    A metric on which all models agree has no spread to standardise. Models that lack more than half of the metrics are
    left out; so are, after that, metrics which some model still lacks (or they stand at the metric's mean, `mean`).

Null
    With few models some component is always large. `chance` is the share of variance that the component has when each
    row of the table, all its metrics together, is shuffled over the models by itself: its mean and its 95 % point
    (Horn's parallel analysis).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cmi._util.errors import InputError
from cmi.bench.analysis.model_scores import Column, Model, Scores
from cmi.bench.evaluation import Array

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
    models: tuple[Model, ...]
    columns: tuple[Column, ...]
    coordinates: Array  # (models, components)
    loadings: Array  # (columns, components), each component a unit vector
    components: tuple[Component, ...]
    notes: tuple[str, ...]


def map_models(scores: Scores, components: int = 4, missing: Missing = "leave-out", shuffles: int = 1000) -> ModelMap:
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


def complete_scores(scores: Scores, missing: Missing) -> Scores:
    """Scores without gaps, and notes that say what became of them. InputError if too little is left."""
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
        notes.append(f"{len(gaps)} missing cells of {len(set(gaps.tolist()))} metrics stand at the metric's mean")
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
            f"{len(models)} models with {len(columns)} metrics in common make no map, which needs {FEWEST_MODELS}:"
            " name more scores, keep the published ones in, or use --missing mean"
        )
    return Scores(models, columns, values[:, varied], tuple(notes))


def standardised(scores: Scores) -> Array:
    """More is better, mean 0, deviation 1 over the models, and each row of the table with the same weight."""
    turned = scores.values * [1.0 if column.better == "higher" else -1.0 for column in scores.columns]
    rows = [column.row for column in scores.columns]
    weights = np.array([rows.count(row) for row in rows]) ** -0.5
    return (turned - turned.mean(axis=0)) / turned.std(axis=0) * weights


def _shuffled_shares(table: Array, rows: list[str], shuffles: int) -> Array:
    """(shuffles, components): shares of variance when the columns of each row are shuffled over the models together."""
    rng = np.random.default_rng(SEED)
    place = np.unique(rows, return_inverse=True)[1]  # of each column's row
    shares = []
    for _ in range(shuffles):
        orders = np.argsort(rng.random((len(table), place.max() + 1)), axis=0)[:, place]
        sizes = np.linalg.svd(np.take_along_axis(table, orders, axis=0), compute_uv=False)
        shares.append(sizes**2 / np.sum(sizes**2))
    return np.array(shares)
