"""Contamination: do models rank better on data sets that they were trained on?

Ranks
    1 is the best of the models that have a value; equal values share their mean rank; the metrics of a data set are
    averaged. If some models have no value, ranks are rescaled to the number of all models.

Comparison
    A strong model ranks well everywhere, so each model is compared with itself: its mean rank on data sets with
    overlap, minus that on the others; below 0 is better with overlap. Over all models: the mean of these differences,
    weighted by the number of overlaps.

Test
    An exact permutation test on the sum of the ranks with overlap: each model's overlaps are assigned to its data sets
    in every possible way, independently for each model. p is the share of assignments whose sum deviates from the
    expected one at least as much as the observed one, in either direction.

Known training data of models are listed in `training_data.toml` beside this module, or in a user's file in the same
layout. 'Others' are data sets that are not known to overlap; if a source states that some do not overlap, the
comparison is also shown against these alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any, Literal

import numpy as np

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi.bench.analysis.model_scores import ScoreMatrix, dataset_of
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Array
from cmi.report.numbers import number, p_value, signed
from cmi.report.pictures import QUIET, colours, new_figure, save_picture
from cmi.report.tables import Table, sentence
from cmi.stats.correlation import average_ranks

STATED, IMPLIED, NONE, UNKNOWN = "stated", "implied", "none", "unknown"
ALL_MODELS = "all models"
KINDS = {"stated": (STATED,), "stated or implied": (STATED, IMPLIED)}  # what counts as overlap


@dataclass(frozen=True)
class Fact:
    overlap: Literal["stated", "implied", "none"]
    why: str = ""


Facts = dict[tuple[str, str], Fact]  # by model and data set; what is not in it is unknown


@dataclass(frozen=True)
class DatasetRank:
    """One model's rank on one data set, and whether it was trained on it."""

    model: str
    dataset: str
    rank: Fraction
    overlap: str
    why: str = ""


@dataclass(frozen=True)
class OverlapEffect:
    """Ranks with overlap against ranks without, of one model or of all that have both."""

    model: str
    counted: str  # a key of KINDS
    against: str  # 'not known to overlap' or 'said not to overlap'
    n_with: int
    n_without: int
    rank_with: float
    rank_without: float
    difference: float  # below 0: better with overlap
    p: float


@dataclass(frozen=True)
class Contamination:
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    places: tuple[DatasetRank, ...]
    effects: tuple[OverlapEffect, ...]
    notes: tuple[str, ...]


def contamination(scores: ScoreMatrix, facts: Facts) -> Contamination:
    places = tuple(_places(scores, facts))
    effects = [
        effect
        for against, others in (("not known to overlap", (NONE, UNKNOWN)), ("said not to overlap", (NONE,)))
        for counted, kinds in KINDS.items()
        for effect in overlap_effects(places, counted, kinds, against, others)
    ]
    named = {place.model for place in places}
    return Contamination(
        tuple(dict.fromkeys(model.name for model in scores.models if model.name in named)),
        tuple(name for name in DATASETS if any(place.dataset == name for place in places)),
        places,
        tuple(effects),
        scores.notes,
    )


def _places(scores: ScoreMatrix, facts: Facts) -> list[DatasetRank]:
    """A model of the user's and a published one may share a key, and so what is known of them."""
    by_dataset: dict[str, list[int]] = {}
    for i, column in enumerate(scores.columns):
        by_dataset.setdefault(dataset_of(column.row, column.metric), []).append(i)
    places = []
    for dataset, columns in by_dataset.items():
        ranked = [ranks(scores.values[:, i], scores.columns[i].better) for i in columns]
        for row, model in enumerate(scores.models):
            own = [one[row] for one in ranked if row in one]
            if own:
                fact = facts.get((model.key, dataset))
                known = (fact.overlap, fact.why) if fact else (UNKNOWN, "")
                places.append(DatasetRank(model.name, dataset, mean(own), *known))
    return places


def ranks(values: Array, better: str) -> dict[int, Fraction]:
    """Rank the models that have a value, scaled to the whole field; empty for fewer than two."""
    there = np.flatnonzero(np.isfinite(values))
    if len(there) < 2:
        return {}
    stretch = Fraction(len(values) - 1, len(there) - 1)
    ranked = average_ranks((-1.0 if better == "higher" else 1.0) * values[there].astype(np.float64))
    return {int(i): 1 + stretch * (Fraction(rank) - 1) for i, rank in zip(there, ranked.tolist(), strict=True)}


def overlap_effects(
    places: Sequence[DatasetRank], counted: str, kinds: Sequence[str], against: str, others: Sequence[str]
) -> list[OverlapEffect]:
    """Return the effect for each model with data sets on both sides, and for all of these together."""
    sides: dict[str, tuple[list[Fraction], list[Fraction]]] = {}
    for place in places:
        if place.overlap in kinds or place.overlap in others:
            sides.setdefault(place.model, ([], []))[place.overlap in others].append(place.rank)
    both = {model: side for model, side in sides.items() if side[0] and side[1]}
    effects = [_effect(model, {model: side}, counted, against) for model, side in both.items()]
    return effects + ([_effect(ALL_MODELS, both, counted, against)] if len(both) > 1 else [])


def _effect(
    name: str, sides: Mapping[str, tuple[list[Fraction], list[Fraction]]], counted: str, against: str
) -> OverlapEffect:
    with_, without = ([rank for side in sides.values() for rank in side[k]] for k in (0, 1))
    return OverlapEffect(
        name,
        counted,
        against,
        len(with_),
        len(without),
        float(mean(with_)),
        float(mean(without)),
        float(sum(((mean(a) - mean(b)) * len(a) for a, b in sides.values()), Fraction(0)) / len(with_)),
        exact_p(list(sides.values())),
    )


def exact_p(sides: Sequence[tuple[list[Fraction], list[Fraction]]]) -> float:
    """Two-sided: how often overlaps dealt at random have a sum of ranks as far from the expected one as what was seen.

    `sides` has each model's ranks with overlap and without.
    """
    total: Counter[Fraction] = Counter({Fraction(0): 1})
    seen = expected = Fraction(0)
    for with_, without in sides:
        pool = [*with_, *without]
        seen += sum(with_, Fraction(0))
        expected += len(with_) * mean(pool)
        total = _convolved(total, _sums_of(pool, len(with_)))
    as_far = sum(ways for value, ways in total.items() if abs(value - expected) >= abs(seen - expected))
    return as_far / total.total()


def _sums_of(pool: Sequence[Fraction], k: int) -> Counter[Fraction]:
    """Count the subsets of size k by sum."""
    by_size: list[Counter[Fraction]] = [Counter({Fraction(0): 1}), *(Counter[Fraction]() for _ in range(k))]
    for rank in pool:
        for size in range(k, 0, -1):
            for value, ways in by_size[size - 1].items():
                by_size[size][value + rank] += ways
    return by_size[k]


def _convolved(a: Counter[Fraction], b: Counter[Fraction]) -> Counter[Fraction]:
    result: Counter[Fraction] = Counter()
    for x, ways_x in a.items():
        for y, ways_y in b.items():
            result[x + y] += ways_x * ways_y
    return result


MARKS = {STATED: "●", IMPLIED: "◐", NONE: "○", UNKNOWN: ""}
DRAWN = ("stated or implied", "not known to overlap")  # the effect that the picture shows
SELECTED = (
    "The overlaps of published models are from the paper, which mentions them where it explains the best ranks: this"
    " selection, and the four that share one collection, make p too small, and it does not show a cause."
)


def contamination_tables(result: Contamination) -> list[Table]:
    return [_rank_table(result), _effect_table(result), _degree_table(result.places)]


def _rank_table(result: Contamination) -> Table:
    by_place = {(place.dataset, place.model): place for place in result.places}
    rows = []
    for dataset in result.datasets:
        own = [by_place.get((dataset, model)) for model in result.models]
        rows.append([dataset, *(f"{MARKS[p.overlap]} {float(p.rank):.4g}".strip() if p else "" for p in own)])
    known = sum(place.overlap != UNKNOWN for place in result.places)
    legend = (
        f"Rank among {len(result.models)} models, 1 the best. In the model's training data: ● stated, ◐ implied, ○ said"
        f" not to be; no mark: unknown ({len(result.places) - known} of {len(result.places)})."
    )
    return Table(
        "Ranks and known overlap", ["data set", *result.models], rows, 1, [legend, *map(sentence, result.notes)]
    )


def _effect_table(result: Contamination) -> Table:
    headers = ["model", "overlap", "against data sets", "n with", "n without", "rank with", "without", "shift", "p"]
    rows = [
        [
            *(one.model, one.counted, one.against, str(one.n_with), str(one.n_without)),
            *(number(one.rank_with), number(one.rank_without), signed(one.difference), p_value(one.p)),
        ]
        for one in result.effects
    ]
    how = (
        "shift: how much further up (below 0) a model ranks with overlap than without, against itself. p: exact, over"
        " every way to deal the overlaps to the model's data sets, two-sided, not adjusted."
    )
    missing = [] if rows else ["No model has both: data sets with known overlap and others."]
    return Table("Mean rank with and without overlap", headers, rows, 3, [how, *missing, SELECTED])


def _degree_table(places: Sequence[DatasetRank]) -> Table:
    rows = []
    for degree in (STATED, IMPLIED, NONE, UNKNOWN):
        own = [place for place in places if place.overlap == degree]
        first = sum(place.rank == 1 for place in own)
        average = number(float(mean(place.rank for place in own)) if own else None)
        rows.append([degree, str(len(own)), str(len({place.model for place in own})), average, str(first)])
    return Table("Ranks by what is known", ["overlap", "n", "models", "mean rank", "first alone"], rows, 1)


def place_records(result: Contamination) -> list[dict[str, Any]]:
    return [asdict(place) | {"rank": float(place.rank)} for place in result.places]


def draw_contamination(result: Contamination, path: Path) -> None:
    """Draw each model's ranks as a strip, with known overlaps highlighted and both means marked."""
    colour = colours([STATED, IMPLIED, NONE])
    figure = new_figure(8, 1.4 + 0.5 * len(result.models))
    panel = figure.subplots()
    effects = {effect.model: effect for effect in result.effects if (effect.counted, effect.against) == DRAWN}
    for y, model in enumerate(result.models):
        own = [place for place in result.places if place.model == model]
        _draw_strip(panel, y, own, colour)
        if effect := effects.get(model):
            panel.plot([effect.rank_without] * 2, [y - 0.3, y + 0.2], color=QUIET, linewidth=2)
            panel.plot([effect.rank_with] * 2, [y - 0.3, y + 0.2], color="black", linewidth=2)
    for degree, shade in colour.items():
        panel.plot([], [], "o", color=shade, label=f"in training: {degree}")
    panel.plot([], [], ".", color=QUIET, label="unknown")
    panel.plot([], [], color="black", linewidth=2, label="mean with overlap")
    panel.plot([], [], color=QUIET, linewidth=2, label="mean without")
    panel.set_yticks(range(len(result.models)), result.models, fontsize=8)
    panel.set_ylim(len(result.models) - 0.4, -0.6)
    panel.set_xlabel("rank on a data set, 1 the best")
    panel.legend(frameon=False, fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=6)
    if effect := effects.get(ALL_MODELS):
        found = f"shift {signed(effect.difference)} ranks, exact p {p_value(effect.p)}, n = {effect.n_with}"
        panel.set_title(f"all models, {effect.counted}: {found}", loc="left", fontsize=8)
    save_picture(figure, path)


def _draw_strip(panel: Any, y: int, places: Sequence[DatasetRank], colour: dict[str, str]) -> None:
    known = [place for place in places if place.overlap != UNKNOWN]
    unknown = [float(place.rank) for place in places if place.overlap == UNKNOWN]
    panel.plot(unknown, [y] * len(unknown), ".", color=QUIET, alpha=0.5, markersize=5)
    for place in known:
        panel.plot(float(place.rank), y, "o", color=colour[place.overlap], alpha=0.8, markersize=7)
    named = ", ".join(f"{place.dataset} {float(place.rank):.4g}" for place in sorted(known, key=lambda p: p.rank))
    panel.text(1, y + 0.4, named, fontsize=6, color=QUIET)


def read_facts(path: Path | None = None) -> Facts:
    """Read the training data of models from a file, by default ours."""
    name = str(path or "training_data.toml")
    source = path or files("cmi.bench.analysis").joinpath("training_data.toml")
    tables = read_config(source, dict[str, dict[str, Fact]], name)
    facts = {(model, dataset): fact for model, table in tables.items() for dataset, fact in table.items()}
    for model, dataset in facts:
        if dataset not in DATASETS:
            raise InputError(f"{name}: [{model}.{dataset}] names no data set; there are {', '.join(DATASETS)}")
    if not facts:
        raise InputError(f"{name}: empty, expected tables such as [qwen2.MTG_genre]")
    return facts
