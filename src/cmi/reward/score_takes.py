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
from cmi.reward.scorer import RewardScorer
from cmi.runlog import RunLog, read_records
from cmi.take import Take


def score_takes(
    takes: Iterable[tuple[str, Take]], scorer: RewardScorer, log: Path | None, on_scored: Callable[[], None]
) -> list[dict[str, Any]]:
    """One record for each take, in order. With a log, what it holds is not scored again.

    A take that could not be heard is not logged, so that it is tried again when its file was mended.
    """
    model = scorer.model.name
    with RunLog(log, key="key") if log else nullcontext() as run_log:
        known = {record["key"]: record for record in read_records(log)} if log else {}
        rows = [(_key(identifier, take, scorer), identifier, take) for identifier, take in takes]
        pending = {key: (identifier, take) for key, identifier, take in rows if key not in known}
        scores = scorer.judge(take for _, take in pending.values())
        for judged, (key, (identifier, take)) in zip(scores, pending.items(), strict=True):
            record: dict[str, Any] = {"key": key, "id": identifier, "audio": str(take.audio), "model": model}
            if isinstance(judged, InputError):
                record["error"] = str(judged)
            else:
                record |= {**judged.score._asdict(), "seconds": round(judged.seconds, 3)}
            known[key] = record
            if run_log is not None and "error" not in record:
                run_log.append(record)
            on_scored()
        if run_log is not None:
            run_log.finish()
    return [{name: value for name, value in known[key].items() if name != "key"} for key, _, _ in rows]


def _key(identifier: str, take: Take, scorer: RewardScorer) -> str:
    """One score: the same model, seconds, prompt and file contents."""
    sounds = [
        content_hash(sound) if _can_be_read(sound) else "" for sound in (take.audio, take.prompt.reference) if sound
    ]
    parts = [scorer.model.name, str(scorer.seconds), take.prompt.text, take.prompt.lyrics, *sounds]
    return f"{identifier}/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def _can_be_read(sound: Path | Waveform) -> bool:
    return isinstance(sound, Waveform) or sound.is_file()


def scores_table(records: Iterable[dict[str, Any]], model: str) -> Table:
    """The records for people; what could not be heard is said below."""
    rows, notes = [], []
    for record in records:
        if "error" in record:
            notes.append(f"{record['id']}: {record['error']}.")
            rows.append([record["id"], "-", "-", "-"])
        else:
            numbers = (f"{record['musicality']:.3f}", f"{record['alignment']:.3f}", f"{record['seconds']:.1f}")
            rows.append([record["id"], *numbers])
    return Table(f"Scored by {model}", ["take", "musicality", "alignment", "seconds heard"], rows, notes=notes)
