"""Check response files before scoring: missing, empty, failed and unreadable answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.metrics.text import LONGEST_ANSWER
from cmi.bench.scoring.responses import ResponseFile, ResponseSet
from cmi.report.tables import Table


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
        for item, was_answered in ResponseSet(file, annotations):
            questions += 1
            answered += was_answered
            empty += was_answered and not any(character.isalnum() for character in item.answer)
            cut += len(item.answer) >= LONGEST_ANSWER
    except InputError as error:
        problem = str(error)
    expected = questions if annotations and not problem else max(questions, file.dataset.size)
    return FileReport(file.model, file.dataset.name, str(file.path), expected, answered, empty, cut, problem)


def absent(files: Iterable[ResponseFile]) -> dict[str, list[str]]:
    """Return the data sets without a response file, by model."""
    answered: dict[str, set[str]] = {}
    for file in files:
        answered.setdefault(file.model, set()).add(file.dataset.name)
    return {model: [name for name in DATASETS if name not in names] for model, names in answered.items()}


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
