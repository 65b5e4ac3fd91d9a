"""Score many response files, log each result, and read results back; or only check the files."""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cmi import __version__
from cmi._util.cache import cache_folder
from cmi._util.config import check_config
from cmi._util.errors import InputError
from cmi._util.records import read_json
from cmi._util.runlog import RunLog
from cmi._util.runlog import read_records as read_log
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Protocol
from cmi.bench.metrics.text import LONGEST_ANSWER
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import NULL_PREFIX, BenchCell, score_file, with_verdicts
from cmi.bench.scoring.responses import ResponseFile, ResponseSet, find_annotations, find_responses, hearing_note
from cmi.report.tables import Table
from cmi.stats.comparison import SEED

DEFAULT_EMBEDDER = "minilm"


@dataclass(frozen=True)
class Settings:
    """The settings that determine a result."""

    annotations: Path | None
    protocols: Sequence[Protocol]
    embedder: str
    bertscore: str
    resamples: int
    cache: Path

    def provenance(self) -> dict[str, Any]:
        """Return the settings that every output records."""
        return {
            "cmi": __version__,
            "protocols": list(self.protocols),
            "embedder": self.embedder,
            "bertscore": self.bertscore or None,
            "resamples": self.resamples,
            "seed": SEED,
        }


def score(
    answers: Path | str,
    annotations: Path | str | None = None,
    protocol: Protocol = "strict",
    embedder: str = DEFAULT_EMBEDDER,
    resamples: int = 1000,
) -> list[BenchCell]:
    """Score the answers in a file MODEL_DATASET.jsonl, or in a folder of such files: a cell for each metric and null.

    >>> from pathlib import Path
    >>> import cmi.bench
    >>> samples = Path(cmi.bench.__file__).parent / "samples"
    >>> cell, *nulls = cmi.bench.score(samples / "responses" / "listener_GS_key.jsonl", samples / "annotations")
    >>> cell.metric, round(cell.value, 1), cell.n, cell.unparsed
    ('GES', 80.8, 24, 0)
    """
    settings = Settings(Path(annotations) if annotations else None, [protocol], embedder, "", resamples, cache_folder())
    return score_all(find_responses([Path(answers)]), settings, None, lambda name: None, lambda count: None)


def score_all(
    files: Sequence[ResponseFile],
    settings: Settings,
    log: Path | None,
    on_scored: Callable[[str], None],
    on_embedded: Callable[[int], None],
) -> list[BenchCell]:
    """Score all files under all protocols and add verdicts. Results in the log are not computed again."""
    tools = Tools(settings.embedder, settings.bertscore, settings.cache, on_embedded)
    require_tools(tools)
    annotations = find_annotations(settings.annotations) if settings.annotations else {}
    cells: list[BenchCell] = []
    with RunLog(log, key="key") if log else nullcontext() as run_log:
        known = {record["key"]: record["cells"] for record in read_log(log)} if log else {}
        for file in files:
            truth = annotations.get(file.dataset.name)
            for protocol in settings.protocols:
                key = _key(file, protocol, truth, settings) if log else ""
                if key in known:
                    scored = _read_cells(known[key], str(log))
                else:
                    scored = score_file(file, protocol, tools, truth, settings.resamples)
                    if run_log is not None and _is_final(scored):
                        run_log.append({"key": key, "cells": [cell.to_json() for cell in scored]})
                if note := hearing_note(file):
                    scored = [cell if cell.is_null else replace(cell, notes=(*cell.notes, note)) for cell in scored]
                cells += scored
                on_scored(f"{file.model} {file.dataset.name}")
        if run_log is not None:
            run_log.finish()
    return with_verdicts(cells)


def require_tools(tools: Tools) -> None:
    """InputError if a requested model does not load; only the default embedder may be missing."""
    asked_for: list[object] = [tools.embedder] if tools.embedder_name != DEFAULT_EMBEDDER else []
    asked_for += [tools.bert_scorer] if tools.bertscore_name else []
    for tool in asked_for:
        if isinstance(tool, InputError):
            raise tool


def _is_final(cells: Iterable[BenchCell]) -> bool:
    """Tell whether all metrics were computed, that is, none needs something to be installed."""
    return all(cell.value is not None or cell.metric == "BS." for cell in cells)


def _key(file: ResponseFile, protocol: str, truth: Path | None, settings: Settings) -> str:
    """Return the key of a result, which identifies answers, truth and settings."""
    parts = [file.digest(), hashlib.sha256(truth.read_bytes()).hexdigest() if truth else ""]
    parts += [__version__, settings.embedder, settings.bertscore, str(settings.resamples), str(SEED)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{file.model}/{file.dataset.name}/{protocol}/{digest[:16]}"


def read_scores(path: Path) -> list[BenchCell] | None:
    """Read the cells that `cmi bench score --json` wrote; None for any other file or folder."""
    if path.suffix != ".json" or not path.is_file():
        return None
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        return None
    return _read_cells(content["cells"], str(path))


@dataclass(frozen=True)
class ScoreFile:
    cells: list[BenchCell]


def _read_cells(records: list[Any], name: str) -> list[BenchCell]:
    """Read what `BenchCell.to_json` returned; the verdict follows from the other fields."""
    for record in records:
        if isinstance(record, dict):
            record.pop("verdict", None)
            record["is_null"] = str(record.get("model")).startswith(NULL_PREFIX)
    cells = check_config({"cells": records}, ScoreFile, name).cells
    for cell in cells:
        if cell.row not in DATASETS.rows:
            raise InputError(f"{name}: a cell has row {cell.row!r}, expected one of {', '.join(DATASETS.rows)}")
        if not all(n is None or math.isfinite(n) for n in (cell.value, cell.low, cell.high, cell.null_value)):
            raise InputError(f"{name}: {cell.row} {cell.metric} of {cell.model} has a value that is not a number")
    return cells


@dataclass(frozen=True)
class FileReport:
    model: str
    dataset: str
    path: str
    expected: int  # questions, by the annotation file or else by the paper
    answered: int
    empty: int  # answers without a letter or digit
    cut: int  # answers longer than LONGEST_ANSWER
    problem: str = ""

    @property
    def missing(self) -> int:
        return max(0, self.expected - self.answered)


def check_file(file: ResponseFile, annotations: Path | None) -> FileReport:
    questions = answered = empty = cut = 0
    problem = ""
    try:
        for item, is_answered, _ in ResponseSet(file, annotations):
            questions += 1
            answered += is_answered
            empty += is_answered and not any(character.isalnum() for character in item.answer)
            cut += len(item.answer) >= LONGEST_ANSWER
    except InputError as error:
        problem = str(error)
    expected = questions if annotations and not problem else max(questions, file.dataset.size)
    return FileReport(file.model, file.dataset.name, str(file.path), expected, answered, empty, cut, problem)


def absent(files: Iterable[ResponseFile]) -> dict[str, list[str]]:
    """Return the data sets of the paper without a response file, by model."""
    answered: dict[str, set[str]] = {}
    for file in files:
        answered.setdefault(file.model, set()).add(file.dataset.name)
    published = [name for name, dataset in DATASETS.items() if dataset.size]
    return {model: [name for name in published if name not in names] for model, names in answered.items()}


def check_table(reports: Iterable[FileReport], missing_files: dict[str, list[str]]) -> Table:
    rows = [
        [
            r.model,
            r.dataset,
            "bad" if r.problem else "ok",
            *map(str, (r.expected, r.answered, r.missing, r.empty, r.cut)),
        ]
        for r in reports
    ]
    notes = [f"{model}: no file for {', '.join(names)}." for model, names in missing_files.items() if names]
    headers = ["model", "data set", "", "questions", "answered", "missing", "empty", "cut"]
    return Table("Response files", headers, rows, labels=3, notes=notes)
