"""Predict the preferred candidate of each pair of a MIREX input, by a scorer or by a judge.

The folder OUT.run beside the predictions
    settings.json     the model and the axis; others need another OUT
    scores.jsonl      the score of each take as it comes (`cmi.reward.scoring.score_log`), or
    judge/            the verdicts of a judge as they come (`cmi.judge.run`)
    sessions.jsonl    how long each call took, and for how much
    failures.jsonl    the pairs without a prediction, and why
    about.json        what is known of the model and of the machine, for the disclosure sheet

The predictions are written when all pairs were tried, atomically, in the input's order. A pair that has no prediction
is left out, and tried again by the same command.

Scorers    The probability that A is preferred is the logistic function of the difference of the two scores.
Judges     It is the share of the orders (a, b and b, a) in which the judge prefers A; a tie counts half.
"""

import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cmi import __version__
from cmi._util.errors import InputError
from cmi._util.files import SETTINGS, claim, write_whole
from cmi._util.records import read_json
from cmi._util.runlog import RunLog, read_records
from cmi.judge.labels import pair_scores
from cmi.judge.run import VERDICTS, Judged
from cmi.preferences import NamedPair
from cmi.report.tables import to_json, to_json_line
from cmi.reward.model.validation import validation_record
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.rewardbench.mirex.entry import MirexInput, prediction_record
from cmi.stats import logistic
from cmi.take import Axis, Score

By = Literal["", "musicality", "alignment", "mean"]
SCORES, SESSIONS, FAILURES, ABOUT, JUDGE = "scores.jsonl", "sessions.jsonl", "failures.jsonl", "about.json", "judge"
RUN = ".run"


class Predicted(NamedTuple):
    """The probability that A is preferred for each pair, by the pair's name, and why other pairs have none."""

    by: By
    scores: dict[str, float]
    failures: dict[str, str]
    notes: list[str]

    @property
    def ties(self) -> list[str]:
        return [name for name, score in self.scores.items() if score == 0.5]


def run_folder(out: Path) -> Path:
    return out.with_name(out.name + RUN)


def claim_output(out: Path, model: str, by: str) -> Path:
    """Return the folder of the run; InputError if the predictions are of another model, or not ours."""
    if out.is_dir():
        raise InputError(f"{out}: a folder, expected the name of a file to write")
    folder, settings = run_folder(out), {"model": model, "by": by}
    if out.exists() and not folder.exists():
        raise InputError(f"{out}: exists, and `cmi mirex predict` did not write it; choose another name")
    if not out.parent.is_dir():
        raise InputError(f"{out.parent}: no such folder; make it, or choose another place for the predictions")
    begun = folder / SETTINGS
    if begun.is_file() and (earlier := read_json(begun)) != settings:
        known = ", ".join(map(str, earlier.values())) if isinstance(earlier, dict) else "something else"
        raise InputError(f"{out}: started with {known}, not with {model}, {by or 'any axis'}; choose another name")
    claim(folder, settings, "cmi mirex predict")
    return folder


def choose_axis(by: By, axes: Sequence[Axis], model: str) -> By:
    """Return the score that decides: by default musicality, as in the benchmark; alignment if there is no other."""
    chosen = by or ("musicality" if "musicality" in axes else "alignment")
    needed = ("musicality", "alignment") if chosen == "mean" else (chosen,)
    missing = [axis for axis in needed if axis not in axes]
    if missing:
        raise InputError(f"--by {chosen}: {model} has no {missing[0]} score, only {', '.join(axes)}")
    return chosen


def predict_by_scorer(
    entry: MirexInput, scorer: NamedScorer, by: By, folder: Path, on_scored: Callable[[int], None]
) -> Predicted:
    """Score the takes that are not in the log yet, and compare those of each pair."""
    takes = [take for row in entry.rows for take in row.pair.takes]
    counts: list[int] = []

    def count(done: int) -> None:
        counts.append(done)
        on_scored(done)

    started = time.monotonic()
    results = score_takes(takes, scorer, [folder / SCORES], count)
    failed = sum(isinstance(one, InputError) for one in results)
    _log_session(folder, time.monotonic() - started, sum(counts[1:]) - failed, 2)  # the first were in the log
    predicted = Predicted(by, {}, {}, [])
    for row, a, b in zip(entry.rows, results[::2], results[1::2], strict=True):
        reasons = dict.fromkeys(str(one) for one in (a, b) if isinstance(one, InputError))
        if reasons:
            predicted.failures[row.name] = "; ".join(reasons)
        elif isinstance(a, ScoredTake) and isinstance(b, ScoredTake):
            predicted.scores[row.name] = float(logistic(_value(a.score, by) - _value(b.score, by)))
            predicted.notes.extend(
                f"{row.name}: {side}: {note}" for side, one in (("A", a), ("B", b)) for note in one.notes
            )
    return predicted


def _value(score: Score, by: By) -> float:
    return (score.musicality + score.alignment) / 2 if by == "mean" else float(getattr(score, by))


def named_pairs(entry: MirexInput) -> list[NamedPair]:
    return [NamedPair(row.name, row.pair, {}, {}) for row in entry.rows]


def predict_by_judge(entry: MirexInput, by: By, folder: Path, ask: Callable[[Path], Judged], orders: int) -> Predicted:
    """Have the judge asked about each pair in so many orders, and count for whom it spoke.

    `ask` returns the verdicts, which it keeps in the folder that it is given.
    """
    place = folder / JUDGE
    known = sum(1 for _ in read_records(place / VERDICTS, missing_ok=True))
    started = time.monotonic()
    judged = ask(place)
    _log_session(folder, time.monotonic() - started, len(judged.verdicts) - known, orders)
    axes: list[Axis] = ["musicality"] if {"musicality", "overall"} & set(judged.axes) else []
    axes += ["alignment"] if "alignment" in judged.axes else []
    chosen = choose_axis(by, axes, judged.judge) if axes else by
    return _by_verdicts(entry, judged, chosen)


def _by_verdicts(entry: MirexInput, judged: Judged, by: By) -> Predicted:
    predicted = Predicted(by, {}, {}, judged.cut_notes)
    failed = {asking.pair: reason for asking, reason in judged.failures.items()}
    scores = pair_scores(judged)
    for row in entry.rows:
        value = _value(scores[row.name][0], by) if row.name in scores and by else math.nan
        if row.name in failed:
            predicted.failures[row.name] = failed[row.name]
        elif math.isnan(value):
            predicted.failures[row.name] = f"no answer of the judge on {by or 'any axis'} could be read"
        else:
            predicted.scores[row.name] = value
    return predicted


def _log_session(folder: Path, seconds: float, done: int, per_pair: int) -> None:
    """Keep how long a call took for so many new takes or questions, of which a pair has `per_pair`."""
    if done > 0:
        with RunLog(folder / SESSIONS) as log:
            ended = f"{datetime.now(UTC).isoformat(timespec='microseconds')} {os.getpid()}"
            log.append({"id": ended, "seconds": round(seconds, 3), "done": done, "per_pair": per_pair})
            log.finish()


def seconds_per_pair(folder: Path) -> tuple[float, int] | None:
    """Return the seconds that a pair took, over all calls that ended, and over how many pairs that is."""
    sessions = list(read_records(folder / SESSIONS, missing_ok=True))
    pairs = sum(one["done"] / one["per_pair"] for one in sessions)
    return (sum(one["seconds"] for one in sessions) / pairs, round(pairs)) if pairs else None


def write_predictions(out: Path, entry: MirexInput, predicted: Predicted, about: Mapping[str, Any]) -> None:
    """Write the predictions, and what is known of how they were made."""
    found = [row for row in entry.rows if row.name in predicted.scores]
    records = [prediction_record(entry, row, predicted.scores[row.name]) for row in found]
    counts = {"pairs": len(entry.rows), "predicted": len(found), "ties": len(predicted.ties)}
    known = {"cmi": __version__, **about, "by": predicted.by, **counts, "machine": describe_machine()}
    failures = [{"id": name, "error": reason} for name, reason in predicted.failures.items()]
    write_whole(run_folder(out) / FAILURES, "".join(map(to_json_line, failures)))
    write_whole(run_folder(out) / ABOUT, to_json(known))
    write_whole(out, "".join(map(to_json_line, records)))


def describe_scorer(scorer: NamedScorer, device: str) -> dict[str, Any]:
    """Return what a disclosure sheet needs to know of a scorer; sizes only of reward models."""
    about: dict[str, Any] = {"model": scorer.name, **validation_record(scorer.name)}
    about |= {"settings": scorer.settings, "device": device, "external": ""}
    model = scorer.reward_model
    if model is None or model.folder is None:
        return about
    trained = sum(one.numel() for one in model.head.parameters())
    frozen = sum(one.numel() for one in model.encoder.parameters())
    files = [path for path in model.folder.iterdir() if path.is_file()]
    card = model.folder / "README.md"
    return {
        **about,
        "device": str(next(model.head.parameters()).device),
        "parameters_of_head": trained,
        "parameters_of_encoder": frozen,
        "bytes": sum(path.stat().st_size for path in files),
        "card": card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
    }


def describe_machine() -> dict[str, Any]:
    """Return the processor, the cores that this process may use, the memory and the GPUs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.platform(), "processor": _processor(), "cores": cores, "memory": memory, "gpus": _gpus()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _gpus() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def read_about(out: Path) -> dict[str, Any]:
    """Return what `write_predictions` kept of the model and the machine."""
    path = run_folder(out) / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: missing or damaged; run `cmi mirex predict` with -o {out} first") from error
    if not isinstance(about, dict):
        raise InputError(f"{path}: {type(about).__name__}, expected an object")
    return about
