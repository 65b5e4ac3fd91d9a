"""Validation metrics, and the curves of a run.

curve.jsonl    one record for each step and each validation; steps that a resumed run repeats are not written twice
tensorboard/   the same as event files
curve.svg      a plot, written at the end
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmi._util.runlog import RunLog, read_records
from cmi.report.metric_writers import MetricWriter, TensorBoardWriter
from cmi.report.pictures import QUIET, new_figure, new_panels, save_picture
from cmi.reward.train.data import AXES, TrainingExample
from cmi.stats.correlation import spearman
from cmi.stats.intervals import wilson
from cmi.take import Axis

Scores = Sequence[Mapping[Axis, float]]  # of an example's takes


def measure(examples: Sequence[TrainingExample], scores: Sequence[Scores]) -> dict[str, Any]:
    """Return accuracies by axis with n and 95 % interval, and the cross-entropy; for ratings, the rank correlations.

    `value` selects the best head: the mean of the accuracies or, without pairs, of the correlations. A pair whose takes
    have equal scores counts as wrong. Guessing has a cross-entropy of log 2 = 0.693. An undefined correlation is None.
    """
    accuracy, correlation = {}, {}
    for axis in AXES:
        labelled = [(e, s, e.labels[axis]) for e, s in zip(examples, scores, strict=True) if axis in e.labels]
        leads = [
            s[0 if label.value else 1][axis] - s[1 if label.value else 0][axis] for e, s, label in labelled if e.is_pair
        ]  # of the preferred take's score
        if leads:
            hits = sum(lead > 0 for lead in leads)
            low, high = wilson(hits, len(leads))
            accuracy[axis] = {"accuracy": hits / len(leads), "n": len(leads), "low": low, "high": high}
            accuracy[axis]["cross_entropy"] = sum(map(_cross_entropy, leads)) / len(leads)
        rated = [(s[0][axis], label.value) for e, s, label in labelled if not e.is_pair]
        if rated:
            rho = spearman(*zip(*rated, strict=True))
            correlation[axis] = {"spearman": None if math.isnan(rho) else rho, "n": len(rated)}
    values = [one["accuracy"] for one in accuracy.values()] or [one["spearman"] or 0.0 for one in correlation.values()]
    return {"value": sum(values) / len(values), "pairs": accuracy, "ratings": correlation}


def measure_by_source(
    examples: Sequence[TrainingExample], scores: Sequence[Scores], sources: Sequence[str]
) -> dict[str, Any]:
    """Return the metrics of all examples and, under `sources`, of each source."""
    parts: dict[str, tuple[list[TrainingExample], list[Scores]]] = {source: ([], []) for source in sources}
    for example, own, source in zip(examples, scores, sources, strict=True):
        parts[source][0].append(example)
        parts[source][1].append(own)
    return {**measure(examples, scores), "sources": {source: measure(*part) for source, part in parts.items()}}


def _cross_entropy(lead: float) -> float:
    """-log sigmoid(lead)."""
    return max(-lead, 0.0) + math.log1p(math.exp(-abs(lead)))


class Journal:
    """The log of a run that resumes after `first` steps; only the main process writes.

    `elsewhere` is a further writer, which does not get steps that a resumed run repeats.
    """

    def __init__(self, folder: Path, first: int, main: bool, elsewhere: MetricWriter | None = None) -> None:
        self.remark = ""
        self._path = folder / "curve.jsonl"
        self._log = RunLog(self._path) if main else None
        self._board = TensorBoardWriter(folder / "tensorboard", first + 1) if main else None
        self._elsewhere = elsewhere if main else None
        self._validated = ""

    def step(self, step: int, loss: float, norm: float, rate: float) -> None:
        """Log a step; `norm` is that of the gradient before clipping."""
        record = {"id": f"step {step}", "step": step, "loss": loss, "gradient": norm, "lr": rate}
        is_new = self._append(record, sync=False)  # on a slow disk, a sync would take longer than the step
        self._show(step, {"train/loss": loss, "train/gradient": norm, "train/lr": rate}, is_new)
        self.remark = f"loss {loss:.3f}{self._validated}"

    def validation(self, step: int, found: dict[str, Any]) -> None:
        is_new = self._append({"id": f"validation {step}", "step": step, **found})
        curves = _curves("validation", found)
        if len(found["sources"]) > 1:
            for source, own in found["sources"].items():
                curves |= _curves(f"validation of {source}", own)
        self._show(step, curves, is_new)
        named = {axis: one["accuracy"] for axis, one in found["pairs"].items()}
        self._validated = "".join(f", {axis} {100 * value:.1f} %" for axis, value in named.items())

    def finish(self) -> list[dict[str, Any]]:
        """Rename the log to its final name and return the curve."""
        assert self._log is not None
        self._log.finish()
        return list(read_records(self._path))

    def close(self) -> None:
        if self._log is not None and self._board is not None:
            self._board.close()
            self._log.close()

    def _append(self, record: dict[str, Any], sync: bool = True) -> bool:
        """Log a record; False if it was in the log already."""
        if self._log is None or record["id"] in self._log:
            return False
        self._log.append(record, sync)
        return True

    def _show(self, step: int, values: dict[str, float], is_new: bool) -> None:
        if self._board is not None:
            self._board.write(step, values)
        if self._elsewhere is not None and is_new:
            self._elsewhere.write(step, values)


def _curves(name: str, found: dict[str, Any]) -> dict[str, float]:
    kinds = [("pairs", "accuracy"), ("pairs", "cross_entropy"), ("ratings", "spearman")]
    values = {
        f"{name}/{axis} {measured.replace('_', '-')}": one[measured]
        for kind, measured in kinds
        for axis, one in found[kind].items()
    }
    return {curve: value for curve, value in values.items() if value is not None}


def draw_curve(records: Sequence[dict[str, Any]], path: Path) -> bool:
    """Plot cross-entropy and accuracy of the validations by step, source and axis; False if there are none."""
    found = [record for record in records if record["id"].startswith("validation")]
    lines = {
        (source, axis): [(record["step"], record["sources"][source]["pairs"][axis]) for record in found]
        for source in (found[0]["sources"] if found else ())
        for axis in found[0]["sources"][source]["pairs"]
    }
    if not lines:
        return False
    figure = new_figure(10, 4)
    for panel, (measured, guess) in zip(
        new_panels(figure, columns=2), (("cross_entropy", math.log(2)), ("accuracy", 0.5)), strict=True
    ):
        panel.axhline(guess, color=QUIET, linewidth=0.8)
        for (source, axis), points in lines.items():
            steps, values = [step for step, _ in points], [one[measured] for _, one in points]
            panel.plot(steps, values, marker="o", markersize=3, label=f"{source}: {axis}")
        panel.set_xlabel("step")
        panel.set_title(f"validation: {measured.replace('_', '-')} (grey: a guess)", loc="left", fontsize=9)
        panel.legend(frameon=False, fontsize=7)
    save_picture(figure, path)
    return True
