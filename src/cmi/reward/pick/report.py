"""Picks and their curve as tables, a plot and JSON."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any

from cmi.report.numbers import interval, number, signed
from cmi.report.pictures import QUIET, SERIES, new_figure, new_panels, save_picture
from cmi.report.tables import Table, notes_about
from cmi.reward.model.validation import validation_notes, validation_record
from cmi.reward.pick.curve import Curve, CurveEstimate
from cmi.reward.pick.pick import Pick, Ranked, Weights
from cmi.take import Prompt


@dataclass(frozen=True)
class JudgedCurve:
    """The gain of picking, measured by a second scorer."""

    second: str
    curve: Curve
    notes: Sequence[str] = ()  # on takes that are not in the curve


@dataclass(frozen=True)
class PickReport:
    """The picks of a model, and their value by other scorers."""

    model: str
    weights: Weights
    picks: Sequence[Pick]
    curves: Sequence[JudgedCurve] = ()


def tables(report: PickReport) -> list[Table]:
    found = [_picks(report), *(_points(report, judged) for judged in report.curves)]
    found += [_summary(report)] if len(report.curves) > 1 else []
    found += [table_5(report.curves)] if any(_judge(judged) for judged in report.curves) else []
    return found + [_diversity(judged.curve) for judged in report.curves[:1] if judged.curve.diversity]


def record(report: PickReport) -> dict[str, Any]:
    about: dict[str, Any] = {
        "model": report.model,
        **validation_record(report.model),
        "weights": report.weights._asdict(),
        "picks": [_pick_record(pick) for pick in report.picks],
    }
    curves = [
        {"second": judged.second, "curve": {**asdict(judged.curve), "notes": list(judged.notes)}}
        for judged in report.curves
    ]
    return about | (curves[0] if len(curves) == 1 else {"curves": curves} if curves else {})


def draw(report: PickReport, path: Path) -> None:
    """Draw each second scorer's mean score against N: of the pick, of a random take, and of the oracle."""
    shown = [(judged, axis) for judged in report.curves for axis in dict.fromkeys(p.axis for p in judged.curve.points)]
    several = len(report.curves) > 1
    figure = new_figure(1 + 3.6 * len(shown), 4)
    for panel, (judged, axis) in zip(new_panels(figure, columns=len(shown)), shown, strict=True):
        points = [point for point in judged.curve.points if point.axis == axis]
        sizes, means = [point.n for point in points], [point.score.mean for point in points]
        panel.plot(sizes, [point.oracle for point in points], "k:", label="oracle: best by the second scorer")
        panel.plot(sizes, means, "o-", color=SERIES[0], label="picked")
        intervals = [point.score.interval or (point.score.mean, point.score.mean) for point in points]
        panel.fill_between(sizes, *zip(*intervals, strict=True), color=SERIES[0], alpha=0.2, label="95 %")
        panel.axhline(means[0], color=QUIET, linewidth=0.8, linestyle="--", label="random take")
        panel.set_xscale("log")
        panel.set_xticks(sizes, [str(size) for size in sizes], minor=False)
        panel.minorticks_off()
        panel.set_xlabel("N, takes to pick from")
        title = fill(f"{axis}, by {judged.second}", 38) if several else axis
        panel.set_title(title, loc="left", fontsize=8 if several else 10)
    figure.axes[0].set_ylabel("mean score of the pick")
    figure.axes[0].legend(frameon=False, fontsize=8)
    seconds = ", ".join(judged.second for judged in report.curves)
    title = f"picked by {report.model}, judged by {seconds}: {report.curves[0].curve.prompts} prompts"
    figure.suptitle(fill(title, 48 * len(shown)), fontsize=9)
    save_picture(figure, path)


def _picks(report: PickReport) -> Table:
    rows = []
    for pick in report.picks:
        count, chosen = str(len(pick.ranking)), pick.chosen
        if chosen is None:
            rows.append([pick.group.name, "-", count, "-", "-", "-", "-"])
        else:
            mean = sum(ranked.mean for ranked in pick.ranking) / len(pick.ranking)
            numbers = (number(value, 3) for value in (chosen.mean, *chosen.score, mean))
            rows.append([pick.group.name, chosen.candidate.name, count, *numbers])
    return Table(
        f"Picked by {report.model}",
        ["prompt", "picked", "n", "score", "musicality", "alignment", "random"],
        rows,
        labels=2,
        notes=[
            f"score: {report.weights.description}; random: the mean of all n.",
            *notes_about((str(ranked.candidate.take.audio), remark)
                         for pick in report.picks for ranked in pick.ranking for remark in ranked.notes),
            *(f"Left out: {broken.reason}." for pick in report.picks for broken in pick.broken),
            *(f"{pick.group.name}: no take could be scored, so none is picked."
              for pick in report.picks if not pick.ranking),
            *validation_notes(report.model, *(judged.second for judged in report.curves)),
        ],
    )  # fmt: skip


def _points(report: PickReport, judged: JudgedCurve) -> Table:
    curve = judged.curve
    rows = [
        [
            *(point.axis, str(point.n), number(point.score.mean, 3), interval(point.score.interval, 3)),
            *_against_random(point.n, point.gain),
            number(point.oracle, 3),
        ]
        for point in curve.points
    ]
    notes = [
        f"overall: {report.weights.description}. Exact over all choices of N takes; 95 % by a bootstrap over prompts. "
        "oracle: the best of N by the second scorer itself."
    ]
    if curve.left_out:
        notes.append(f"Left out: {curve.left_out} prompts with fewer takes than the largest N.")
    return Table(
        f"Picked by {report.model}, judged by {judged.second}, n = {curve.prompts} prompts",
        ["axis", "N", "score", "95 %", "v random", "95 %", "oracle"],
        rows,
        notes=[*notes, *(f"Not in the curve: {note}." for note in judged.notes)],
    )


def _summary(report: PickReport) -> Table:
    """Return all second scorers side by side, as in Table 5 of the paper."""
    sizes = list(dict.fromkeys(point.n for point in report.curves[0].curve.points))
    rows = []
    for judged in report.curves:
        for axis in dict.fromkeys(point.axis for point in judged.curve.points):
            means = [number(point.score.mean, 3) for point in judged.curve.points if point.axis == axis]
            gain = next(point.gain for point in reversed(judged.curve.points) if point.axis == axis)
            rows.append([judged.second, axis, *means, signed(gain.mean, 3), interval(gain.interval, 3)])
    headers = ["judged by", "axis", *(f"N = {size}" for size in sizes), f"N = {sizes[-1]} v random", "95 %"]
    return Table(f"Picked by {report.model}, judged by all", headers, rows, labels=2)


TABLE_5 = {
    "muq-mulan": "MuQ-MuLan",
    "audiobox-ce": "AudioBox CE",
    "audiobox-cu": "AudioBox CU",
    "songeval": "SongEval musicality",
}


def table_5(curves: Sequence[JudgedCurve] = ()) -> Table:
    """Return the mean scores of picks by the judges of the paper's Table 5, with its printed numbers below."""
    points = {_judge(judged): {point.n: point.score.mean for point in judged.curve.points} for judged in curves}
    sizes = dict.fromkeys(size for judge in TABLE_5 for size in points.get(judge, ()))
    rows = [
        [f"yours (N={size})", *(number(points[judge][size], 3) if judge in points else "" for judge in TABLE_5)]
        for size in sizes
    ]
    text = files("cmi.reward.pick").joinpath("table5.csv").read_text(encoding="utf-8")
    rows += [[line["model"], *(line[judge] for judge in TABLE_5)] for line in csv.DictReader(text.splitlines())]
    return Table(
        "Table 5, best of N: yours, then what was published" if curves else "Table 5, best of N, as published",
        ["takes of", *TABLE_5.values()],
        rows,
        notes=[
            "Published: ten takes of 10 s by MusicGen-small and by Stable Audio Open small for each of 2,183 prompts "
            "of MusicCaps, picked by CMI-RM. With other prompts or generators compare the steps from N=1, not the rows."
        ],
    )


def _judge(judged: JudgedCurve) -> str:
    """Return the name that Table 5 has for a second scorer, or ''."""
    name = judged.second.partition(" (")[0]
    return name if name in TABLE_5 and len({point.axis for point in judged.curve.points}) == 1 else ""


def _diversity(curve: Curve) -> Table:
    rows = [
        [
            *(str(found.n), number(found.distance.mean, 3), interval(found.distance.interval, 3)),
            *_against_random(found.n, found.change),
        ]
        for found in curve.diversity
    ]
    return Table(
        f"Diversity of the picks, n = {curve.prompts} prompts",
        ["N", "distance", "95 %", "v random", "95 %"],
        rows,
        labels=0,
        notes=["How far apart the picks of two prompts sound: 1 - cosine of cepstral means and spreads."],
    )


def _against_random(size: int, change: CurveEstimate) -> tuple[str, str]:
    return ("(random take)", "") if size == 1 else (signed(change.mean, 3), interval(change.interval, 3))


def _pick_record(pick: Pick) -> dict[str, Any]:
    return {
        "prompt": pick.group.name,
        **(_prompt_record(pick.chosen.candidate.take.prompt) if pick.chosen else {}),
        "picked": str(pick.chosen.candidate.take.audio) if pick.chosen else None,
        "ranking": [_ranked_record(ranked) for ranked in pick.ranking],
        "broken": [{"audio": str(broken.candidate.take.audio), "reason": broken.reason} for broken in pick.broken],
    }


def _prompt_record(prompt: Prompt) -> dict[str, str]:
    parts = {"text": prompt.text, "lyrics": prompt.lyrics, "reference": str(prompt.reference or "")}
    return {field: value for field, value in parts.items() if value}


def _ranked_record(ranked: Ranked) -> dict[str, Any]:
    said = {"notes": list(ranked.notes)} if ranked.notes else {}
    return {"audio": str(ranked.candidate.take.audio), "score": ranked.mean, **ranked.score._asdict(), **said}
