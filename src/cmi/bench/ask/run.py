"""Ask a listener every question of some data sets, resumably.

Questions are the test split of annotation files, `CMI_<data set>.jsonl` or `<data set>.jsonl`. Their audio is searched
for under `audio`, or else beside the file and one folder up, with and without a leading `data/`.

Each batch of answers is on disk before the next is asked. Trials after the first are named like other models:
`qwen2-t2`, `qwen2-t3`.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import make_folder
from cmi.bench.ask import Listener, Question
from cmi.bench.ask.answer_log import AnswerLog, LoggedAnswers, Shard
from cmi.bench.ask.ask import ask
from cmi.bench.catalog import DATASETS
from cmi.bench.scoring.responses import audio_key, find_annotations, hearing_file, read_instructions
from cmi.llm.hearing import ProbedHearing, read_hearing

_NOT_FOR_NAMES = re.compile(r"[^\w.+-]+")


class DataFile(NamedTuple):
    dataset: str
    path: Path
    questions: list[Question]


@dataclass(frozen=True)
class RunPlan:
    """What to ask which listener, and where to write the answers."""

    folder: Path
    model: str
    listener_name: str
    data: list[DataFile]
    trials: int = 1
    shard: Shard | None = None
    retry_failed: bool = False

    def parts(self) -> Iterator[tuple[str, DataFile, list[Question]]]:
        """Yield (model, data, questions) of each answer file, in order."""
        for trial in range(1, self.trials + 1):
            model = self.model if trial == 1 else f"{self.model}-t{trial}"
            for data in self.data:
                yield model, data, [replace(question, trial=trial) for question in data.questions]


class Summary(NamedTuple):
    """The state of an answer file after a run."""

    model: str
    dataset: str
    questions: int
    answered: int
    failed: int
    asked: int  # by this run
    seconds: float  # of this run
    path: str
    error: str = ""  # the first failure's
    cut: int = 0  # answers about the beginning of a clip only


def read_data(
    paths: Sequence[Path], tasks: Sequence[str] = (), audio: Path | None = None, limit: int | None = None
) -> list[DataFile]:
    """Read the data sets in files or folders, in the table's order; only those of `tasks` if any are named."""
    found: dict[str, Path] = {}
    for path in paths:
        for name, file in find_annotations(path).items():
            if found.setdefault(name, file) != file:
                raise InputError(f"{found[name]} and {file} both hold {name}: name one of them")
    wanted = _wanted(tasks)
    names = [name for name in DATASETS if name in found and name in wanted]
    if not names:
        raise InputError(f"no data set of {', '.join(tasks)} among {', '.join(sorted(found))}")
    return [DataFile(name, found[name], _questions(name, found[name], audio, limit)) for name in names]


def audio_folders(data: Sequence[DataFile], audio: Path | None) -> list[Path]:
    """Return the folders that hold the audio of data files; never the root folder."""
    if audio is not None:
        return [audio]
    folders = {folder.resolve() for file in data for folder in _roots(file.path)}
    return sorted(folder for folder in folders if folder != folder.parent)


def _roots(path: Path) -> list[Path]:
    return [path.parent, path.parent.parent]


def _wanted(tasks: Sequence[str]) -> set[str]:
    """Return the names of the data sets that `tasks` names directly or by task."""
    known = {*DATASETS, *(d.task for d in DATASETS.values())}
    for name in tasks:
        if name not in known:
            raise InputError(f"--tasks {name!r} is not a task or a data set: choose from {', '.join(sorted(known))}")
    return {d.name for d in DATASETS.values() if not tasks or d.name in tasks or d.task in tasks}


def _questions(dataset: str, path: Path, audio: Path | None, limit: int | None) -> list[Question]:
    roots = [audio] if audio else _roots(path)
    questions: list[Question] = []
    for identifier, asked in read_instructions(path, DATASETS[dataset]):
        if limit is not None and len(questions) >= limit:
            break
        where = _find(asked.audio_path, roots)
        span = max(0.0, asked.audio_start), asked.audio_end
        questions.append(Question(identifier, asked.instruction, where, *span, dataset=dataset))
    if not questions:
        raise InputError(f"{path}: no records of the test split")
    if not any(question.audio.exists() for question in questions):
        raise InputError(
            f"{path}: none of its audio was found, such as {questions[0].audio}; name its folder with --audio"
        )
    if len({question.id for question in questions}) < len(questions):
        raise InputError(f"{path}: two records have one uuid")
    return questions


def _find(audio_path: str, roots: Sequence[Path]) -> Path:
    """Return the first place that exists; if none does, the first, for an error to name."""
    places = [root / name for root in roots for name in dict.fromkeys((audio_path, audio_key(audio_path)))]
    return next((place for place in places if place.exists()), places[0])


def run(
    listener: Listener,
    plan: RunPlan,
    on_begun: Callable[[str, int, int], None] = lambda name, done, total: None,
    on_answered: Callable[[int], None] = lambda count: None,
) -> list[Summary]:
    """Ask all unanswered questions. `on_begun` gets each file's name, its answered and its total questions."""
    make_folder(plan.folder)
    return [_run_one(listener, plan, *part, on_begun, on_answered) for part in plan.parts()]


def _run_one(
    listener: Listener,
    plan: RunPlan,
    model: str,
    data: DataFile,
    questions: list[Question],
    on_begun: Callable[[str, int, int], None],
    on_answered: Callable[[int], None],
) -> Summary:
    log = AnswerLog(plan.folder, model, data.dataset, questions, plan.listener_name, plan.shard)
    started = time.monotonic()
    asked = 0
    try:
        todo = _share(questions, log.todo(plan.retry_failed), plan.shard)
        mine = len(_share(questions, questions, plan.shard))
        on_begun(f"{model} {data.dataset}", mine - len(todo), mine)
        size = getattr(listener, "batch", 1)
        if not isinstance(size, int) or size < 1:
            raise InputError(f"the listener's batch is {size!r}, expected a whole number from 1 on")
        for batch in (todo[at : at + size] for at in range(0, len(todo), size)):
            begun = time.monotonic()
            answers = ask(listener, batch)
            seconds = (time.monotonic() - begun) / len(batch)
            for i, (question, answer) in enumerate(zip(batch, answers, strict=True), 1):
                log.append(question, answer, seconds, sync=i == len(batch))
            asked += len(batch)
            on_answered(len(batch))
        log.finish()
    finally:
        with closing(log):
            log.read()  # the last shard to end sees all answers
            if log.is_whole or plan.shard is None:
                log.export()
    return _summary(model, data, questions, log, asked, time.monotonic() - started)


def _summary(
    model: str, data: DataFile, questions: list[Question], answers: LoggedAnswers, asked: int, seconds: float
) -> Summary:
    return Summary(
        model,
        data.dataset,
        len(questions),
        answers.answered,
        answers.failed,
        asked,
        round(seconds, 1),
        str(answers.path),
        answers.first_error,
        answers.cut,
    )


class Shared(NamedTuple):
    """The result of a sharded run: the listener's name and the answer files."""

    listener: str
    summaries: list[Summary]


def run_elsewhere(plan: RunPlan, run_shards: Callable[[], None]) -> Shared:
    """Let `run_shards` ask everything in shards, and merge their answers. Seconds are summed over the shards."""
    parts = list(plan.parts())
    before = [_read_answers(plan, *part) for part in parts]
    run_shards()
    after = [_read_answers(plan, *part) for part in parts]
    summaries = []
    for part, was, answers in zip(parts, before, after, strict=True):
        if answers.askings > was.askings or not answers.path.exists():
            answers.export()
        summaries.append(_summary(*part, answers, answers.askings - was.askings, answers.seconds - was.seconds))
    return Shared(after[0].listener, summaries)


def find_hearing(listener: Listener, plan: RunPlan) -> ProbedHearing | None:
    """Find out before a run how much of a clip a language model hears; None if it is not one, or nothing is long."""
    find = getattr(listener, "find_hearing", None)
    path = hearing_file(plan.folder, plan.model)
    if not callable(find) or is_done(plan):
        return read_hearing(path)
    questions = [question for data in plan.data for question in data.questions]
    found: ProbedHearing | None = find(path, questions)
    return found


def is_done(plan: RunPlan) -> bool:
    """Tell whether all questions are answered."""
    return not any(_read_answers(plan, *part).todo(plan.retry_failed) for part in plan.parts())


def _read_answers(plan: RunPlan, model: str, data: DataFile, questions: list[Question]) -> LoggedAnswers:
    answers = LoggedAnswers(plan.folder, model, data.dataset, questions, plan.listener_name)
    answers.read()
    return answers


def _share(questions: Sequence[Question], todo: list[Question], shard: Shard | None) -> list[Question]:
    """Return the shard's part of `todo`: every n-th of all questions, which does not depend on progress."""
    if shard is None:
        return todo
    mine = {question.id for question in questions[shard.number - 1 :: shard.of]}
    return [question for question in todo if question.id in mine]


def model_name(text: str) -> str:
    """Replace characters that do not belong in a file's name."""
    return _NOT_FOR_NAMES.sub("-", text).strip("-_.") or "listener"
