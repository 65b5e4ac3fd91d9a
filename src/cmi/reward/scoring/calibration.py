"""Calibration: offsets that correct a reward model's scores by generator, fitted to fresh votes by `cmi calibrate`.

The file is JSON:

    model, window    the model whose scores are corrected, and its window
    axes             for each axis the offset of each generator, with its interval and votes, and the gain on held-out
                     votes (`cmi.rewardbench.analysis.calibrate`)
    fitted_on        the source of the votes

A corrected score is the score plus the offset of the take's generator. Offsets are in log odds, like differences of
scores, and only their differences are meaningful. A take whose generator is unknown or not in the file keeps its score,
and a note says so.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.report.tables import to_json
from cmi.reward.engine.windows import DEFAULT_WINDOW
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.take import Axis, Score

NO_GAIN = "no significant gain yet"


@dataclass(frozen=True)
class SystemOffset:
    """The offset of a generator's scores, in log odds, with its 95 % interval."""

    offset: float
    low: float
    high: float
    votes: int

    def __post_init__(self) -> None:
        if not math.isfinite(self.offset):
            raise InputError(f"an offset is {self.offset}, expected a finite number")


@dataclass(frozen=True)
class CalibrationGain:
    """The effect of the offsets on held-out votes. Shares are from 0 to 1.

    `votes` counts decided votes; accuracies are the shares of them that the scores predict, with and without offsets.
    A gain in the Brier score is a decrease. 95 % of the gains with shuffled generator names lie between `null_low` and
    `null_high`; `p` is the share of them that is at least as high as the gain.
    """

    votes: int
    prompts: int
    raters: int  # 0 if none is named
    accuracy_before: float
    accuracy_after: float
    gain: float
    low: float | None
    high: float | None
    brier_gain: float
    brier_low: float | None
    brier_high: float | None
    null_low: float
    null_high: float
    p: float
    verdict: str  # 'a gain', 'a loss' or NO_GAIN


@dataclass(frozen=True)
class AxisCalibration:
    votes: int
    offsets: dict[str, SystemOffset]
    gain: CalibrationGain


@dataclass(frozen=True)
class Calibration:
    """The offsets of a model's scores."""

    model: str
    axes: dict[Axis, AxisCalibration]
    fitted_on: dict[str, Any]
    cmi: str
    prior: float
    window: str = ""  # '' for the default, and for models without windows

    def __post_init__(self) -> None:
        if not self.axes or not all(axis in Score._fields for axis in self.axes):
            raise InputError(f"'axes' has {', '.join(self.axes) or 'none'}, expected musicality, alignment or both")

    @property
    def digest(self) -> str:
        """Eight hex digits that change with the model and the offsets."""
        offsets = {axis: {name: one.offset for name, one in of.offsets.items()} for axis, of in self.axes.items()}
        return hashlib.sha256(json.dumps([self.model, self.window, offsets], sort_keys=True).encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        return f"{self.model}, calibrated {self.digest}"

    @property
    def caution(self) -> str:
        """A sentence on why the correction may not help; '' if every axis has gained."""
        axes = [f"{axis}: {of.gain.verdict}" for axis, of in self.axes.items() if not (of.gain.low or 0) > 0]
        return (
            f"the calibration of {self.model} has shown no gain on held-out votes ({'; '.join(axes)})" if axes else ""
        )

    def require_model(self, scorer: NamedScorer) -> None:
        """Raise InputError if the offsets were fitted to another model or window."""
        heard = scorer.settings.get("window", DEFAULT_WINDOW)
        if scorer.name != self.model or heard != (self.window or DEFAULT_WINDOW):
            fitted = self.model + (f", window {self.window}" if self.window else "")
            raise InputError(
                f"the calibration was fitted to {fitted}, not to {scorer.name}, window {heard}; "
                "fit one to that model's scores"
            )

    def correct(self, score: Score, generator: str) -> Score:
        """Return the corrected score of a take; an unknown generator changes nothing."""
        added = {axis: of.offsets[generator].offset for axis, of in self.axes.items() if generator in of.offsets}
        return score._replace(**{str(axis): getattr(score, axis) + offset for axis, offset in added.items()})

    def apply(self, scored: ScoredTake | InputError, generator: str) -> ScoredTake | InputError:
        """Return a corrected result of a scorer, with a note if an axis could not be corrected."""
        if isinstance(scored, InputError):
            return scored
        missing = [axis for axis, of in self.axes.items() if generator not in of.offsets]
        if not missing:
            return scored._replace(score=self.correct(scored.score, generator))
        reason = f"no votes on {generator} were fitted" if generator else "its generator is unknown"
        note = f"not calibrated ({' and '.join(missing)}): {reason}"
        return scored._replace(score=self.correct(scored.score, generator), notes=(*scored.notes, note))


def read_calibration(path: Path) -> Calibration:
    """Read a file of `cmi calibrate`."""
    return read_config(path, Calibration)


def write_calibration(calibration: Calibration, path: Path) -> None:
    write_whole(path, to_json(asdict(calibration)))


def apply_calibration(
    calibration: Calibration, results: Iterable[ScoredTake | InputError], generators: Iterable[str]
) -> list[ScoredTake | InputError]:
    """Return corrected results; `generators` names the generator of each take, '' if it is not known."""
    return [calibration.apply(one, generator) for one, generator in zip(results, generators, strict=True)]
