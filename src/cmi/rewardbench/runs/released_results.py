"""Read the results.jsonl of CMI-RewardBench's authors: reproduce their evaluator's numbers, or convert rows to items.

A row is one of the benchmark's (`source`, `split`, `audio-path`, `prompt`, its labels) with a model's predictions:
`predicted_musicality`, `predicted_text-music alignment`, the same two with `_b` for pairs, and `predicted_preference`,
`predicted_preference-musicality`, `predicted_preference-alignment`.

Their evaluator, which `summary` and `detail` follow to the last digit
    Only rows of the test split count. Correlations drop values that are not numbers. Labels in any case: a, model_a; b,
    model_b; both and neither are one label; rows with other labels or without a prediction are left out. Equal labels
    get 1, or else 0.5 if one is both, or else 0. Lyrics or a reference that is null or missing counts as present
    because it becomes the text 'None'; only '' is absent.

As items (`as_items`), for all tables and analyses, a null is absent, and a model's predictions are its scores.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from cmi._util.errors import InputError
from cmi._util.fields import text_field
from cmi._util.records import read_records
from cmi.rewardbench.data.released import ARENA_FOLDER, RATED, is_present, modality, month
from cmi.rewardbench.data.rows import WORDS, Row
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.tasks import Key
from cmi.stats import kendall_tau_b, pearson, spearman
from cmi.take import Axis, Choice, Prompt, Score

PAM, MUSICEVAL, ARENA, PREF = "PAM", "MusicEval", "MusicArena", "CMI-Pref"  # as their files name them
NAMES = {PAM: "pam", MUSICEVAL: "musiceval", ARENA: "music-arena", PREF: "cmi-pref"}  # as ours do
RATINGS: tuple[tuple[str, Axis], ...] = ((PAM, "musicality"), (PAM, "alignment"), (MUSICEVAL, "musicality"))
LABELS = {word: "both" if choice == "neither" else choice for word, choice in WORDS.items() if choice}
CONFIDENCES: Mapping[str, Callable[[float], bool]] = {
    "<3": lambda sure: sure < 3,
    "=3": lambda sure: sure == 3,
    ">3": lambda sure: sure > 3,
}
DURATION_BINS = ("[10,30)", 10, 30), ("[30,60)", 30, 60), ("[60,120)", 60, 120), ("[120,500]", 120, 500)


class Released(NamedTuple):
    where: str
    dataset: str
    row: Row

    @property
    def audio_fields(self) -> tuple[str, ...]:
        return ("audio-path", "audio2") if self.dataset in (ARENA, PREF) else ("audio-path",)

    @property
    def month(self) -> str:
        return month([str(self.row.get(field) or "") for field in ("audio-path", "audio2")]) or "unknown"


class ReleasedQuestion(NamedTuple):
    """A preference task; predictions and confidences are in the fields predicted_LABEL and confidence_LABEL."""

    dataset: str
    task: str
    axis: Axis
    label: str


ARENA_QUESTION = ReleasedQuestion(ARENA, "preference", "overall", "preference")
PREF_QUESTIONS = (
    ReleasedQuestion(PREF, "alignment", "alignment", "preference-alignment"),
    ReleasedQuestion(PREF, "musicality", "musicality", "preference-musicality"),
)
QUESTIONS = (ARENA_QUESTION, *PREF_QUESTIONS)


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


# Their evaluator.


def summary(rows: Sequence[Released]) -> list[dict[str, Any]]:
    """Return the rows of metrics_summary.csv."""
    return _with_columns(_lines(rows, {}), "dataset", "task", "n", "SRCC", "LCC", "K-Tau", "ACC")


def detail(rows: Sequence[Released], durations: Mapping[str, float] | None = None) -> list[dict[str, Any]]:
    """Return the rows of metrics_detail.csv; with seconds by path (audio_duration_map.json), also by duration."""
    lines = list(_group(rows, [ARENA_QUESTION], "month", lambda one: one.month))
    lines += _group(rows, PREF_QUESTIONS, "modality", lambda one: modality(one.row))
    for question in PREF_QUESTIONS:
        lines += _by_confidence([one for one in rows if one.dataset == PREF], question)
    lines += _group(rows, PREF_QUESTIONS, "ref_subset", _ref_category, ("no_ref", "ref"))
    lines += _group(
        rows, PREF_QUESTIONS, "modality_type", lambda one: "vocal" if is_present(one.row, "lyrics") else "instru"
    )
    columns = ["dataset", "task", "group_key", "group_value", "n", "ACC", "ref_category"]
    if durations is not None:
        for name, inside in _by_duration(rows, durations).items():
            lines += _lines(inside, {"group_key": "duration_bin", "group_value": name})
        columns.append("SRCC")
    return _with_columns(lines, *columns)


def _with_columns(lines: Iterable[Mapping[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [{column: line.get(column) for column in columns} for line in lines]


def _lines(rows: Sequence[Released], about: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield every metric of every data set that has rows."""
    for dataset, axis in RATINGS:
        own = [one for one in rows if one.dataset == dataset]
        if own:
            yield {"dataset": dataset, "task": axis, **about, **_correlations(own, axis)}
    for question in _asked(rows, QUESTIONS):
        yield _accuracy(rows, question) | about


def _asked(rows: Iterable[Released], questions: Iterable[ReleasedQuestion]) -> list[ReleasedQuestion]:
    there = {one.dataset for one in rows}
    return [question for question in questions if question.dataset in there]


def _group(
    rows: Sequence[Released],
    questions: Iterable[ReleasedQuestion],
    key: str,
    group: Callable[[Released], str],
    values: Sequence[str] | None = None,
) -> Iterator[dict[str, Any]]:
    asked = _asked(rows, questions)
    for value in values or sorted({group(one) for one in rows for q in asked if one.dataset == q.dataset}):
        inside = [one for one in rows if group(one) == value]
        for question in asked:
            yield _accuracy(inside, question) | {"group_key": key, "group_value": value}


def _by_confidence(rows: Sequence[Released], question: ReleasedQuestion) -> Iterator[dict[str, Any]]:
    field = f"confidence_{question.label}"
    sure = [(one, value) for one in rows if math.isfinite(value := number(one.row.get(field)))]
    crossed = [(name, category) for name in CONFIDENCES for category in ("no_ref", "ref")]
    for name, category in [*crossed, *((name, "all") for name in CONFIDENCES)] if rows else ():
        inside = [one for one, value in sure if CONFIDENCES[name](value) and category in ("all", _ref_category(one))]
        about = {"group_key": "confidence", "group_value": name, "ref_category": category}
        yield _accuracy(inside, question) | about


def _by_duration(rows: Sequence[Released], durations: Mapping[str, float]) -> dict[str, list[Released]]:
    binned: dict[str, list[Released]] = {name: [] for name, _, _ in DURATION_BINS}
    for one in rows:
        name = duration_bin([durations.get(str(one.row.get(field))) for field in one.audio_fields])
        if name is not None:
            binned[name].append(one)
    return binned


def duration_bin(seconds: Sequence[float | None]) -> str | None:
    """Return the bin of the takes' mean length; None outside all bins, or if a length is unknown."""
    known = [value for value in seconds if value is not None]
    if not known or len(known) < len(seconds):
        return None
    mean = sum(known) / len(known)
    last = DURATION_BINS[-1]
    return next((name for name, low, high in DURATION_BINS if low <= mean < high or (mean == high == last[2])), None)


def _correlations(rows: Sequence[Released], axis: Axis) -> dict[str, Any]:
    field = RATED[axis]
    both = [(number(one.row.get(field)), number(one.row.get(f"predicted_{field}"))) for one in rows]
    x, y = [a for a, b in both if math.isfinite(a + b)], [b for a, b in both if math.isfinite(a + b)]
    values = {"SRCC": spearman(x, y), "LCC": pearson(x, y), "K-Tau": kendall_tau_b(x, y)}
    return {"n": len(x), **{name: value if math.isfinite(value) else None for name, value in values.items()}}


def _accuracy(rows: Iterable[Released], question: ReleasedQuestion) -> dict[str, Any]:
    credits = []
    for one in rows:
        if one.dataset == question.dataset:
            fields = (question.label, f"predicted_{question.label}")
            for field in fields:
                if field not in one.row:
                    raise InputError(f"{one.where}: no {field!r}, expected a label in every row of {one.dataset}")
            labels = [LABELS.get(str(one.row[field]).lower()) for field in fields]
            if None not in labels:
                credits.append(1.0 if labels[0] == labels[1] else 0.5 if "both" in labels else 0.0)
    accuracy = sum(credits) / len(credits) if credits else None
    return {"dataset": question.dataset, "task": question.task, "n": len(credits), "ACC": accuracy}


def number(value: Any) -> float:
    """Convert to a finite number; NaN for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _ref_category(one: Released) -> str:
    return "ref" if is_present(one.row, "ref-audio-path") else "no_ref"


def read_durations(path: Path) -> dict[str, float]:
    """Read seconds by path from a JSON object, such as the authors' audio_duration_map.json."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(content, dict) or not all(math.isfinite(number(value)) for value in content.values()):
        raise InputError(f"{path}: expected a JSON object of seconds by path")
    return {name: number(value) for name, value in content.items()}


# Their rows as items.


class ReleasedItems(NamedTuple):
    items: list[RatedItem]
    scores: dict[Key, tuple[Score | None, ...]]
    left_out: int  # rows without a known label


def as_items(rows: Iterable[Released]) -> ReleasedItems:
    items, scores, left_out = [], {}, 0
    for one in rows:
        item = _item(one)
        if item is None:
            left_out += 1
            continue
        items.append(item)
        scores[item.dataset, item.id] = tuple(_score(one.row, suffix) for suffix in ("", "_b")[: len(item.takes)])
    return ReleasedItems(items, scores, left_out)


def _item(one: Released) -> RatedItem | None:
    row, where = one.row, one.where
    text, lyrics, reference = (text_field(row, field, where) for field in ("prompt", "lyrics", "ref-audio-path"))
    prompt = Prompt(text, lyrics, Path(reference) if reference else None)
    takes = tuple(Path(text_field(row, field, where)) for field in one.audio_fields)
    axes = [axis for dataset, axis in RATINGS if dataset == one.dataset]
    ratings = {axis: value for axis in axes if math.isfinite(value := number(row.get(RATED[axis])))}
    votes = {q.axis: vote for q in _asked([one], QUESTIONS) if (vote := _vote(row, q.label)) is not None}
    if not ratings and not votes:
        return None
    about = {"month": one.month} if one.dataset == ARENA else {}
    return RatedItem(where.rsplit(" ", 1)[-1], NAMES[one.dataset], prompt, takes, ratings, votes, about)


def _vote(row: Row, label: str) -> Vote | None:
    choice = WORDS.get(str(row.get(label)).lower())
    sure = number(row.get(f"confidence_{label}"))
    return Vote(cast(Choice, choice), sure if math.isfinite(sure) else None) if choice else None


def _score(row: Row, suffix: str) -> Score | None:
    musicality, alignment = (number(row.get(f"predicted_{field}{suffix}")) for field in RATED.values())
    return None if math.isnan(musicality) and math.isnan(alignment) else Score(musicality, alignment)
