"""`cmi generate`: takes for prompts."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import AsJson, AudioFrom, DryRun, MaxCost
from cmi.cli.output import note, print_result
from cmi.cli.progress import progress
from cmi.report.tables import Table

if TYPE_CHECKING:
    from cmi.generate.run import SystemSummary
    from cmi.take import PromptRow

SYSTEMS = "studio, a model or a service by name, your own as module:Class, or worker:COMMAND"


def generate(
    prompts: Annotated[Path, typer.Argument(help="JSONL, CSV or Parquet: id, text, lyrics, reference, caption.")],
    out: Annotated[Path, typer.Argument(help="Folder for the takes; the same command resumes there.")],
    system: Annotated[list[str] | None, typer.Option(help=f"{SYSTEMS}; repeatable.")] = None,
    takes: Annotated[
        int, typer.Option(min=1, max=10_000, help="Takes for each prompt and system, each with its own seed.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first take; the next takes use the next numbers.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=1, max=1200, help="Length of each take; by default the system's own.")
    ] = None,
    drop_unsupported: Annotated[
        bool,
        typer.Option(
            "--drop-unsupported",
            help="Drop the parts of a prompt that a system does not support, instead of skipping the prompt.",
        ),
    ] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Generate again what failed.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; each loads the system.")] = 1,
    max_takes: Annotated[int | None, typer.Option(min=1, help="Stop when OUT has this many takes.")] = None,
    max_cost: MaxCost = None,
    audio_from: AudioFrom = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Time limit of one take of a worker, in seconds.")] = 1800.0,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Generate takes: every prompt with every system, each take with its provenance.

    Each take is checked: silent, unreadable or too short or long ones are counted by reason and can be generated
    again. You can stop at any time: the same command resumes.

    Examples:

        cmi generate prompts.jsonl takes/ --takes 2

        cmi generate prompts.jsonl takes/ --system studio --system studio:flaws=0.5 --workers 4

        cmi generate prompts.jsonl takes/ --system musicgen --system ace-step:models/ace,steps=8

        cmi generate prompts.jsonl takes/ --system my_models:MyGenerator --max-takes 100

        cmi generate prompts.jsonl takes/ --system "worker:yue/bin/python yue_worker.py" --retry-failed
    """
    with require_extra("generating takes", "studio"):
        from cmi.generate.run import GenerationPlan, run_generation
        from cmi.take import read_prompts

    asked = list(read_prompts(prompts))
    systems = list(dict.fromkeys(system or ["studio"]))
    _require_sendable(systems, asked, [prompts.parent, *(audio_from or [])])
    plan = GenerationPlan(
        asked,
        out,
        systems,
        range(seed, seed + takes),
        seconds,
        drop_unsupported,
        retry_failed,
        workers,
        max_takes,
        max_cost,
        timeout,
    )
    with progress() as bar:
        summaries = run_generation(plan, lambda name, done, total: bar.report(f"takes of {name}", done, total), dry_run)
    record = {"out": str(out), "systems": [asdict(summary) for summary in summaries]}
    print_result([_table(summaries, dry_run)], record, as_json)
    _require_started(summaries)
    if not dry_run:
        _require_takes(summaries)
        note(f"{out / 'takes.jsonl'}: {sum(one.takes for one in summaries):,} takes of {len(summaries)} systems")


def _require_sendable(systems: list[str], prompts: "list[PromptRow]", folders: list[Path]) -> None:
    """Raise InputError if a reference outside the allowed folders would be sent to a service."""
    from cmi.generate.load import is_service

    if services := [name for name in systems if is_service(name)]:
        from cmi.generate.service_file import read_service
        from cmi.llm import require_sendable

        if any("reference" in read_service(name).accepts for name in services):
            require_sendable(((f"prompt {row.id!r}", row.prompt.reference) for row in prompts), folders)


def _table(summaries: "list[SystemSummary]", dry_run: bool) -> Table:
    rows = [
        [
            one.system,
            *(f"{count:,}" for count in (one.takes, one.made, sum(one.failed.values()), sum(one.skipped.values()))),
            f"{one.left:,}",
            f"{one.seconds / 60:.1f}",
            f"{one.cost:g}",
        ]
        for one in summaries
    ]
    notes = []
    for one in summaries:
        if one.failed:
            notes.append(f"{one.system} failed: {_counted(one.failed)}; the first: {one.first_failure}")
        if one.skipped:
            notes.append(f"{one.system} skipped prompts: {_counted(one.skipped)}")
    headers = ["system", "takes", "new", "failed", "skipped", "to do" if dry_run else "left", "min", "cost"]
    return Table("What would be generated" if dry_run else "Takes", headers, rows, notes=notes)


def _counted(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} ({reason})" for reason, count in reasons.items())


def _require_started(summaries: "list[SystemSummary]") -> None:
    """Print which limits were reached; raise InputError if a system did not start or stopped early."""
    for one in summaries:
        if one.limit:
            note(f"{one.system}: {one.limit}; {one.left:,} are left")
    stopped = [
        f"{one.system} could not {'continue' if one.version else 'start'}: {one.stopped}"
        for one in summaries
        if one.stopped
    ]
    if stopped:
        raise InputError(f"{'; '.join(stopped)}; what was finished is kept, and the same command resumes")


def _require_takes(summaries: "list[SystemSummary]") -> None:
    """Print how many takes failed; raise InputError if there are no takes."""
    failed = sum(sum(one.failed.values()) for one in summaries)
    if failed and not any(one.takes for one in summaries):
        first = next(one.first_failure for one in summaries if one.failed)
        raise InputError(f"all {failed:,} takes failed, the first: {first}; --retry-failed tries again")
    if not failed and not any(one.takes for one in summaries):
        raise InputError("no prompt suits these systems (skipped.jsonl says why); --drop-unsupported uses what is left")
    if failed:
        note(f"{failed:,} takes failed (failures.jsonl); --retry-failed tries them again")
