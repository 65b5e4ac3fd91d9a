"""Convert the files of a corpus to the instruction files that `cmi bench` reads.

    annotations/CMI_<data set>.jsonl        one `Instruction` per line, its audio path relative to the output folder
    missing/CMI_<data set>.txt              the missing recordings, one per line, if any

The same files and settings give the same bytes.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import cannot_write, make_folder, write_whole
from cmi.bench.catalog import DATASETS, Corpus
from cmi.bench.data._reading import LabelledClip, Sounds
from cmi.bench.instruction import Instruction
from cmi.bench.prompts import Wordings, wordings_of
from cmi.report.numbers import count
from cmi.report.tables import Table

ALL_SPLITS = "all"
MOST_NAMED = 3  # missing recordings that a table names


@dataclass(frozen=True)
class MakeOptions:
    """How questions are worded, and which are written."""

    variant: str = "plain"
    prompts: Path | None = None  # a folder of wordings that replace ours
    split: str = "test"
    keep_missing: bool = False  # ask about missing recordings, too


@dataclass(frozen=True)
class MadeDataset:
    """The result for one data set."""

    dataset: str
    path: Path
    questions: int  # written
    published: int  # test questions by the paper
    missing: tuple[str, ...]  # missing recordings
    notes: tuple[str, ...] = ()


def make(corpus: Corpus, folder: Path, audio: Path | None, out: Path, options: MakeOptions) -> list[MadeDataset]:
    """Write the instruction files of a corpus. `audio` is the folder of its recordings, by default `folder`."""
    sounds = Sounds(audio or folder)
    by_dataset = _read(corpus, folder, sounds, options.split)
    repeats = _repeated_valence(by_dataset)
    made = []
    for dataset in (name for name in DATASETS if name in by_dataset):
        examples = by_dataset[dataset]
        question = wordings_of(DATASETS[dataset], options.prompts)
        absent = [example for example in examples if not sounds.has(example.audio)]
        left_out = set() if options.keep_missing else {example.audio for example in absent}
        asked = [example for example in examples if example.audio not in left_out]
        lines = [_line(example, corpus, question, options.variant, sounds.folder, out) for example in asked]
        path = out / "annotations" / f"CMI_{dataset}.jsonl"
        missing = tuple(dict.fromkeys(example.audio for example in absent))
        _write(path, lines)
        _write(out / "missing" / f"CMI_{dataset}.txt", [f"{name}\n" for name in missing])
        notes = (*corpus.notes, *repeats) if dataset == "EMO_valence" else corpus.notes
        made.append(MadeDataset(dataset, path, len(lines), DATASETS[dataset].size, missing, notes))
    return made


def _line(
    example: LabelledClip, corpus: Corpus, question: Wordings, variant: str, audio_folder: Path, out: Path
) -> str:
    """Word the example with its own question or with a variant of ours, which the task type names."""
    kind = {"major": [question.major], "minor": [question.minor]}
    asked = Instruction(
        instruction=example.wording or question.variant(variant).wording,
        output=example.output,
        audio_path=Path(os.path.relpath(audio_folder / example.audio, out)).as_posix(),
        audio_start=example.start,
        audio_end=example.end,
        split=example.split,
        source=corpus.title,
        task_type=kind | {"prompt": ["released" if example.wording else variant]},
        uuid=example.id,
    )
    return json.dumps(asked.to_record(), ensure_ascii=False) + "\n"


def _read(corpus: Corpus, folder: Path, sounds: Sounds, split: str) -> dict[str, list[LabelledClip]]:
    by_dataset: dict[str, list[LabelledClip]] = defaultdict(list)
    ids: set[tuple[str, str, str]] = set()
    found: set[str] = set()
    for example in corpus.read(folder, sounds):
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
        raise InputError(f"{folder}: no examples of {corpus.title} in split {split!r}{there}")
    return by_dataset


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write the lines, or remove an older file if there are none."""
    text = "".join(lines)
    if text:
        make_folder(path.parent)
        write_whole(path, text)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _repeated_valence(by_dataset: dict[str, list[LabelledClip]]) -> tuple[str, ...]:
    arousal, valence = (
        [(example.id.rpartition("/")[2], example.output) for example in by_dataset.get(f"EMO_{axis}", [])]
        for axis in ("arousal", "valence")
    )
    if len(arousal) > 1 and arousal == valence:
        return ("EMO_valence repeats EMO_arousal's truth: it is not valence; `cmi bench data make emo` makes that",)
    return ()


def list_records() -> list[dict[str, Any]]:
    """Return every corpus as a JSON record."""
    return [
        {
            **{"name": corpus.name, "title": corpus.title, "makes": {d.name: d.size for d in corpus.datasets}},
            **{"licence": corpus.licence, "where": corpus.where, "verified": corpus.verified, "notes": corpus.notes},
        }
        for corpus in DATASETS.corpora.values()
    ]


def list_tables() -> list[Table]:
    """Return tables of the corpora: data sets and licences, sources, and how their records were verified."""
    corpora = DATASETS.corpora.values()
    fetch = "Get the files yourself, under their licences; cmi downloads none of them."
    return [
        Table(
            "Data sets of CMI-Bench",
            ["name", "fills (test questions by the paper)", "licence"],
            [[c.name, _made_from(c), c.licence] for c in corpora],
            labels=3,
        ),
        Table("Where", ["name", "where"], [[c.name, c.where] for c in corpora], labels=2, notes=[fetch]),
        Table("Verified with", ["name", "verified with"], [[c.name, c.verified] for c in corpora], labels=2),
    ]


def _made_from(corpus: Corpus) -> str:
    return ", ".join(f"{d.name} ({d.size})" if d.size else d.name for d in corpus.datasets) or "what its files hold"


def made_records(made: Sequence[MadeDataset]) -> list[dict[str, Any]]:
    return [asdict(each) | {"path": str(each.path)} for each in made]


def made_table(corpus: Corpus, made: Sequence[MadeDataset]) -> Table:
    rows = [
        [
            *(each.dataset, str(each.path) if each.questions else "-", count(each.questions)),
            *(count(each.published) if each.published else "-", count(len(each.missing))),
        ]
        for each in made
    ]
    notes = list(dict.fromkeys(note for each in made for note in each.notes))
    return Table(
        corpus.title,
        ["data set", "file", "questions", "paper's test", "recordings missing"],
        rows,
        labels=2,
        notes=[*(f"Note: {note}." for note in notes), *(_missing(each) for each in made if each.missing)],
    )


def _missing(made: MadeDataset) -> str:
    names = ", ".join(made.missing[:MOST_NAMED]) + (", ..." if len(made.missing) > MOST_NAMED else "")
    return f"{made.dataset}: no recording of {names} (all in missing/CMI_{made.dataset}.txt)."
