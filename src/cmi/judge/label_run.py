"""Label pairs: verdicts in both orders, those that agree, and a file of preferences for `cmi train`.

preferences.jsonl    the labels, in the common format
labels.json          win rates in both orders, what was kept and what was not
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.judge.labels import Retention, label_preferences, retained
from cmi.judge.report import label_record
from cmi.judge.run import Judged, read_run
from cmi.judge.soft import Method, consensus, hard_labels
from cmi.preferences import NamedPair, write_preferences
from cmi.take import Axis, Choice

PREFERENCES, LABELS = "preferences.jsonl", "labels.json"


def write_labels(pairs: Sequence[NamedPair], judged: Judged, folder: Path, retention: Retention) -> int:
    """The labels of one judge, kept where both orders agree; how many there are."""
    kept = retained(judged, retention)
    return _write(pairs, kept, judged.judge, folder, {"retention": retention, **label_record(judged)})


def write_consensus(
    pairs: Sequence[NamedPair], judged: Judged, others: Sequence[Path], folder: Path, method: Method
) -> int:
    """The labels that several judges' runs come to together, with their chances beside."""
    runs = [judged, *(read_run(other, pairs) for other in others)]
    if len({run.judge for run in runs}) < len(runs):
        raise InputError("two of the runs are by the same judge, expected different ones")
    soft = consensus(runs, pairs, method)
    kept = {axis: hard_labels(found) for axis, found in soft.items()}
    rater = f"{method} of {'; '.join(run.judge for run in runs)}"
    record = {"method": method, "judges": [label_record(run) for run in runs]}
    return _write(pairs, kept, rater, folder, record, soft)


def _write(
    pairs: Sequence[NamedPair],
    kept: Mapping[Axis, Mapping[str, Choice]],
    rater: str,
    folder: Path,
    record: Mapping[str, Any],
    soft: Mapping[Axis, Mapping[str, Mapping[str, float]]] | None = None,
) -> int:
    labels = list(label_preferences(pairs, kept, rater, soft))
    write_preferences(labels, folder / PREFERENCES)
    write_whole(folder / LABELS, json.dumps({"labels": len(labels), **record}, indent=1) + "\n")
    return len(labels)
