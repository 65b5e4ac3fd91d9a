"""Read the results.jsonl of CMI-RewardBench's authors and reproduce their evaluator's numbers.

A row is one of the benchmark's (`source`, `split`, `audio-path`, `prompt`, its labels) with a model's predictions:
`predicted_musicality`, `predicted_text-music alignment`, the same two with `_b` for pairs, and `predicted_preference`,
`predicted_preference-musicality`, `predicted_preference-alignment`.

Their evaluator, which `summary` and `detail` follow to the last digit
    Only rows of the test split count. Correlations drop values that are not numbers. Labels in any case: a, model_a; b,
    model_b; both and neither are one label; rows with other labels or without a prediction are left out. Equal labels
    get 1, or else 0.5 if one is both, or else 0. Lyrics or a reference that is null or missing counts as present
    because it becomes the text 'None'; only '' is absent.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.stats import kendall_tau_b, pearson, spearman
from cmi.take import Choice

Row = Mapping[str, Any]
PAM, MUSICEVAL, ARENA, PREF = "PAM", "MusicEval", "MusicArena", "CMI-Pref"  # as their files name them
NAMES = {PAM: "pam", MUSICEVAL: "musiceval", ARENA: "music-arena", PREF: "cmi-pref"}  # as ours do
RATED = {"musicality": "musicality", "alignment": "text-music alignment"}
CHOICES: Mapping[str, Choice] = {
    **{"a": "a", "model_a": "a", "b": "b", "model_b": "b", "both": "both", "neither": "neither"}
}
LABELS = {word: "both" if choice == "neither" else choice for word, choice in CHOICES.items()}
CONFIDENCES: Mapping[str, Callable[[float], bool]] = {
    "<3": lambda sure: sure < 3,
    "=3": lambda sure: sure == 3,
    ">3": lambda sure: sure > 3,
}
DURATION_BINS = ("[10,30)", 10, 30), ("[30,60)", 30, 60), ("[60,120)", 60, 120), ("[120,500]", 120, 500)
ARENA_FOLDER = "MusicArena_data"


class Released(NamedTuple):
    where: str
    dataset: str
    row: Row


class ReleasedQuestion(NamedTuple):
    """A preference task: its name and the fields of people's label, the prediction and people's confidence."""

    task: str
    label: str
    predicted: str
    confidence: str = ""


ARENA_QUESTION = ReleasedQuestion("preference", "preference", "predicted_preference")
PREF_QUESTIONS = tuple(
    ReleasedQuestion(axis, f"preference-{axis}", f"predicted_preference-{axis}", f"confidence_preference-{axis}")
    for axis in ("alignment", "musicality")
)


def read_released(path: Path) -> list[Released]:
    """Read the test rows of the four data sets."""
    found = []
    for place, row in read_records(path):
        dataset = _dataset(row)
        if row.get("split") == "test" and dataset in NAMES:
            found.append(Released(f"{path} {place}", dataset, row))
    if not found:
        raise InputError(f"{path}: no row with 'split' test of a known 'source', expected the authors' results.jsonl")
    return found


def _dataset(row: Row) -> str:
    source = str(row.get("source") or "")
    if "PAM" in source:
        return PAM
    if "MusicEval" in source or "SongEval" in source:
        return MUSICEVAL
    if "Music Arena" in source or source == "cmi-arena-annotation":
        return ARENA if "Music Arena" in source else PREF
    in_arena = any(ARENA_FOLDER in str(row.get(field) or "") for field in ("audio-path", "audio2"))
    return ARENA if in_arena else str(row.get("benchmark_dataset") or "")


def summary(rows: Sequence[Released]) -> list[dict[str, Any]]:
    """Return the rows of metrics_summary.csv."""
    lines = []
    for dataset, axes in ((PAM, ("musicality", "alignment")), (MUSICEVAL, ("musicality",))):
        for axis in axes:
            own = [one for one in rows if one.dataset == dataset]
            if own:
                lines.append({"dataset": dataset, "task": axis, **_correlations(own, axis)})
    for dataset, question in _questions(rows):
        n, accuracy = _accuracy(rows, dataset, question)
        lines.append({"dataset": dataset, "task": question.task, "n": n, "ACC": accuracy})
    columns = ("dataset", "task", "n", "SRCC", "LCC", "K-Tau", "ACC")
    return [{column: line.get(column) for column in columns} for line in lines]


def detail(rows: Sequence[Released], durations: Mapping[str, float] | None = None) -> list[dict[str, Any]]:
    """Return the rows of metrics_detail.csv; with seconds by path (audio_duration_map.json), also by duration."""
    lines = list(_group(rows, [(ARENA, ARENA_QUESTION)], "month", month))
    pref = [(PREF, question) for question in PREF_QUESTIONS]
    lines += _group(rows, pref, "modality", _modality)
    for question in PREF_QUESTIONS:
        lines += _by_confidence([one for one in rows if one.dataset == PREF], question)
    lines += _group(rows, pref, "ref_subset", _ref_category, ("no_ref", "ref"))
    lines += _group(rows, pref, "modality_type", lambda row: "vocal" if _present(row, "lyrics") else "instru")
    columns = ["dataset", "task", "group_key", "group_value", "n", "ACC", "ref_category"]
    if durations is not None:
        lines += _by_duration(rows, durations)
        columns.append("SRCC")
    return [{column: line.get(column) for column in columns} for line in lines]


def _questions(rows: Iterable[Released]) -> list[tuple[str, ReleasedQuestion]]:
    there = {one.dataset for one in rows}
    every = [(ARENA, ARENA_QUESTION), *((PREF, question) for question in PREF_QUESTIONS)]
    return [(dataset, question) for dataset, question in every if dataset in there]


def _group(
    rows: Sequence[Released],
    questions: Iterable[tuple[str, ReleasedQuestion]],
    key: str,
    group: Callable[[Row], str],
    values: Sequence[str] | None = None,
) -> Iterator[dict[str, Any]]:
    asked = [(dataset, question) for dataset, question in _questions(rows) if (dataset, question) in questions]
    for value in values or sorted({group(one.row) for one in rows for dataset, _ in asked if one.dataset == dataset}):
        inside = [one for one in rows if group(one.row) == value]
        for dataset, question in asked:
            n, accuracy = _accuracy(inside, dataset, question)
            about = {"dataset": dataset, "task": question.task, "group_key": key, "group_value": value}
            yield {**about, "n": n, "ACC": accuracy}


def _by_confidence(rows: Sequence[Released], question: ReleasedQuestion) -> Iterator[dict[str, Any]]:
    about = {"dataset": PREF, "task": question.task, "group_key": "confidence"}
    sure = [(one, value) for one in rows if math.isfinite(value := number(one.row.get(question.confidence)))]
    crossed = [(name, category) for name in CONFIDENCES for category in ("no_ref", "ref")]
    for name, category in [*crossed, *((name, "all") for name in CONFIDENCES)] if rows else ():
        inside = [
            one for one, value in sure if CONFIDENCES[name](value) and category in ("all", _ref_category(one.row))
        ]
        n, accuracy = _accuracy(inside, PREF, question)
        yield {**about, "group_value": name, "ref_category": category, "n": n, "ACC": accuracy}


def _by_duration(rows: Sequence[Released], durations: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    binned: dict[str, list[Released]] = {name: [] for name, _, _ in DURATION_BINS}
    for one in rows:
        name = duration_bin([durations.get(str(one.row.get(field))) for field in audio_fields(one)])
        if name is not None:
            binned[name].append(one)
    for name, inside in binned.items():
        about = {"group_key": "duration_bin", "group_value": name}
        for dataset, axis in ((PAM, "musicality"), (PAM, "alignment"), (MUSICEVAL, "musicality")):
            own = [one for one in inside if one.dataset == dataset]
            if own:
                found = _correlations(own, axis)
                yield {"dataset": dataset, "task": axis, **about, "n": found["n"], "SRCC": found["SRCC"]}
        for dataset, question in _questions(inside):
            n, accuracy = _accuracy(inside, dataset, question)
            yield {"dataset": dataset, "task": question.task, **about, "n": n, "ACC": accuracy}


def duration_bin(seconds: Sequence[float | None]) -> str | None:
    """Return the bin of the takes' mean length; None outside all bins, or if a length is unknown."""
    known = [value for value in seconds if value is not None]
    if not known or len(known) < len(seconds):
        return None
    mean = sum(known) / len(known)
    last = DURATION_BINS[-1]
    return next((name for name, low, high in DURATION_BINS if low <= mean < high or (mean == high == last[2])), None)


def _correlations(rows: Sequence[Released], axis: str) -> dict[str, Any]:
    field = RATED[axis]
    both = [(number(one.row.get(field)), number(one.row.get(f"predicted_{field}"))) for one in rows]
    x, y = [a for a, b in both if math.isfinite(a + b)], [b for a, b in both if math.isfinite(a + b)]
    values = {"SRCC": spearman(x, y), "LCC": pearson(x, y), "K-Tau": kendall_tau_b(x, y)}
    return {"n": len(x), **{name: value if math.isfinite(value) else None for name, value in values.items()}}


def _accuracy(rows: Iterable[Released], dataset: str, question: ReleasedQuestion) -> tuple[int, float | None]:
    credits = []
    for one in rows:
        if one.dataset == dataset:
            for field in (question.label, question.predicted):
                if field not in one.row:
                    raise InputError(f"{one.where}: no {field!r}, expected a label in every row of {dataset}")
            labels = [LABELS.get(str(one.row[field]).lower()) for field in (question.label, question.predicted)]
            if None not in labels:
                credits.append(1.0 if labels[0] == labels[1] else 0.5 if "both" in labels else 0.0)
    return len(credits), sum(credits) / len(credits) if credits else None


def number(value: Any) -> float:
    """Convert to a finite number; NaN for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def month(row: Row) -> str:
    for field in ("audio-path", "audio2"):
        parts = PurePosixPath(str(row.get(field) or "")).parts
        if ARENA_FOLDER in parts[:-2]:
            return parts[parts.index(ARENA_FOLDER) + 2]
    return "unknown"


def _present(row: Row, field: str) -> bool:
    return bool(str(row.get(field)).strip())


def _ref_category(row: Row) -> str:
    return "ref" if _present(row, "ref-audio-path") else "no_ref"


def _modality(row: Row) -> str:
    lyrics, reference = _present(row, "lyrics"), _present(row, "ref-audio-path")
    return str(row.get("modality") or "") or "text" + "+lyrics" * lyrics + "+ref" * reference


def audio_fields(one: Released) -> tuple[str, ...]:
    return ("audio-path", "audio2") if one.dataset in (ARENA, PREF) else ("audio-path",)


def read_durations(path: Path) -> dict[str, float]:
    """Read seconds by path from a JSON object, such as the authors' audio_duration_map.json."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(content, dict) or not all(math.isfinite(number(value)) for value in content.values()):
        raise InputError(f"{path}: expected a JSON object of seconds by path")
    return {name: number(value) for name, value in content.items()}
