"""Scores over time: sections of 10 s, each scored on its own, with the strongest and the weakest."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.report.numbers import clock
from cmi.report.pictures import SERIES, new_figure, new_panels, require_picture, save_picture
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake, TakeSection
from cmi.take import Score, Take

WINDOW = "mean10"
MOST_TAKES = 20  # in one plot
COLOURS = {"musicality": SERIES[0], "alignment": SERIES[1]}


class Explanation(NamedTuple):
    take: str
    sections: tuple[TakeSection, ...]

    def extremes(self, axis: str) -> tuple[TakeSection, TakeSection]:
        """The weakest and the strongest section on an axis."""
        ordered = sorted(self.sections, key=lambda section: getattr(section.score, axis))
        return ordered[0], ordered[-1]

    def sentences(self) -> list[str]:
        if len(self.sections) < 2:
            return ["too short to compare its parts"]
        return [
            f"{axis} is strongest at {_span(strongest)} ({getattr(strongest.score, axis):.3f}) "
            f"and weakest at {_span(weakest)} ({getattr(weakest.score, axis):.3f})"
            for axis in Score._fields
            for weakest, strongest in [self.extremes(axis)]
        ]

    def record(self) -> dict[str, Any]:
        """Return a JSON record: every section, and the indices of the weakest and the strongest."""
        places = {id(section): i for i, section in enumerate(self.sections)}
        sections = [{"start": s.start, "end": s.end, **s.score._asdict()} for s in self.sections]
        extremes = {
            axis: {"weakest": places[id(weakest)], "strongest": places[id(strongest)]}
            for axis in Score._fields
            for weakest, strongest in [self.extremes(axis)]
        }
        return {"sections": sections, **extremes}


def explain_takes(
    takes: Sequence[tuple[str, Take]], scorer: NamedScorer, on_explained: Callable[[], None]
) -> list[Explanation]:
    """Return the explanations of the takes that can be scored."""
    explanations = []
    for (name, _), scored in zip(takes, scorer.judge([take for _, take in takes]), strict=True):
        if isinstance(scored, ScoredTake):
            explanations.append(Explanation(name, scored.sections))
        on_explained()
    return explanations


def annotated(records: Iterable[dict[str, Any]], explanations: Iterable[Explanation]) -> list[dict[str, Any]]:
    """Return the takes' records, each with its explanation in numbers and in words."""
    known = {explanation.take: explanation for explanation in explanations}
    return [
        {**record, "explained": one.record(), "notes": [*record.get("notes", ()), *one.sentences()]}
        if (one := known.get(record["id"]))
        else record
        for record in records
    ]


def check_picture(path: Path, takes: int) -> None:
    """Raise InputError before a long run if the plot could not be drawn."""
    require_picture(path)
    if takes > MOST_TAKES:
        raise InputError(f"{takes} takes do not fit one plot: explain at most {MOST_TAKES} at a time")


def draw(explanations: Sequence[Explanation], path: Path, model: str) -> None:
    """Draw both scores over time, one row for each take; without takes, nothing is drawn."""
    if not explanations:
        return
    figure = new_figure(9, 1 + 2 * len(explanations))
    rows = new_panels(figure, len(explanations), sharex=True, sharey=True)
    for axes, explanation in zip(rows, explanations, strict=True):
        edges = [*(section.start for section in explanation.sections), explanation.sections[-1].end]
        for axis, colour in COLOURS.items():
            values = [getattr(section.score, axis) for section in explanation.sections]
            axes.stairs(values, edges, baseline=None, color=colour, linewidth=2, label=axis)
            if len(explanation.sections) > 1:
                for mark, section in zip("v^", explanation.extremes(axis), strict=True):
                    middle = (section.start + section.end) / 2
                    axes.plot(middle, getattr(section.score, axis), mark, color=colour, markersize=8)
        axes.set_title(explanation.take, loc="left", fontsize=10)
        axes.set_ylabel("score")
    rows[-1].set_xlabel("seconds")
    figure.legend(*rows[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2)
    figure.suptitle(f"Sections of 10 s, each judged on its own by {model}; ▲ strongest, ▼ weakest", fontsize=9)
    save_picture(figure, path)


def _span(section: TakeSection) -> str:
    return f"{clock(section.start)}-{clock(section.end)}"
