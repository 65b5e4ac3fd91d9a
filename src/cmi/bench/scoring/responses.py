"""Read the answers of a model on a data set and join them with the truth.

Layouts, recognised by their fields
    authors'    `question`, `response`, `correct_answer`, `audioid`: the truth is beside the answer. An annotation file
                adds the clips' places in their recordings and the questions that were dropped.
    ours        `id`, `response`: joined with the annotation file by id, which is the annotation's `uuid` or, if that is
                empty, `<data set>/<k>` for the k-th test record from 0. A failed inference is `"response": null`.

A file is named `<model>_<data set>.jsonl`, or `<data set>.jsonl` in a folder named after the model; `.json` and `.gz`
work too. In a folder called `fix` or `<model>-fix` it is a second run, which replaces the first.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.bench.catalog import DATASETS, BenchDataset, split_name
from cmi.bench.evaluation import Item
from cmi.bench.instruction import Instruction
from cmi.bench.metrics.text import LONGEST_ANSWER
from cmi.llm.hearing import HEARING, read_hearing
from cmi.llm.message import separate_reasoning

ANNOTATION_PREFIX = "CMI"
_SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


@dataclass(frozen=True)
class ResponseFile:
    path: Path
    model: str
    dataset: BenchDataset
    is_second_run: bool = False

    def digest(self) -> str:
        """Return the hash of the file's content."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class Entry(NamedTuple):
    """One question of the data set, whether the model answered it, and the path of its audio as the file has it."""

    item: Item
    answered: bool
    audio: str = ""


# What is asked about: the clip, its place in the recording, the truth and, for equal ones, their number.
QuestionKey = tuple[str, float | None, float | None, str, int]


def by_question(entries: Iterable[Entry]) -> Iterator[tuple[QuestionKey, Entry]]:
    """Yield each entry with its question's key, which is the same for all models and any order of answers."""
    seen: Counter[tuple[str, float | None, float | None, str]] = Counter()
    for entry in entries:
        about = (audio_key(entry.audio), entry.item.start, entry.item.end, entry.item.truth)
        yield (*about, seen[about]), entry
        seen[about] += 1


def find_responses(paths: Iterable[Path]) -> list[ResponseFile]:
    """Find the response files at the paths, by model and in the table's order."""
    found: dict[tuple[str, str], ResponseFile] = {}
    for path in paths:
        for file in _candidates(path):
            response_file = _recognise(file)
            if response_file is None:
                if path.is_file():
                    raise InputError(f"{path}: name it <model>_<data set>.jsonl, with one of {', '.join(DATASETS)}")
                continue
            key = (response_file.model, response_file.dataset.name)
            found[key] = prefer(found.get(key), response_file, "score them apart")
    if not found:
        raise InputError(f"{' '.join(map(str, paths))}: no response files named <model>_<data set>.jsonl here")
    order = list(DATASETS)
    return sorted(found.values(), key=lambda file: (file.model, order.index(file.dataset.name)))


def hearing_file(folder: Path, model: str) -> Path:
    """Return the file in which `cmi bench run` records how many seconds of a clip a model processes."""
    return folder / f"{model}.{HEARING}"


def hearing_note(file: ResponseFile) -> str:
    """Return a note on how many seconds of a clip the model processes, '' if unknown; all trials share it."""
    names = (file.model, re.sub(r"-t\d+$", "", file.model))
    found = (read_hearing(hearing_file(file.path.parent, name)) for name in names)
    return next((f"{file.model}: {hearing.note}" for hearing in found if hearing), "")


def find_annotations(folder: Path) -> dict[str, Path]:
    """Find the annotation files of a folder by data set: `CMI_<data set>.jsonl` or `<data set>.jsonl`."""
    found = {}
    for file in _candidates(folder):
        named = split_name(_stem(file))
        if named and named[0] in ("", ANNOTATION_PREFIX):
            found[named[1].name] = file
    if not found:
        raise InputError(f"{folder}: no annotation files named CMI_<data set>.jsonl here")
    return found


def _candidates(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return [file for file in files if path.is_file() or file.name.endswith(_SUFFIXES)]


def _stem(path: Path) -> str:
    return path.name.partition(".json")[0]


def _recognise(path: Path) -> ResponseFile | None:
    named = split_name(_stem(path))
    if named is None or named[0] == ANNOTATION_PREFIX:
        return None
    folder = path.resolve().parent.name
    is_second_run = folder == "fix" or folder.endswith(("-fix", "_fix"))
    model = named[0] or folder.removesuffix("-fix").removesuffix("_fix")
    return ResponseFile(path, model, named[1], is_second_run)


def prefer(old: ResponseFile | None, new: ResponseFile, advice: str) -> ResponseFile:
    """Return the second run of two; InputError with advice for two first or two second runs."""
    if old is None or old.path == new.path or (new.is_second_run and not old.is_second_run):
        return new
    if old.is_second_run and not new.is_second_run:
        return old
    raise InputError(f"{old.path} and {new.path} both answer {new.dataset.name} for {new.model}: {advice}")


@dataclass(frozen=True)
class ResponseSet:
    """The entries of one response file; each iteration reads the file again."""

    file: ResponseFile
    annotations: Path | None = None

    def __iter__(self) -> Iterator[Entry]:
        records = read_records(self.file.path)
        first = next(records, None)
        if first is None:
            raise InputError(f"{self.file.path}: empty, expected one record per answer")
        if "correct_answer" in first[1]:
            return self._joined_by_order() if self.annotations else self._as_they_stand()
        if "id" in first[1]:
            return self._joined_by_id()
        raise InputError(
            f"{self.file.path} {first[0]}: neither 'correct_answer' (the authors' layout) nor 'id' (ours) is present"
        )

    def _as_they_stand(self) -> Iterator[Entry]:
        for place, record in read_records(self.file.path):
            with errors_at(f"{self.file.path} {place}"):
                yield self._stated(record)

    def _joined_by_order(self) -> Iterator[Entry]:
        """The authors keep the annotation's order and leave out failed questions."""
        instructions = self._instructions()
        for place, record in read_records(self.file.path):
            with errors_at(f"{self.file.path} {place}"):
                stated = self._stated(record)
            for _, instruction in instructions:
                is_same_audio = audio_key(instruction.audio_path) == audio_key(stated.audio)
                if instruction.output == stated.item.truth and is_same_audio:
                    yield self._asked(instruction, stated.item.answer if stated.answered else None)
                    break
                yield self._asked(instruction, None)
            else:
                raise InputError(f"{self.file.path} {place}: not in {self.annotations}, or out of its order")
        for _, instruction in instructions:
            yield self._asked(instruction, None)

    def _joined_by_id(self) -> Iterator[Entry]:
        if self.annotations is None:
            raise InputError(f"{self.file.path}: has no truth in it; pass the annotation files with --annotations")
        open_questions = dict(self._instructions())
        answered: set[str] = set()
        for place, record in read_records(self.file.path):
            with errors_at(f"{self.file.path} {place}"):
                identifier, answer = _identifier(record), _answer(record)
                if identifier in answered:
                    raise InputError(f"id {identifier!r} occurs twice")
                instruction = open_questions.pop(identifier, None)
                if instruction is None:
                    raise InputError(f"id {identifier!r} is not in {self.annotations}")
            answered.add(identifier)
            yield self._asked(instruction, answer)
        for instruction in open_questions.values():
            yield self._asked(instruction, None)

    def _instructions(self) -> Iterator[tuple[str, Instruction]]:
        assert self.annotations is not None
        return read_instructions(self.annotations, self.file.dataset)

    def _stated(self, record: dict[str, Any]) -> Entry:
        """Return the entry of a record in the authors' layout."""
        answer = _answer(record)
        for name in ("question", "correct_answer", "audioid"):
            if isinstance(record.get(name), bool) or not isinstance(record.get(name), str | int | float):
                raise InputError(f"'{name}' is missing or not text")
        audio = str(record["audioid"])
        item = Item(
            question=clean(str(record["question"])),
            answer=answer or "",
            truth=clean(str(record["correct_answer"])),
            recording=self.file.dataset.recording(audio_key(audio)),
        )
        return Entry(item, answer is not None, audio)

    def _asked(self, instruction: Instruction, answer: str | None) -> Entry:
        item = item_of(instruction, self.file.dataset, answer or "")
        return Entry(item, answer is not None, instruction.audio_path)


def item_of(instruction: Instruction, dataset: BenchDataset, answer: str = "") -> Item:
    """Return the item that an instruction of a data set and its answer make."""
    return Item(
        question=instruction.instruction,
        answer=answer,
        truth=instruction.output,
        recording=dataset.recording(audio_key(instruction.audio_path)),
        start=instruction.audio_start,
        end=instruction.audio_end,
    )


def read_instructions(path: Path, dataset: BenchDataset, all_splits: bool = False) -> Iterator[tuple[str, Instruction]]:
    """Yield the instructions of the test split, or of all, with their ids."""
    counts: Counter[str] = Counter()
    for place, record in read_records(path):
        with errors_at(f"{path} {place}"):
            instruction = Instruction.from_record(record)
        if all_splits or instruction.split == "test":
            yield instruction.uuid or f"{dataset.name}/{counts[instruction.split]}", instruction
            counts[instruction.split] += 1


def audio_key(path: str) -> str:
    """Return the part of a path after `data` or `testdata`, which is the same on all machines."""
    parts = path.split("/")
    roots = [i for i, part in enumerate(parts) if part in ("data", "testdata")]
    return "/".join(parts[roots[0] + 1 :]) if roots else path


def clean(text: str) -> str:
    """Replace lone surrogates and limit the length."""
    return text[:LONGEST_ANSWER].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _answer(record: dict[str, Any]) -> str | None:
    """Return the model's text without its reasoning; None if the inference failed."""
    if "response" not in record:
        raise InputError("'response' is missing")
    response = record["response"]
    if response is None or record.get("error"):
        return None
    if isinstance(response, bool) or not isinstance(response, str | int | float):
        raise InputError(f"'response' is {type(response).__name__}, expected text")
    return clean_answer(str(response))


def clean_answer(text: str) -> str:
    """Return a model's answer as it is scored: without its reasoning."""
    return clean(separate_reasoning(text)[0])


def _identifier(record: dict[str, Any]) -> str:
    identifier = record.get("id")
    if not isinstance(identifier, str) or not identifier:
        raise InputError("'id' is missing or not text")
    return identifier


@contextmanager
def errors_at(place: Path | str) -> Iterator[None]:
    """Add the place to an InputError that does not name it."""
    try:
        yield
    except InputError as error:
        raise error if str(place) in str(error) else InputError(f"{place}: {error}") from error
