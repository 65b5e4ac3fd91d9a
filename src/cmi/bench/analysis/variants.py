"""Which wording was a run asked in, and which trial is it?

A run's variant is, in this order,
    what the user says: `few-shot=answers/few-shot`;
    for the authors' layout, the question that stands beside the answers, by the name of our wording if it is one of
    ours, else numbered `wording 1`, `wording 2` as they first come, with the text in a note;
    for our layout, what the annotation file says (`task_type`, `prompt`) whose questions the run's log was begun with.
Whatever can't be told is an InputError: nothing is guessed from the names of folders.

Trials after the first are models called `<model>-t2`, `<model>-t3` and so on, where a `<model>` stands beside them.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cmi._util import runlog
from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.bench.ask import Question
from cmi.bench.ask.answer_log import ABOUT, fingerprint
from cmi.bench.catalog import DATASETS
from cmi.bench.prompts import wordings_of
from cmi.bench.scoring.responses import ResponseFile, clean, find_annotations, read_instructions

_NAMED = re.compile(r"([A-Za-z][\w.+-]*)=(.+)", re.DOTALL)
_TRIAL = re.compile(r"(.+)-t(\d{1,3})")


def split_source(text: str) -> tuple[str, Path]:
    """`few-shot=answers/` is ('few-shot', answers/); without a name, or where such a file is there, the name is ''."""
    match = _NAMED.fullmatch(text)
    if match is None or Path(text).exists():
        return "", Path(text)
    return match[1], Path(match[2])


def split_trial(model: str, models: Collection[str]) -> tuple[str, int]:
    """`qwen2-t3` is ('qwen2', 3) if there is a `qwen2`; `flan-t5` without a `flan` is the first trial of itself."""
    match = _TRIAL.fullmatch(model)
    if match and match[1] in models and int(match[2]) > 1:
        return match[1], int(match[2])
    return model, 1


@dataclass
class Variants:
    """Finds the variants of response files, given the folders of annotation files."""

    folders: Sequence[Path]
    wordings: dict[tuple[str, str], str] = field(default_factory=dict)  # (data set, text) -> its number as a name

    def annotations(self, file: ResponseFile, variant: str = "") -> Path | None:
        """Return the annotation file of that variant, else any: ids agree."""
        found = self._annotations(file.dataset.name)
        return next(
            (path for path in found if variant and self._stated(file, path) == variant), next(iter(found), None)
        )

    def of(self, file: ResponseFile) -> str:
        """Return the variant of a response file; InputError if it is unknown."""
        _, first = next(read_records(file.path), ("", None))
        if first is None:
            raise InputError(f"{file.path}: empty, expected one record per answer")
        if isinstance(first.get("question"), str):
            return self._of_text(file.dataset.name, clean(first["question"]).strip())
        begun_with = _logged_fingerprint(file)
        for path in self._annotations(file.dataset.name):
            if begun_with and begun_with == _fingerprint(file, path) and (stated := self._stated(file, path)):
                return stated
        raise InputError(
            f"{file.path}: which wording it answers can't be told; name it as VARIANT={file.path.parent}, or name the"
            " annotation files it was asked by"
        )

    def notes(self) -> list[str]:
        return [f"{dataset}, {name}: {_shortened(text)}" for (dataset, text), name in self.wordings.items()]

    def _annotations(self, dataset: str) -> list[Path]:
        return [found[dataset] for folder in self.folders if dataset in (found := find_annotations(folder))]

    def _of_text(self, dataset: str, text: str) -> str:
        ours = wordings_of(DATASETS[dataset]).variants
        known = next((name for name, variant in ours.items() if variant.wording == text), None)
        numbered = sum(name == dataset for name, _ in self.wordings)
        return known or self.wordings.setdefault((dataset, text), f"wording {numbered + 1}")

    def _stated(self, file: ResponseFile, annotations: Path) -> str:
        """Return the variant that the first test record names, or ''."""
        _, asked = next(read_instructions(annotations, file.dataset), ("", None))
        stated = asked.task_type.get("prompt") if asked else None
        return stated[0] if isinstance(stated, list) and stated and isinstance(stated[0], str) else ""


def _logged_fingerprint(file: ResponseFile) -> str:
    """Return the fingerprint of the questions in the run's log; '' if there is no log beside the answers."""
    stem = file.path.name.partition(".json")[0]
    for log in sorted(file.path.parent.glob(f"{stem}.*log*")):
        for record in runlog.read_records(log.with_name(log.name.removesuffix(runlog.PARTIAL))):
            if record.get("key") == ABOUT:
                return str(record.get("questions", ""))
    return ""


def _fingerprint(file: ResponseFile, annotations: Path) -> str:
    """Fingerprint as many questions of an annotation file as were answered (`--limit` takes the first)."""
    answered = sum(1 for _ in read_records(file.path))
    asked = islice(read_instructions(annotations, file.dataset), answered)
    return fingerprint(
        [
            Question(name, one.instruction, Path(one.audio_path), max(0.0, one.audio_start), one.audio_end)
            for name, one in asked
        ]
    )


def _shortened(text: str, longest: int = 100) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
