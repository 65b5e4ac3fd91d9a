"""Contamination, shown: every rank with what is known of it, ranks with and without overlap, and a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi.bench.analysis.contamination import ALL_MODELS, Contamination, Place
from cmi.bench.analysis.shown import p_value, sentence, signed
from cmi.bench.analysis.training_data import IMPLIED, NONE, STATED, UNKNOWN
from cmi.report.palette import QUIET, colours
from cmi.report.pictures import new_figure, save_picture
from cmi.report.tables import Table

MARKS = {STATED: "●", IMPLIED: "◐", NONE: "○", UNKNOWN: ""}
DRAWN = ("stated or implied", "not known to overlap")  # the effect that the picture shows
SELECTED = (
    "What is known of published models is from the paper, which names overlaps where it explains who came first: they"
    " were picked by their ranks, and four of them share one collection, so that p is too small and shows no cause."
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
        "Ranks and known overlap",
        ["data set", *result.models],
        rows,
        1,
        [legend, *map(sentence, result.notes)],
    )


def _effect_table(result: Contamination) -> Table:
    headers = ["model", "overlap", "against data sets", "n with", "n without", "rank with", "without", "shift", "p"]
    rows = [
        [
            *(one.model, one.counted, one.against, str(one.n_with), str(one.n_without)),
            *(f"{one.rank_with:.2f}", f"{one.rank_without:.2f}", signed(one.difference), p_value(one.p)),
        ]
        for one in result.effects
    ]
    how = (
        "shift: how much further up (below 0) a model ranks with overlap than without, against itself. p: exact, over"
        " every way to deal the overlaps to the model's data sets, two-sided, not adjusted."
    )
    missing = [] if rows else ["No model has both: data sets with known overlap and others."]
    return Table("Mean rank with and without overlap", headers, rows, 3, [how, *missing, SELECTED])


def _degree_table(places: Sequence[Place]) -> Table:
    rows = []
    for degree in (STATED, IMPLIED, NONE, UNKNOWN):
        own = [place for place in places if place.overlap == degree]
        first = sum(place.rank == 1 for place in own)
        mean = f"{float(sum(place.rank for place in own)) / len(own):.2f}" if own else ""
        rows.append([degree, str(len(own)), str(len({place.model for place in own})), mean, str(first)])
    return Table("Ranks by what is known", ["overlap", "n", "models", "mean rank", "first alone"], rows, 1)


def place_records(result: Contamination) -> list[dict[str, Any]]:
    return [
        {
            **{"model": place.model, "dataset": place.dataset, "rank": float(place.rank)},
            **{"overlap": place.overlap, "why": place.why},
        }
        for place in result.places
    ]


def draw_contamination(result: Contamination, path: Path) -> None:
    """Each model's ranks as a strip: what is known to overlap stands out and is named, and both means are marked."""
    colour = colours([STATED, IMPLIED, NONE])
    figure = new_figure(8, 1.4 + 0.5 * len(result.models))
    panel = figure.subplots()
    for y, model in enumerate(result.models):
        own = [place for place in result.places if place.model == model]
        _draw_strip(panel, y, own, colour)
        for effect in result.effects:
            if (effect.model, effect.counted, effect.against) == (model, *DRAWN):
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
    for effect in result.effects:
        if (effect.model, effect.counted, effect.against) == (ALL_MODELS, *DRAWN):
            found = f"shift {effect.difference:+.2f} ranks, exact p {p_value(effect.p)}, n = {effect.n_with}"
            panel.set_title(f"all models, {effect.counted}: {found}", loc="left", fontsize=8)
    save_picture(figure, path)


def _draw_strip(panel: Any, y: int, places: Sequence[Place], colour: dict[str, str]) -> None:
    known = [place for place in places if place.overlap != UNKNOWN]
    unknown = [float(place.rank) for place in places if place.overlap == UNKNOWN]
    panel.plot(unknown, [y] * len(unknown), ".", color=QUIET, alpha=0.5, markersize=5)
    for place in known:
        panel.plot(float(place.rank), y, "o", color=colour[place.overlap], alpha=0.8, markersize=7)
    named = ", ".join(f"{place.dataset} {float(place.rank):.4g}" for place in sorted(known, key=lambda p: p.rank))
    panel.text(1, y + 0.4, named, fontsize=6, color=QUIET)
