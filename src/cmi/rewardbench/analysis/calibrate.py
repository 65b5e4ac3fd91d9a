"""Correct a reward model's scores by generator from a few fresh votes (anchor calibration).

Model     P(a beats b) = sigmoid(score of a - score of b + offset of a's generator - offset of b's generator), one
          offset per generator and axis, with a normal prior around 0 of precision PRIOR: generators with few votes keep
          an offset near 0. Ties count as half a win for each. The scores themselves stay as they are.
Gain      Each vote is predicted with offsets fitted to the votes on other prompts (FOLDS folds of prompts). The gain is
          the accuracy on decided votes with the offsets minus that without, and its interval is robust to votes that
          share a prompt or an annotator (`cmi.stats.mean_interval`).
Null      The same with the names of the generators shuffled among the pairs, SHUFFLES times.

Kim et al. 2026 (TuneJury) call this anchor calibration; Wright and Stone 1979 link tests by anchor items in this way.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi import __version__
from cmi._util.errors import InputError
from cmi.preferences import draw_number
from cmi.report.numbers import interval, number, p_value, percent, signed
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.reward.scoring.calibration import NO_GAIN, AxisCalibration, Calibration, CalibrationGain, SystemOffset
from cmi.rewardbench.evaluation.nulls import generators_of
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.run_folder import System
from cmi.rewardbench.tasks import ALIGNMENT_PREFERENCE, MUSICALITY_PREFERENCE, Array, Scores, Task, answers, ask
from cmi.stats import Interval, logistic, mean_interval, percentile_interval
from cmi.stats.comparison import SEED, finite
from cmi.stats.ranking import Comparisons, Ranking, bradley_terry
from cmi.take import Axis

TASKS: Mapping[Axis, Task] = {"musicality": MUSICALITY_PREFERENCE, "alignment": ALIGNMENT_PREFERENCE}
PRIOR = 1.0  # offsets of about 1 (73 % of votes instead of 50 %) are expected
FOLDS = 10
SHUFFLES = 100
FEWEST_VOTES = 10

Codes = NDArray[np.int64]


class ScoredVotes(NamedTuple):
    """Votes on pairs of two generators, on one axis, with the difference of a model's scores."""

    names: list[str]  # of generators
    first: Codes  # (n,)  their numbers
    second: Codes
    difference: NDArray[np.float64]  # (n,)  score of a - score of b
    outcome: Codes  # (n,)  1 if a was preferred, -1 if b, 0 for a tie
    prompts: Codes  # (n,)  in an order that a hash of the prompt decides
    raters: Codes  # (n,)
    named_raters: int
    dates: list[str]  # when each vote was given: a time, a month or ''

    @property
    def decided(self) -> NDArray[np.bool_]:
        return self.outcome != 0


def scored_votes(items: Iterable[RatedItem], scores: Scores, axis: Axis) -> ScoredVotes:
    """Return the votes on an axis whose takes were scored and whose generators are known and differ."""
    rows: list[tuple[RatedItem, float, float]] = []
    for asked in ask(items, [TASKS[axis]]):
        given = answers(asked, scores)
        rows += [
            (item, float(value), float(truth))
            for item, value, truth in zip(asked.items, given, asked.truth, strict=True)
            if math.isfinite(value) and len(set(generators_of(item))) == 2
        ]
    names = sorted({name for item, _, _ in rows for name in generators_of(item)})
    sides = np.array([[names.index(name) for name in generators_of(item)] for item, _, _ in rows], np.int64)
    sides = sides.reshape(-1, 2)
    return ScoredVotes(
        names,
        sides[:, 0],
        sides[:, 1],
        np.array([value for _, value, _ in rows], np.float64),
        np.array([np.sign(truth - 0.5) for _, _, truth in rows], np.int64),
        _codes([f"{draw_number(item.cluster):.12f}{item.cluster}" for item, _, _ in rows]),
        # Votes without a rater are taken as those of different people.
        _codes([item.about.get("rater") or f"\n{i}" for i, (item, _, _) in enumerate(rows)]),
        len({item.about["rater"] for item, _, _ in rows if item.about.get("rater")}),
        [item.about.get("voted") or item.about.get("month", "") for item, _, _ in rows],
    )


def calibrate(
    items: Sequence[RatedItem], system: System, fitted_on: Mapping[str, Any], shuffles: int = SHUFFLES
) -> Calibration:
    """Fit the offsets of a model's scores, on each axis that the model scores and people voted on."""
    axes: dict[Axis, AxisCalibration] = {}
    for axis in TASKS:
        votes = scored_votes(items, system.scores, axis)
        if axis in system.about.axes and int(votes.decided.sum()) >= FEWEST_VOTES:
            axes[axis] = _calibrate_axis(votes, shuffles)
    if not axes:
        raise InputError(
            f"a calibration needs {FEWEST_VOTES} decided votes or more on pairs of two different generators, with "
            "generator_a and generator_b, whose takes the model scored"
        )
    dates = sorted(item.about.get("voted") or item.about.get("month", "") for item in items)
    period = {"from": dates[0], "to": dates[-1]} if dates and dates[0] else {}
    about = {**fitted_on, "items": len(items), **period}
    return Calibration(system.about.model, axes, about, __version__, PRIOR, system.about.window)


def _calibrate_axis(votes: ScoredVotes, shuffles: int) -> AxisCalibration:
    fitted = fit_offsets(votes, np.ones(len(votes.outcome), bool), clusters=[votes.raters, votes.prompts])
    counts = np.bincount(np.concatenate([votes.first, votes.second]), minlength=len(votes.names))
    offsets = {name: SystemOffset(*fitted.strength(i), int(counts[i])) for i, name in enumerate(votes.names)}
    return AxisCalibration(len(votes.outcome), offsets, measure_gain(votes, shuffles))


def fit_offsets(votes: ScoredVotes, of: NDArray[np.bool_], clusters: Sequence[Codes] = ()) -> Ranking:
    """Fit the offsets to some of the votes; generators without one among them have NaN."""
    comparisons = Comparisons(votes.first[of], votes.second[of], votes.outcome[of], len(votes.names))
    return bradley_terry(comparisons, None, [one[of] for one in clusters], PRIOR, votes.difference[of])


def measure_gain(votes: ScoredVotes, shuffles: int = SHUFFLES, seed: int = SEED) -> CalibrationGain:
    """Return what the offsets change on votes that they were not fitted to."""
    decided = votes.decided
    won, before, after = votes.outcome[decided] > 0, votes.difference[decided], held_out_differences(votes)[decided]
    clusters = [votes.prompts[decided], votes.raters[decided]]
    accuracy_before, accuracy_after = _credit(before, won), _credit(after, won)
    gain = float(np.mean(accuracy_after - accuracy_before))
    low, high = mean_interval(accuracy_after - accuracy_before, clusters)
    brier = (logistic(before) - won) ** 2 - (logistic(after) - won) ** 2
    brier_low, brier_high = mean_interval(brier, clusters)
    nulls = _null_gains(votes, shuffles, seed)
    null_low, null_high = percentile_interval(nulls)
    return CalibrationGain(
        votes=int(decided.sum()),
        prompts=len(np.unique(clusters[0])),
        raters=votes.named_raters,
        accuracy_before=float(accuracy_before.mean()),
        accuracy_after=float(accuracy_after.mean()),
        gain=gain,
        low=finite(low),
        high=finite(high),
        brier_gain=float(brier.mean()),
        brier_low=finite(brier_low),
        brier_high=finite(brier_high),
        null_low=null_low,
        null_high=null_high,
        p=(1 + int((nulls >= gain - 1e-12).sum())) / (1 + shuffles),
        verdict="a gain" if low > 0 else "a loss" if high < 0 else NO_GAIN,
    )


def held_out_differences(votes: ScoredVotes) -> NDArray[np.float64]:
    """Return the corrected differences of scores, each with offsets fitted to the votes on other prompts: (n,)."""
    fold = votes.prompts % FOLDS
    corrected = votes.difference.copy()
    for one in np.unique(fold):
        tested = fold == one
        if not tested.all():
            offsets = np.nan_to_num(fit_offsets(votes, ~tested).strengths)
            corrected[tested] += offsets[votes.first[tested]] - offsets[votes.second[tested]]
    return corrected


def _null_gains(votes: ScoredVotes, shuffles: int, seed: int) -> Array:
    """Return the gains with the generators' names shuffled among the pairs: (shuffles,)."""
    rng = np.random.default_rng(seed)
    decided, won = votes.decided, votes.outcome[votes.decided] > 0
    before = _credit(votes.difference[decided], won).mean()
    found = np.empty(shuffles)
    for i in range(shuffles):
        mixed = rng.permutation(len(votes.outcome))
        shuffled = votes._replace(first=votes.first[mixed], second=votes.second[mixed])
        found[i] = _credit(held_out_differences(shuffled)[decided], won).mean() - before
    return found


def _credit(differences: Array, won: NDArray[np.bool_]) -> Array:
    """Return 1 for a vote that the sign of the difference predicts, 0.5 for none."""
    return 0.5 + np.sign(differences) * (won - 0.5)


def _codes(values: Sequence[str]) -> Codes:
    numbers = {value: i for i, value in enumerate(sorted(set(values)))}
    return np.array([numbers[value] for value in values], np.int64)


def votes_needed(gain: CalibrationGain) -> int | None:
    """Return how many votes would make this gain significant; None if it already is, or if there is no gain."""
    if gain.gain <= 0 or gain.low is None or gain.low > 0:
        return None
    return math.ceil(gain.votes * ((gain.gain - gain.low) / gain.gain) ** 2)


def calibration_tables(calibration: Calibration) -> list[Table]:
    """Return the gains and the offsets."""
    gains, offsets, notes = [], [], []
    for axis, of in calibration.axes.items():
        gain = of.gain
        low_high = Interval(gain.null_low, gain.null_high)
        gains.append(
            [
                *(axis, gain.verdict, str(gain.votes), str(gain.prompts), str(gain.raters or "-")),
                *(percent(gain.accuracy_before), percent(gain.accuracy_after)),
                *(signed(gain.gain, 1, 100), interval((gain.low, gain.high), 1, 100, with_sign=True)),
                *(interval(low_high, 1, 100, with_sign=True), p_value(gain.p)),
                *(signed(gain.brier_gain, 4), interval((gain.brier_low, gain.brier_high), 4, with_sign=True)),
            ]
        )
        needed = votes_needed(gain)
        if needed is not None:
            notes.append(f"{axis}: a gain of this size would be significant with about {needed:,} votes.")
        ranked = sorted(of.offsets.items(), key=lambda entry: -entry[1].offset)
        offsets += [
            [axis, name, signed(one.offset), interval((one.low, one.high), 2, with_sign=True), str(one.votes)]
            for name, one in ranked
        ]
    headers = ["axis", "verdict", "votes", "prompts", "annotators", "ACC before", "after", "gain", "95 %"]
    headers += ["null 95 %", "p", "Brier gain", "95 %"]
    notes += [
        f"On decided votes, each predicted with offsets fitted to the votes on other prompts ({FOLDS} folds). ACC, "
        "gain and null in percent. 95 %: robust to votes of one prompt or one annotator; votes without a rater count "
        "as those of different people. Null: generators' names shuffled among the pairs. Brier gain: how much the "
        "squared error of the probabilities falls.",
        *validation_notes(calibration.model),
    ]
    prior = f"In log odds, pulled to 0 by a normal prior of precision {number(calibration.prior, 1)}."
    return [
        Table(f"{calibration.model}: what the offsets change on held-out votes", headers, gains, labels=2, notes=notes),
        Table("Offsets of the generators", ["axis", "generator", "offset", "95 %", "votes"], offsets, 2, [prior]),
    ]


def choose_system(systems: Sequence[System], name: str, where: object) -> System:
    """Return the model of a run that has this name; the name may be left out if there is one."""
    known = [one for one in systems if not one.about.is_judge and one.about.prompt and not one.about.calibration]
    found = [one for one in known if name in ("", one.about.name, one.about.model.partition("@")[0])]
    if len(found) != 1:
        names = ", ".join(one.about.name for one in known) or "none"
        asked = "choose a model with --model" if not name else f"no model of it is called {name!r}"
        raise InputError(f"{where}: {asked}; models that score takes one by one are {names}")
    return found[0]
