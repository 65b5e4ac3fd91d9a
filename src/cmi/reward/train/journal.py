"""How good a head is, and the curves of a run: `curve.jsonl`, one record for each step and each validation, and
TensorBoard's events.

What a resumed run repeats is in the log already, and the same: it is not written twice.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from cmi._util.runlog import RunLog, read_records
from cmi.reward.train.data import AXES, TrainingExample
from cmi.stats.correlation import spearman
from cmi.stats.intervals import wilson
from cmi.take import Axis

Scores = Sequence[Mapping[Axis, float]]  # of an example's takes


def measure(examples: Sequence[TrainingExample], scores: Sequence[Scores]) -> dict[str, Any]:
    """Accuracy by axis with its n and 95 % interval; of ratings, the rank correlation (None where undefined).

    `value` is what training selects by: the mean of the accuracies or, where there are no pairs, of the correlations.
    A pair whose takes score the same is not judged rightly.
    """
    accuracy, correlation = {}, {}
    for axis in AXES:
        labelled = [(e, s, e.labels[axis]) for e, s in zip(examples, scores, strict=True) if axis in e.labels]
        hits = [
            s[0 if label.value else 1][axis] > s[1 if label.value else 0][axis] for e, s, label in labelled if e.is_pair
        ]
        if hits:
            low, high = wilson(sum(hits), len(hits))
            accuracy[axis] = {"accuracy": sum(hits) / len(hits), "n": len(hits), "low": low, "high": high}
        rated = [(s[0][axis], label.value) for e, s, label in labelled if not e.is_pair]
        if rated:
            rho = spearman(*zip(*rated, strict=True))
            correlation[axis] = {"spearman": None if math.isnan(rho) else rho, "n": len(rated)}
    values = [one["accuracy"] for one in accuracy.values()] or [one["spearman"] or 0.0 for one in correlation.values()]
    return {"value": sum(values) / len(values), "pairs": accuracy, "ratings": correlation}


class Journal:
    """Of a run that resumes after `first` steps. Processes other than the main one keep nothing."""

    def __init__(self, folder: Path, first: int, main: bool) -> None:
        self.remark = ""
        self._path = folder / "curve.jsonl"
        self._log = RunLog(self._path) if main else None
        self._board = SummaryWriter(folder / "tensorboard", purge_step=first + 1) if main else None
        self._validated = ""

    def step(self, step: int, loss: float, norm: float, rate: float) -> None:
        """`norm` is the gradient's, before it was clipped."""
        record = {"id": f"step {step}", "step": step, "loss": loss, "gradient": norm, "lr": rate}
        self._append(record, sync=False)  # on a slow disk it would cost more than the step
        self._show(step, {"train/loss": loss, "train/gradient": norm, "train/lr": rate})
        self.remark = f"loss {loss:.3f}{self._validated}"

    def validation(self, step: int, found: dict[str, Any]) -> None:
        self._append({"id": f"validation {step}", "step": step, **found})
        named = {axis: one["accuracy"] for axis, one in found["pairs"].items()}
        ranked = {axis: one["spearman"] for axis, one in found["ratings"].items() if one["spearman"] is not None}
        self._show(step, {f"validation/{axis} accuracy": value for axis, value in named.items()})
        self._show(step, {f"validation/{axis} spearman": value for axis, value in ranked.items()})
        self._validated = "".join(f", {axis} {100 * value:.1f} %" for axis, value in named.items())

    def finish(self) -> list[dict[str, Any]]:
        """The whole curve, under its final name."""
        assert self._log is not None
        self._log.finish()
        return list(read_records(self._path))

    def close(self) -> None:
        if self._log is not None and self._board is not None:
            self._board.close()
            self._log.close()

    def _append(self, record: dict[str, Any], sync: bool = True) -> None:
        if self._log is not None and record["id"] not in self._log:
            self._log.append(record, sync)

    def _show(self, step: int, values: dict[str, float]) -> None:
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)
