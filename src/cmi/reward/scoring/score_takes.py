"""Score many takes by id: each result is kept as it comes, a broken file is a record like any other."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.runlog import RunLog, read_records
from cmi.report.tables import Table
from cmi.reward.scoring.load_scorer import NamedScorer
from cmi.reward.scoring.score_key import score_key
from cmi.reward.scoring.scorer import Judged, RewardScorer
from cmi.take import Score, Take


def score_takes(
    takes: Iterable[tuple[str, Take]],
    scorer: RewardScorer | NamedScorer,
    model: str,
    log: Path | None,
    on_scored: Callable[[], None],
) -> list[dict[str, Any]]:
    """One record for each take, in order. With a log, what it holds is not scored again.

    A take that could not be heard is not logged, so that it is tried again when its file was mended.
    """
    settings, window = [model], {}
    if isinstance(scorer, RewardScorer):
        settings, window = [model, scorer.window.name, str(scorer.all_words)], {"window": scorer.window.name}
    with RunLog(log, key="key") if log else nullcontext() as run_log:
        known = {record["key"]: record for record in read_records(log)} if log else {}
        rows = [(f"{name}/{score_key(take, settings)[:16]}", name, take) for name, take in takes]
        pending = {key: (identifier, take) for key, identifier, take in rows if key not in known}
        for _ in range(len(rows) - len(pending)):
            on_scored()
        results = scorer.judge([take for _, take in pending.values()])
        for judged, (key, (identifier, take)) in zip(results, pending.items(), strict=True):
            about = {"key": key, "id": identifier, "audio": str(take.audio), "model": model}
            known[key] = {**about, **window, **_outcome(judged)}
            if run_log is not None and not isinstance(judged, InputError):
                run_log.append(known[key])
            on_scored()
        if run_log is not None:
            run_log.finish()
    return [{name: value for name, value in known[key].items() if name != "key"} for key, _, _ in rows]


def _outcome(judged: Judged | Score | InputError) -> dict[str, Any]:
    if isinstance(judged, InputError):
        return {"error": str(judged)}
    if isinstance(judged, Score):  # by a class of the user's, which says no more
        return judged._asdict()
    outcome: dict[str, Any] = {**judged.score._asdict(), "seconds": round(judged.seconds, 3)}
    if judged.notes:
        outcome["notes"] = list(judged.notes)
    return outcome


def scores_table(records: Iterable[dict[str, Any]], model: str) -> Table:
    """The records for people; what could not be heard or was cut is said below."""
    rows, notes = [], []
    for record in records:
        if "error" in record:
            named = record["error"].startswith(record["id"])  # files named on the command line are their own ids
            notes.append(record["error"] + "." if named else f"{record['id']}: {record['error']}.")
            rows.append([record["id"], "-", "-", "-"])
        else:
            heard = f"{record['seconds']:.1f}" if "seconds" in record else "-"
            rows.append([record["id"], f"{record['musicality']:.3f}", f"{record['alignment']:.3f}", heard])
            notes += [f"{record['id']}: {note}." for note in record.get("notes", ())]
    return Table(f"Scored by {model}", ["take", "musicality", "alignment", "seconds heard"], rows, notes=notes)
