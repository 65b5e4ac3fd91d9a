"""`cmi bench run`: get a listener's answers to CMI-Bench."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cmi._util.errors import InputError
from cmi._util.printable import printable

if TYPE_CHECKING:
    from cmi.bench.ask.answer_log import Shard
    from cmi.bench.ask.registry import Named, Options
    from cmi.bench.ask.run import DataFile, RunPlan, Summary
    from cmi.report.tables import Table

MODEL, ENDPOINT = "Models in this process", "Endpoints"


def run(
    context: typer.Context,
    listener: Annotated[
        str,
        typer.Option(
            help="reference, null:constant, openai, qwen2-audio, qwen2.5-omni, qwen3-omni, audio-flamingo-3, "
            "music-flamingo, qwen-audio, musilingo, module:Class, or a worker's command.",
        ),
    ],
    data: Annotated[
        list[Path],
        typer.Option(help="Annotation files `CMI_<data set>.jsonl`, or folders of them."),
    ],
    out: Annotated[Path, typer.Option(help="Where answers go; the same command resumes there.")],
    tasks: Annotated[
        list[str] | None,
        typer.Option(help="Only these tasks (key, beat, ...) or data sets (GS_key, ...)."),
    ] = None,
    audio: Annotated[Path | None, typer.Option(help="The folder that audio paths begin in.")] = None,
    name: Annotated[str, typer.Option(help="What to call the model in files and tables.")] = "",
    trials: Annotated[int, typer.Option(min=1, max=100, help="Ask everything so many times.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions of each data set.")] = None,
    shard: Annotated[str, typer.Option(help="Share i/n of the questions, e.g. 2/4.")] = "",
    ray: Annotated[int, typer.Option(min=0, help="Do it in so many shards on Ray.")] = 0,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask again what failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be asked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The summary for machines.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for an answer, of workers and endpoints.")] = 300.0,
    model: Annotated[str, typer.Option(help="A folder or hub id; an endpoint's model.", rich_help_panel=MODEL)] = "",
    revision: Annotated[str | None, typer.Option(help="Of a hub id.", rich_help_panel=MODEL)] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run the model's own code.", rich_help_panel=MODEL)
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.", rich_help_panel=MODEL)] = "auto",
    batch: Annotated[int | None, typer.Option(min=1, help="Questions at once.", rich_help_panel=MODEL)] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Of an answer.", rich_help_panel=MODEL)] = 512,
    temperature: Annotated[float, typer.Option(min=0, help="0: the likeliest answer.", rich_help_panel=MODEL)] = 0.0,
    seconds: Annotated[
        float | None,
        typer.Option(min=1, help="The most of a clip that the model is given.", rich_help_panel=MODEL),
    ] = None,
    url: Annotated[str, typer.Option(help="Such as http://localhost:8000/v1.", rich_help_panel=ENDPOINT)] = "",
    key_env: Annotated[
        str,
        typer.Option(
            help="The variable that holds the API key; OPENAI_API_KEY is sent to OpenAI only.",
            rich_help_panel=ENDPOINT,
        ),
    ] = "",
    audio_from: Annotated[
        list[Path] | None,
        typer.Option(
            help="Send audio from this folder too, not from the data's alone.",
            rich_help_panel=ENDPOINT,
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests in flight.", rich_help_panel=ENDPOINT)] = 16,
    sound: Annotated[Literal["wav", "mp3"], typer.Option(help="How clips are sent.", rich_help_panel=ENDPOINT)] = "wav",
    sound_as: Annotated[
        Literal["input_audio", "input_audio_uri", "audio_url"],
        typer.Option(help="In which part; DashScope wants input_audio_uri.", rich_help_panel=ENDPOINT),
    ] = "input_audio",
    stream: Annotated[
        bool, typer.Option("--stream", help="For endpoints that only stream their answers.", rich_help_panel=ENDPOINT)
    ] = False,
    most_calls: Annotated[int | None, typer.Option(min=0, help="Stop after so many.", rich_help_panel=ENDPOINT)] = None,
    most_tokens: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many.", rich_help_panel=ENDPOINT)
    ] = None,
    most_money: Annotated[
        float | None, typer.Option(min=0, help="Stop there; needs --prices.", rich_help_panel=ENDPOINT)
    ] = None,
    prices: Annotated[
        tuple[float, float], typer.Option(help="Of a million tokens in, and out.", rich_help_panel=ENDPOINT)
    ] = (0.0, 0.0),
) -> None:
    """Get answers: every question of some data sets to one listener.

    Stop it at any moment: the same command goes on. Failures are kept with their error and can be tried again.

    Examples:

        cmi bench run --listener reference --data mir/annotations --out answers/

        cmi bench run --listener qwen2-audio --data annotations/ --audio testdata/ --tasks key --out answers/

        cmi bench run --listener "env/bin/python ltu_worker.py" --name ltu --data annotations/ --out answers/

        cmi bench run --listener qwen2.5-omni --data annotations/ --ray 8 --out answers/
    """
    from cmi._util.workers import run_on_ray
    from cmi.bench.ask.registry import ENDPOINT, IN_PROCESS, Options, short_name
    from cmi.bench.ask.run import RunPlan, audio_folders, model_name, read_data, run_elsewhere

    if ray and shard:
        raise InputError("--ray makes the shards itself: leave out --shard")
    share = _shard(shard)
    options = Options(
        out=out, shard=str(share or ""), timeout=timeout,
        model=model, revision=revision, trust_remote_code=trust_remote_code, device=device, batch=batch,
        max_tokens=max_tokens, temperature=temperature, seconds=seconds,
        url=url, key_env=key_env, concurrency=concurrency, sound=sound, sound_as=sound_as, stream=stream,
        most_calls=most_calls, most_tokens=most_tokens, most_money=most_money, prices=prices,
    )  # fmt: skip
    found = read_data(data, tasks or (), audio, limit)
    if listener == ENDPOINT:
        _require_sendable(found, [*audio_folders(found, audio), *(audio_from or [])])
    called = model_name(name) if name else short_name(listener, options)
    if ray and not dry_run:
        plan = RunPlan(out, called, "", found, trials)
        on_gpus = listener in IN_PROCESS and device != "cpu"
        done = run_elsewhere(plan, lambda: run_on_ray(_shard_arguments(context, ray), ray, on_gpus))
        _show_done(done.listener, done.summaries, as_json)
        _require_answers(done.summaries)
        return
    with ExitStack() as stack:
        named = _listener(listener, options, stack, dry_run)
        plan = RunPlan(out, called, named.full, found, trials, share, retry_failed)
        if dry_run:
            files = [{"model": m, "dataset": d.dataset, "questions": len(q)} for m, d, q in plan.parts()]
            _show(_plan_table(named, plan), files, named.full, as_json)
            return
        summaries = _run(named, plan)
    _show_done(named.full, summaries, as_json)
    if share is None:  # a share may be a few questions that all fail
        _require_answers(summaries)


def _require_sendable(data: "list[DataFile]", folders: list[Path]) -> None:
    from cmi.llm import require_sendable

    require_sendable(((f"{file.path} {q.id}", q.audio) for file in data for q in file.questions), folders)


def _require_answers(summaries: "list[Summary]") -> None:
    """InputError if all questions failed; else say how many did, and how many clips were not heard whole."""
    if cut := sum(s.cut for s in summaries):
        from cmi.cli.output import note

        total = sum(s.answered for s in summaries)
        note(f"{cut:,} of {total:,} answers are about the beginning of a clip only; the log says how much was heard")
    failed, answered = (sum(getattr(s, name) for s in summaries) for name in ("failed", "answered"))
    if not failed:
        return
    if not answered:
        first = next(s.error for s in summaries if s.failed)
        raise InputError(f"all {failed:,} questions failed, the first: {first}; --retry-failed asks again")
    typer.echo(f"{failed:,} of {failed + answered:,} questions failed; --retry-failed asks them again", err=True)


def _listener(spec: str, options: "Options", stack: ExitStack, dry_run: bool) -> "Named":
    from cmi.bench.ask.registry import load_for_plan, load_listener

    named = (load_for_plan if dry_run else load_listener)(spec, options)
    close = getattr(named.listener, "close", None)
    if callable(close):
        stack.callback(close)
    missing = getattr(named.listener, "missing", [])
    if missing:
        typer.echo(f"{named.short} is without {', '.join(missing)}; see docs/reference-listener.md", err=True)
    return named


def _shard(text: str) -> "Shard | None":
    from cmi.bench.ask.answer_log import Shard

    if not text:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--shard {text!r}, expected i/n such as 2/4, i from 1 to n")
    return Shard(int(match[1]), int(match[2]))


def _shard_arguments(context: typer.Context, shards: int) -> list[str]:
    """This command as it was given, for one shard of so many: each has its part of the budget."""
    given = context.params | {
        name: most and max(1, most // shards)
        for name in ("most_calls", "most_tokens")
        if (most := context.params[name]) is not None
    }
    if given["most_money"] is not None:
        given["most_money"] /= shards
    words = ["bench", "run", "--json"]
    for option in context.command.params:
        value, flag = given.get(option.name or ""), option.opts[0]
        if option.name in ("ray", "as_json") or value is None or value == option.default:
            continue
        if isinstance(value, bool):
            words.append(flag)
        elif option.nargs > 1:
            words += [flag, *map(str, value)]
        else:
            words += [f"{flag}={one}" for one in (value if isinstance(value, list | tuple) else [value])]
    return words


def _run(named: "Named", plan: "RunPlan") -> "list[Summary]":
    from cmi.bench.ask.run import run as run_plan
    from cmi.cli.progress import progress, tell_waits

    with progress() as bar:
        task = bar.add_task("asking", total=None)
        tell_waits(named.listener, bar, task)
        return run_plan(
            named.listener,
            plan,
            on_begun=lambda name, done, total: bar.reset(task, description=name, completed=done, total=total),
            on_answered=lambda count: bar.advance(task, count),
        )


def _show_done(listener: str, summaries: "list[Summary]", as_json: bool) -> None:
    _show(_summary_table(listener, summaries), [summary._asdict() for summary in summaries], listener, as_json)


def _show(table: "Table", files: list[dict[str, Any]], listener: str, as_json: bool) -> None:
    from cmi.cli.output import show

    show([table], files, "files", {"listener": listener}, "json" if as_json else "table", None)


def _summary_table(listener: str, summaries: "list[Summary]") -> "Table":
    from cmi.report.tables import Table

    rows = [
        [s.model, s.dataset, *map(str, (s.questions, s.answered, s.failed, s.asked)), f"{s.seconds:.1f}"]
        for s in summaries
    ]
    notes = [f"Listener: {listener}"]
    notes += [f"{s.dataset}: {s.failed} failed, the first: {printable(s.error)}" for s in summaries if s.failed]
    headers = ["model", "data set", "questions", "answered", "failed", "asked now", "s"]
    return Table("Answers", headers, rows, labels=2, notes=notes)


def _plan_table(named: "Named", plan: "RunPlan") -> "Table":
    from cmi.report.tables import Table

    rows = [[model, data.dataset, str(len(questions)), str(data.path)] for model, data, questions in plan.parts()]
    notes = [f"Listener: {named.full}"]
    estimate = getattr(named.listener, "estimate", None)
    if callable(estimate):
        cost = estimate([question for _, _, questions in plan.parts() for question in questions])
        notes.append(
            f"{cost.requests - cost.answered} of {cost.requests} requests are open: about {cost.usage.input_tokens:,} "
            f"tokens in, {cost.usage.output_tokens:,} out, {cost.money:.2f} in money."
        )
    return Table("What would be asked", ["model", "data set", "questions", "file"], rows, labels=2, notes=notes)
