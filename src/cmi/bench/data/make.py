"""From the files of a data set to instruction files that `cmi bench` asks by and scores against.

    annotations/CMI_<data set>.jsonl        one `Instruction` a line, its audio path relative to the folder written to
    missing/CMI_<data set>.txt              the recordings that are not there, one a line, if any

The same files and settings give the same bytes.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.files import cannot_write, make_folder, write_whole
from cmi.bench.catalog import DATASETS
from cmi.bench.data import Source
from cmi.bench.data.example import Example
from cmi.bench.data.files import Sounds
from cmi.bench.instruction import Instruction
from cmi.bench.prompts import Question, question_of

ALL_SPLITS = "all"


@dataclass(frozen=True)
class Settings:
    """How questions are put, and which of them."""

    variant: str = "plain"
    prompts: Path | None = None  # a folder of wordings that stand in for ours
    split: str = "test"
    keep_missing: bool = False  # ask about recordings that are not there, too


@dataclass(frozen=True)
class Made:
    """What became of one data set."""

    dataset: str
    path: Path
    questions: int  # written
    published: int  # test questions by the paper
    missing: tuple[str, ...]  # recordings that are not there
    notes: tuple[str, ...] = ()


def make(source: Source, folder: Path, audio: Path | None, out: Path, settings: Settings) -> list[Made]:
    """Write the instruction files of a data set and say what they hold. `audio`: where recordings are, if apart."""
    sounds = Sounds(audio or folder)
    by_dataset = _read(source, folder, sounds, settings.split)
    repeats = _repeated_valence(by_dataset)
    made = []
    for dataset in (name for name in DATASETS if name in by_dataset):
        examples = by_dataset[dataset]
        question = question_of(dataset, settings.prompts)
        absent = [example for example in examples if not sounds.has(example.audio)]
        left_out = set() if settings.keep_missing else {example.audio for example in absent}
        asked = [example for example in examples if example.audio not in left_out]
        lines = [_line(example, source, question, settings.variant, sounds.folder, out) for example in asked]
        path = out / "annotations" / f"CMI_{dataset}.jsonl"
        missing = tuple(dict.fromkeys(example.audio for example in absent))
        _write(path, lines)
        _write(out / "missing" / f"CMI_{dataset}.txt", [f"{name}\n" for name in missing])
        notes = (*source.notes, *repeats) if dataset == "EMO_valence" else source.notes
        made.append(Made(dataset, path, len(lines), DATASETS[dataset].size, missing, notes))
    return made


def instruction(example: Example, source: Source, question: Question, variant: str, audio_path: str) -> Instruction:
    """The example in words: those that it came with, or a variant of ours, whose name is kept in its task type."""
    kind = {"major": [question.major], "minor": [question.minor]}
    return Instruction(
        instruction=example.wording or question.variant(variant).wording,
        output=example.output,
        audio_path=audio_path,
        audio_start=example.start,
        audio_end=example.end,
        split=example.split,
        source=source.title,
        task_type=kind | {"prompt": ["released" if example.wording else variant]},
        uuid=example.id,
    )


def _read(source: Source, folder: Path, sounds: Sounds, split: str) -> dict[str, list[Example]]:
    by_dataset: dict[str, list[Example]] = defaultdict(list)
    ids: set[tuple[str, str, str]] = set()
    found: set[str] = set()
    for example in source.reader.read(folder, sounds):
        found.add(example.split)
        identity = (example.dataset, example.split, example.id)
        if identity in ids:
            raise InputError(
                f"{folder}: {example.dataset} has {example.id!r} twice; are there two copies of its files?"
            )
        ids.add(identity)
        if split in (ALL_SPLITS, example.split):
            by_dataset[example.dataset].append(example)
    if not by_dataset:
        there = f"; its splits are {', '.join(sorted(found))}" if found else ""
        raise InputError(f"{folder}: nothing of {source.title} in split {split!r} here{there}")
    return by_dataset


def _line(example: Example, source: Source, question: Question, variant: str, audio_folder: Path, out: Path) -> str:
    path = Path(os.path.relpath(audio_folder / example.audio, out)).as_posix()
    return json.dumps(instruction(example, source, question, variant, path).to_record(), ensure_ascii=False) + "\n"


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write the lines, or take an older file away if there are none."""
    text = "".join(lines)
    if text:
        make_folder(path.parent)
        write_whole(path, text)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _repeated_valence(by_dataset: dict[str, list[Example]]) -> tuple[str, ...]:
    arousal, valence = (
        [(example.id.rpartition("/")[2], example.output) for example in by_dataset.get(f"EMO_{axis}", [])]
        for axis in ("arousal", "valence")
    )
    if len(arousal) > 1 and arousal == valence:
        return ("EMO_valence repeats EMO_arousal's truth: it is not valence; `cmi bench data make emo` makes that",)
    return ()
