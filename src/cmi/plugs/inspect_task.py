"""CMI-Bench as a task of Inspect (inspect_ai), and its logs from answers that are on disk.

    inspect eval cmi/cmi_bench -T dataset=GS_key -T annotations=annotations/ --model openai/gpt-4o-audio-preview

Inspect asks its own model; with `answers`, a file or folder of `cmi bench run`, these answers are used instead. Each
sample has its parsed answer and its item scores; the metrics are the cells of `cmi bench score` for all answers, with
intervals and the best null.
"""

import base64
from pathlib import Path
from typing import Any, cast

from inspect_ai import Task, task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import ChatMessageUser, ContentAudio, ContentText, ModelOutput
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from cmi._util.errors import InputError
from cmi._util.files import make_folder
from cmi.bench.ask.run import read_data
from cmi.bench.evaluation import Protocol
from cmi.bench.scoring.responses import find_responses
from cmi.plugs.asked import (
    ItemReader,
    cut_clip,
    find_dataset,
    item_of_record,
    read_asked,
    read_replies,
    record_of,
    score_answers,
)

ANSWERED, PLACE = "answered", "place"


@task
def cmi_bench(
    dataset: str, annotations: str, audio: str = "", answers: str = "", model: str = "", protocol: str = "strict"
) -> Task:
    """One data set of CMI-Bench.

    Args:
        dataset: Its name, such as GS_key.
        annotations: The annotation file CMI_<data set>.jsonl, or a folder of such files.
        audio: The folder that audio paths begin in; by default they are searched for beside the annotations.
        answers: Answers of `cmi bench run` to put into the log, in place of asking a model.
        model: Whose answers, if there are several models'.
        protocol: strict, or paper for the rules of the published scorer.
    """
    if protocol not in ("strict", "paper"):
        raise InputError(f"protocol {protocol!r}: expected strict or paper")
    about = find_dataset(dataset)
    asked = {one.id: one for one in read_asked(Path(annotations), about)}
    steps: Solver | list[Solver]
    if answers:
        order = list(_replies(dataset, annotations, answers, model))
        steps = replay_answers(dataset, annotations, answers, model)
    else:
        order = list(asked)
        steps = [attach_clip(dataset, annotations, audio), generate()]
    samples = [
        Sample(input=one.item.question, target=one.item.truth, id=one.id, metadata=record_of(one) | {PLACE: place})
        for place, one in enumerate(asked[id_] for id_ in order)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=dataset, location=annotations),
        solver=steps,
        scorer=cmi_score(dataset, annotations, protocol),
        metrics=[cmi_cells(dataset, protocol)],
        name=f"cmi_bench_{dataset}",
        metadata={"dataset": dataset, "task": about.task, "protocol": protocol},
    )


@solver
def attach_clip(dataset: str, annotations: str, audio: str = "") -> Solver:
    """Add the question's clip, cut from its recording, to what the model is asked."""
    asked = read_data([Path(annotations)], [dataset], Path(audio) if audio else None)
    questions = {question.id: question for file in asked for question in file.questions}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        clip = base64.b64encode(cut_clip(questions[str(state.sample_id)]).read_bytes()).decode()
        sound = ContentAudio(audio=f"data:audio/wav;base64,{clip}", format="wav")
        content = [ContentText(text=state.input_text), sound]
        state.messages = [ChatMessageUser(content=content)]
        return state

    return solve


@solver
def replay_answers(dataset: str, annotations: str, answers: str, model: str = "") -> Solver:
    """Give the answers that are on disk."""
    replies = _replies(dataset, annotations, answers, model)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = replies[str(state.sample_id)]
        state.store.set(ANSWERED, answer is not None)
        state.output = ModelOutput.from_content(model or "answers", answer or "")
        state.messages.append(state.output.message)
        return state

    return solve


def _replies(dataset: str, annotations: str, answers: str, model: str) -> dict[str, str | None]:
    """Read the answers of the one model, or of the one that is named."""
    files = find_responses([Path(answers)])
    found = {file.model: file for file in files if file.dataset.name == dataset}
    chosen = model or (next(iter(found)) if len(found) == 1 else "")
    if chosen not in found:
        there = ", ".join(found) or "no model"
        raise InputError(f"{answers}: answers of {there} to {dataset}; name the model with `model`")
    return read_replies(found[chosen], Path(annotations))


@metric(scores="unreduced")
def cmi_cells(dataset: str, protocol: str) -> Metric:
    """Every metric of the data set over all answers: value, interval and best null."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        about = find_dataset(dataset)
        ordered = sorted(scores, key=lambda one: (one.sample_metadata or {}).get(PLACE, 0))
        items = [
            (item_of_record(one.sample_metadata or {}, _said(one.score)["answer"]), _said(one.score)[ANSWERED])
            for one in ordered
        ]
        found: dict[str, float] = {}
        for cell in score_answers(about, items, cast(Protocol, protocol), "model"):
            parts = {"": cell.value, " low": cell.low, " high": cell.high, " best null": cell.null_value}
            found |= {cell.metric + part: value for part, value in parts.items() if value is not None}
            found |= {"n": cell.n, "unparsed": cell.unparsed, "missing": cell.missing}
        return found

    return cast(Metric, compute)


def _said(score: Score) -> dict[str, Any]:
    return score.metadata or {}


@scorer(metrics=[])
def cmi_score(dataset: str, annotations: str, protocol: str) -> Scorer:
    """What was read from each answer, and its scores of its own; metrics of the whole set are `cmi_cells`."""
    about = find_dataset(dataset)
    truths = [one.item.truth for one in read_asked(Path(annotations), about)]
    reader = ItemReader(about, cast(Protocol, protocol), truths)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        item = item_of_record(state.metadata, answer)
        reading = reader.read(item)
        value: dict[str, Any] = {"parsed": float(reading is not None), **reader.score(item)}
        said = {"answer": answer, ANSWERED: state.store.get(ANSWERED, True)}
        return Score(value=value, answer=reading or "", explanation=answer, metadata=said)

    return score


def write_logs(answers: Path, annotations: Path, out: Path, protocol: Protocol = "strict") -> list[Path]:
    """Write an Inspect log for each response file, with the name of its model; return their paths."""
    found = []
    make_folder(out)
    for file in find_responses([answers]):
        made = cmi_bench(file.dataset.name, str(annotations), "", str(file.path), file.model, protocol)
        [log] = inspect_eval(made, model=None, log_dir=str(out), display="none")
        if log.status != "success":
            raise InputError(f"{file.path}: Inspect ended with {log.status}: {log.error.message if log.error else ''}")
        log.eval.model = file.model  # none was asked
        write_eval_log(log, log.location)
        found.append(out / Path(log.location).name)
    return found
