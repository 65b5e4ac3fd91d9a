"""Score many takes by id: each result is kept as it comes, a broken file is a record like any other."""

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cmi.audio import Waveform, content_hash
from cmi.errors import InputError
from cmi.report.tables import Table
from cmi.reward.scorer import Judged, RewardScorer
from cmi.runlog import RunLog, read_records
from cmi.take import Take


def score_takes(
    takes: Iterable[tuple[str, Take]], scorer: RewardScorer, model: str, log: Path | None, on_scored: Callable[[], None]
) -> list[dict[str, Any]]:
    """One record for each take, in order. With a log, what it holds is not scored again.

    A take that could not be heard is not logged, so that it is tried again when its file was mended.
    """
    settings = [model, scorer.window.name, str(scorer.all_words)]
    with RunLog(log, key="key") if log else nullcontext() as run_log:
        known = {record["key"]: record for record in read_records(log)} if log else {}
        rows = [(_key(identifier, take, settings), identifier, take) for identifier, take in takes]
        pending = {key: (identifier, take) for key, identifier, take in rows if key not in known}
        for _ in range(len(rows) - len(pending)):
            on_scored()
        results = scorer.judge(take for _, take in pending.values())
        for judged, (key, (identifier, take)) in zip(results, pending.items(), strict=True):
            about = {"key": key, "id": identifier, "audio": str(take.audio), "model": model}
            known[key] = {**about, "window": scorer.window.name, **_outcome(judged)}
            if run_log is not None and isinstance(judged, Judged):
                run_log.append(known[key])
            on_scored()
        if run_log is not None:
            run_log.finish()
    return [{name: value for name, value in known[key].items() if name != "key"} for key, _, _ in rows]


def _outcome(judged: Judged | InputError) -> dict[str, Any]:
    if isinstance(judged, InputError):
        return {"error": str(judged)}
    outcome: dict[str, Any] = {**judged.score._asdict(), "seconds": round(judged.seconds, 3)}
    if judged.notes:
        outcome["notes"] = list(judged.notes)
    return outcome


def _key(identifier: str, take: Take, settings: list[str]) -> str:
    """One score: the same model, settings and prompt, and files of the same size that were not written to since.

    Hashing the files would be surer, and slower than a GPU scores them.
    """
    sounds = [_stamp(sound) for sound in (take.audio, take.prompt.reference) if sound]
    parts = [*settings, take.prompt.text, take.prompt.lyrics, *sounds]
    return f"{identifier}/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def _stamp(sound: Path | Waveform) -> str:
    if isinstance(sound, Waveform):
        return content_hash(sound)
    try:
        about = sound.stat()
    except (OSError, ValueError):
        return f"{sound} can't be read"
    return f"{sound} {about.st_size} {about.st_mtime_ns}"


def scores_table(records: Iterable[dict[str, Any]], model: str) -> Table:
    """The records for people; what could not be heard or was cut is said below."""
    rows, notes = [], []
    for record in records:
        if "error" in record:
            named = record["error"].startswith(record["id"])  # files named on the command line are their own ids
            notes.append(record["error"] + "." if named else f"{record['id']}: {record['error']}.")
            rows.append([record["id"], "-", "-", "-"])
        else:
            numbers = (f"{record['musicality']:.3f}", f"{record['alignment']:.3f}", f"{record['seconds']:.1f}")
            rows.append([record["id"], *numbers])
            notes += [f"{record['id']}: {note}." for note in record.get("notes", ())]
    return Table(f"Scored by {model}", ["take", "musicality", "alignment", "seconds heard"], rows, notes=notes)
