"""`cmi bench run`: get a listener's answers to CMI-Bench."""

import re
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from cmi._util.errors import InputError
from cmi._util.printable import printable
from cmi.cli.command import shard_options
from cmi.cli.options import (
    AsJson,
    AudioFrom,
    Device,
    DryRun,
    KeyEnv,
    MaxCalls,
    MaxCost,
    MaxTotalTokens,
    NoProbe,
    Revision,
    Shard,
    ShowOptions,
    Url,
)
from cmi.cli.output import note, show
from cmi.cli.progress import progress, show_waits
from cmi.report.tables import Table

if TYPE_CHECKING:
    from cmi.bench.ask import answer_log
    from cmi.bench.ask.registry import Named, Options
    from cmi.bench.ask.run import RunPlan, Summary
    from cmi.llm import ProbedHearing


@dataclass(frozen=True)
class ModelOptions:
    PANEL: ClassVar = "Models in this process"

    model: Annotated[str, typer.Option(help="Model folder or hub id, or the name of an endpoint's model.")] = ""
    revision: Revision = None
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run the model's own code.")] = False
    device: Device = "auto"
    batch: Annotated[int | None, typer.Option(min=1, help="Batch size.")] = None
    max_tokens: Annotated[int, typer.Option(min=1, help="Greatest number of tokens of an answer.")] = 512
    temperature: Annotated[float, typer.Option(min=0, help="Sampling temperature; 0 for greedy decoding.")] = 0.0
    seconds: Annotated[
        float | None, typer.Option(min=1, help="Greatest length of a clip that is sent to the model.")
    ] = None


@dataclass(frozen=True)
class EndpointOptions:
    PANEL: ClassVar = "Endpoints"

    url: Url = ""
    key_env: KeyEnv = ""
    concurrency: Annotated[int, typer.Option(min=1, help="Number of concurrent requests.")] = 16
    sound: Annotated[Literal["wav", "mp3"], typer.Option(help="Audio format in which clips are sent.")] = "wav"
    sound_as: Annotated[
        Literal["input_audio", "input_audio_uri", "audio_url"],
        typer.Option(help="Type of the message part that holds the clip; DashScope requires input_audio_uri."),
    ] = "input_audio"
    stream: Annotated[bool, typer.Option("--stream", help="For endpoints that only stream their answers.")] = False
    max_calls: MaxCalls = None
    max_total_tokens: MaxTotalTokens = None
    max_cost: MaxCost = None
    prices: Annotated[
        tuple[float, float], typer.Option(help="Prices of a million input and a million output tokens.")
    ] = (0.0, 0.0)


def run(
    context: typer.Context,
    listener: Annotated[
        str,
        typer.Option(
            help="reference, null:constant, openai, qwen2-audio, qwen2.5-omni, qwen3-omni, audio-flamingo-3, "
            "music-flamingo, qwen-audio, musilingo, module:Class, or a worker's command.",
        ),
    ],
    data: Annotated[list[Path], typer.Option(help="Annotation files `CMI_<data set>.jsonl`, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder for the answers; the same command resumes there.")],
    in_process: ModelOptions,
    endpoint: EndpointOptions,
    tasks: Annotated[
        list[str] | None, typer.Option(help="Only these tasks (key, beat, ...) or data sets (GS_key, ...).")
    ] = None,
    audio: Annotated[Path | None, typer.Option(help="Folder that audio paths are relative to.")] = None,
    audio_from: AudioFrom = None,
    name: Annotated[str, typer.Option(help="Name of the model in files and tables.")] = "",
    trials: Annotated[int, typer.Option(min=1, max=100, help="Number of times that every question is asked.")] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only this many questions of each data set, the first ones.")
    ] = None,
    shard: Shard = "",
    ray: Annotated[int, typer.Option(min=0, help="Number of shards to run on Ray.")] = 0,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask failed questions again.")] = False,
    no_probe: NoProbe = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Time limit of one answer of a worker or endpoint, in seconds.")
    ] = 300.0,
) -> None:
    """Ask a model every question of some data sets and save its answers.

    You can stop at any time: the same command resumes. Failures are saved with their errors and can be retried.

    Examples:

        cmi bench run --listener reference --data mir/annotations --out answers/

        cmi bench run --listener qwen2-audio --data annotations/ --audio testdata/ --tasks key --out answers/

        cmi bench run --listener "env/bin/python ltu_worker.py" --name ltu --data annotations/ --out answers/

        cmi bench run --listener qwen2.5-omni --data annotations/ --ray 8 --out answers/
    """
    from cmi._util.workers import run_on_ray
    from cmi.bench.ask.registry import ENDPOINT, IN_PROCESS, Options, short_name
    from cmi.bench.ask.run import RunPlan, audio_folders, model_name, read_data, run_elsewhere
    from cmi.bench.scoring.responses import hearing_file
    from cmi.llm.hearing import read_hearing

    if ray and shard:
        raise InputError("--ray makes the shards itself: leave out --shard")
    share = _shard(shard)
    options = Options(out, str(share or ""), timeout=timeout, probes=not no_probe, **vars(in_process), **vars(endpoint))
    found = read_data(data, tasks or (), audio, limit)
    if listener == ENDPOINT:
        from cmi.llm import require_sendable

        recordings = ((f"{file.path} {q.id}", q.audio) for file in found for q in file.questions)
        require_sendable(recordings, [*audio_folders(found, audio), *(audio_from or [])])
    called = model_name(name) if name else short_name(listener, options)
    if ray and not dry_run:
        plan = RunPlan(out, called, "", found, trials)
        on_gpus = listener in IN_PROCESS and in_process.device != "cpu"
        command = ["bench", "run", "--json", *shard_options(context, ray, without=("ray", "as_json"))]
        done = run_elsewhere(plan, lambda: run_on_ray(command, ray, on_gpus))
        _show_done(done.listener, done.summaries, read_hearing(hearing_file(out, called)), as_json)
        _require_answers(done.summaries)
        return
    with ExitStack() as stack:
        named = _listener(listener, options, stack, dry_run)
        plan = RunPlan(out, called, named.full, found, trials, share, retry_failed)
        if dry_run:
            files = [{"model": m, "dataset": d.dataset, "questions": len(q)} for m, d, q in plan.parts()]
            how, provenance = ShowOptions(as_json=as_json), {"listener": named.full}
            show([_plan_table(named, plan)], files, "files", provenance, how)
            return
        hearing, summaries = _run(named, plan)
    _show_done(named.full, summaries, hearing, as_json)
    if share is None:  # a share may be a few questions that all fail
        _require_answers(summaries)


def _require_answers(summaries: "list[Summary]") -> None:
    """Raise InputError if all questions failed; else print how many failed and how many clips were cut."""
    if cut := sum(s.cut for s in summaries):
        total = sum(s.answered for s in summaries)
        note(f"{cut:,} of {total:,} answers used only the beginning of a clip; the log has the length that was used")
    failed, answered = (sum(getattr(s, name) for s in summaries) for name in ("failed", "answered"))
    if not failed:
        return
    if not answered:
        first = next(s.error for s in summaries if s.failed)
        raise InputError(f"all {failed:,} questions failed, the first: {first}; --retry-failed asks again")
    note(f"{failed:,} of {failed + answered:,} questions failed; --retry-failed asks them again")


def _listener(spec: str, options: "Options", stack: ExitStack, dry_run: bool) -> "Named":
    from cmi.bench.ask.registry import load_for_plan, load_listener

    named = (load_for_plan if dry_run else load_listener)(spec, options)
    close = getattr(named.listener, "close", None)
    if callable(close):
        stack.callback(close)
    missing = getattr(named.listener, "missing", [])
    if missing:
        note(f"{named.short} is without {', '.join(missing)}; see docs/reference-listener.md")
    return named


def _shard(text: str) -> "answer_log.Shard | None":
    from cmi.bench.ask import answer_log

    if not text:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--shard {text!r}, expected i/n such as 2/4, i from 1 to n")
    return answer_log.Shard(int(match[1]), int(match[2]))


def _run(named: "Named", plan: "RunPlan") -> "tuple[ProbedHearing | None, list[Summary]]":
    from cmi.bench.ask.run import find_hearing
    from cmi.bench.ask.run import run as run_plan

    with progress() as bar:
        task = bar.add_task("asking how much it hears", total=None)
        show_waits(named.listener, bar, task)
        hearing = find_hearing(named.listener, plan)
        summaries = run_plan(
            named.listener,
            plan,
            on_begun=lambda name, done, total: bar.reset(task, description=name, completed=done, total=total),
            on_answered=lambda count: bar.advance(task, count),
        )
    return hearing, summaries


def _show_done(listener: str, summaries: "list[Summary]", hearing: "ProbedHearing | None", as_json: bool) -> None:
    rows = [
        [s.model, s.dataset, *map(str, (s.questions, s.answered, s.failed, s.asked)), f"{s.seconds:.1f}"]
        for s in summaries
    ]
    notes = [f"Listener: {listener}", *([f"Hearing: {hearing.note}"] if hearing else [])]
    notes += [f"{s.dataset}: {s.failed} failed, the first: {printable(s.error)}" for s in summaries if s.failed]
    headers = ["model", "data set", "questions", "answered", "failed", "asked now", "s"]
    table = Table("Answers", headers, rows, labels=2, notes=notes)
    files = [summary._asdict() for summary in summaries]
    provenance = {"listener": listener} | ({"hearing": asdict(hearing)} if hearing else {})
    show([table], files, "files", provenance, ShowOptions(as_json=as_json))


def _plan_table(named: "Named", plan: "RunPlan") -> Table:
    rows = [[model, data.dataset, str(len(questions)), str(data.path)] for model, data, questions in plan.parts()]
    notes = [f"Listener: {named.full}"]
    estimate = getattr(named.listener, "estimate", None)
    if callable(estimate):
        cost = estimate([question for _, _, questions in plan.parts() for question in questions])
        notes.append(
            f"{cost.requests - cost.answered} of {cost.requests} requests are open: about {cost.usage.input_tokens:,} "
            f"tokens in, {cost.usage.output_tokens:,} out, cost {cost.money:.2f}."
        )
        notes += [f"{cost.probe_note}."] if cost.probe_note else []
    return Table("What would be asked", ["model", "data set", "questions", "file"], rows, labels=2, notes=notes)
