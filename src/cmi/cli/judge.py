"""`cmi judge`: ask a judge which of two takes is better, label pairs by it, and find out how far to trust it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from cmi.cli.options import (
    AsJson,
    AudioFrom,
    DryRun,
    EndpointFile,
    KeyEnv,
    MaxCalls,
    MaxCost,
    MaxTokens,
    Shard,
    Url,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cmi.judge.load_judge import Spec
    from cmi.judge.run import Asking, Judged
    from cmi.preferences import NamedPair


class _PairsByDefault(TyperGroup):
    """`cmi judge pairs.jsonl` is `cmi judge pairs pairs.jsonl`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["pairs", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    no_args_is_help=True,
    cls=_PairsByDefault,
    help="Judges: which of two takes is better? `cmi judge FILE` is `cmi judge pairs FILE`.",
)

Pairs = Annotated[
    Path,
    typer.Argument(help="Pairs: a file (.jsonl, .json, .csv, .parquet), a studio set, or a folder of takes."),
]
Model = Annotated[
    str,
    typer.Option(
        help="A chat model (with --url or --endpoint), scorer:nano, omni:NAME, simulated:first=0.1, or module:Class.",
    ),
]
PromptName = Annotated[str, typer.Option(help="What the judge is told: a role's name, or a file of yours.")]
Out = Annotated[Path, typer.Option(help="Folder of the run; the same command resumes it.")]
TieBand = Annotated[float, typer.Option(min=0, help="Of a scorer: differences up to it are ties.")]
OnRay = Annotated[int, typer.Option("--ray", min=0, help="Do it in so many parts on Ray first.")]


@app.command()
def pairs(
    file: Pairs,
    out: Out,
    model: Model = "",
    url: Url = "",
    endpoint: EndpointFile = None,
    key_env: KeyEnv = "",
    audio_from: AudioFrom = None,
    prompt: PromptName = "two-axes",
    both_orders: Annotated[bool, typer.Option("--both-orders", help="Ask about b, a as well as a, b.")] = False,
    tie_band: TieBand = 0.0,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    shard: Shard = "",
    as_json: AsJson = False,
) -> None:
    """Ask a judge about pairs; each verdict is kept as it comes.

    The key of an endpoint comes from the environment: from the variable that --key-env or the endpoint's file names. An
    answer that is no verdict is asked for again twice, then kept as it is and counted.

    Examples:

        cmi judge pairs.jsonl --url http://localhost:8000/v1 --model my-model --both-orders --out runs/mine

        cmi judge set/ --model scorer:nano --tie-band 0.05 --out runs/nano --json
    """
    from rich.console import Console

    from cmi.judge.report import label_record, run_table
    from cmi.report.tables import print_tables

    folders = _folders(file, audio_from)
    spec = spec_of(model, url, endpoint, key_env, folders, prompt, tie_band, max_calls, max_tokens, max_cost)
    judged = _judged(file, spec, out, both_orders, dry_run, shard)
    if judged is None:
        return
    if as_json:
        _print_json(label_record(judged))
    else:
        print_tables([run_table(judged)], Console())
    _require_verdicts(judged)


@app.command()
def label(
    file: Pairs,
    out: Out,
    model: Model = "",
    url: Url = "",
    endpoint: EndpointFile = None,
    key_env: KeyEnv = "",
    audio_from: AudioFrom = None,
    prompt: PromptName = "two-axes",
    keep: Annotated[
        Literal["axis", "intersection"], typer.Option(help="Keep a pair's label by axis, or only if all axes have one.")
    ] = "axis",
    consensus: Annotated[
        Literal["", "dawid-skene", "davidson"],
        typer.Option(help="Soft labels of this judge and those of --other together."),
    ] = "",
    other: Annotated[list[Path] | None, typer.Option(help="The run of another judge about the same pairs.")] = None,
    tie_band: TieBand = 0.0,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    shard: Shard = "",
    ray: OnRay = 0,
    as_json: AsJson = False,
) -> None:
    """Label pairs by a judge that hears them in both orders; only what both orders agree on is kept.

    Writes OUT/preferences.jsonl, ready for `cmi train`, and shows win rates by order as the paper's table 8 does.

    Examples:

        cmi judge label pairs.jsonl --endpoint gemini.toml --max-cost 20 --dry-run --out runs/labels

        cmi judge label set/ --url http://localhost:8000/v1 --model my-model --keep intersection --out runs/labels

        cmi judge label pairs.jsonl --model scorer:nano --consensus dawid-skene --other runs/labels --out runs/both
    """
    from rich.console import Console

    from cmi._util.errors import InputError
    from cmi._util.printable import printable
    from cmi._util.workers import run_on_ray
    from cmi.judge.label_run import PREFERENCES, write_consensus, write_labels
    from cmi.judge.report import filter_table, label_record, label_table
    from cmi.report.tables import print_tables

    if bool(consensus) != bool(other):
        raise InputError("a consensus needs --consensus and one --other run at least")
    judge = (model, url, endpoint, key_env, _folders(file, audio_from), prompt, tie_band)
    if ray:
        run_on_ray(_pairs_arguments(file, out, spec_of(*judge, max_calls, max_tokens, max_cost, parts=ray)), ray)
    spec = spec_of(*judge, max_calls, max_tokens, max_cost)
    judged = _judged(file, spec, out, True, dry_run, shard)
    if judged is None or shard:
        return
    from cmi.preferences import read_pairs

    asked = read_pairs(file)
    if consensus:
        written = write_consensus(asked, judged, other or [], out, consensus)
    else:
        written = write_labels(asked, judged, out, keep)
    if as_json:
        _print_json({"labels": written, "file": str(out / PREFERENCES), **label_record(judged)})
    else:
        print_tables([label_table(judged), filter_table(judged, written)], Console())
        print(printable(str(out / PREFERENCES)))
    _require_verdicts(judged)


@app.command()
def audit(
    file: Pairs,
    out: Out,
    model: Model = "",
    url: Url = "",
    endpoint: EndpointFile = None,
    key_env: KeyEnv = "",
    audio_from: AudioFrom = None,
    prompt: PromptName = "two-axes",
    items: Annotated[int, typer.Option(min=2, max=10_000, help="Pairs of each kind.")] = 40,
    repeats: Annotated[int, typer.Option(min=1, max=10, help="How often the pairs themselves are asked.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Draws the pairs.")] = 0,
    tie_band: TieBand = 0.0,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Find out how far to trust a judge: position bias, consistency, and whether it hears.

    Best on a studio set (`cmi studio make`), whose winners are known. A judge that fails is named unfit; the exit code
    is 0 all the same.

    Example:

        cmi judge audit set/ --url http://localhost:8000/v1 --model my-model --out runs/audit
    """
    from rich.console import Console

    from cmi.judge.audit import audit as audit_all
    from cmi.judge.audit_items import audit_items
    from cmi.judge.report import audit_record, audit_table
    from cmi.judge.run import askings
    from cmi.preferences import read_pairs
    from cmi.report.tables import print_tables

    _require_packages()
    folders = _folders(file, audio_from)
    spec = spec_of(model, url, endpoint, key_env, folders, prompt, tie_band, max_calls, max_tokens, max_cost)
    made = audit_items(read_pairs(file), items, seed)
    plain = [item.pair for item in made if item.kind == "as it is"]
    others = [item.pair for item in made if item.kind != "as it is"]
    asked = [*askings(plain, True, repeats), *askings(others, True)]
    judged = _ask(asked, spec, out, dry_run)
    if judged is None:
        return
    found = audit_all(judged, made)
    if as_json:
        _print_json(audit_record(found))
    else:
        print_tables([audit_table(found)], Console())


@app.command()
def endpoint(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8123,
    prompt: PromptName = "two-axes",
    first: Annotated[
        float, typer.Option(min=0, max=1, help="The share of answers that name the first recording.")
    ] = 0.0,
    faults: Annotated[float, typer.Option(min=0, max=1, help="The share of calls that fail.")] = 0.0,
) -> None:
    """Serve a judge that follows a simple rule, to try the other commands without a model, a key or a bill.

    Example:

        cmi judge endpoint --port 8123 --faults 0.2
    """
    _require_packages()
    from cmi.testing.rule_endpoint import serve_rule

    serve_rule(port, prompt, first, faults)


def spec_of(
    model: str,
    url: str,
    endpoint: Path | None,
    key_env: str,
    folders: "Sequence[Path]",
    prompt: str,
    tie_band: float,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    parts: int = 1,
) -> "Spec":
    """The judge; of a run in parts each has its share of the budget."""
    _require_packages()
    from cmi._util.errors import InputError
    from cmi.judge.load_judge import Spec
    from cmi.llm import Budget

    if not model and endpoint is None:
        raise InputError("which judge? name it with --model, or with --endpoint")
    calls, tokens = (None if most is None else max(1, most // parts) for most in (max_calls, max_tokens))
    budget = Budget(calls, tokens, None if max_cost is None else max_cost / parts)
    return Spec(model, url, endpoint, prompt, tie_band, budget, key_env, tuple(folders))


def _folders(file: Path, audio_from: list[Path] | None) -> list[Path]:
    """The folders from which an endpoint may be sent recordings: that of the pairs, and those that the user allows."""
    return [file if file.is_dir() else file.parent, *(audio_from or [])]


def _judged(file: Path, spec: "Spec", out: Path, both_orders: bool, dry_run: bool, shard: str) -> "Judged | None":
    from cmi.judge.run import askings, shard_folder, shard_of
    from cmi.preferences import read_pairs

    asked, folder = read_pairs(file), out
    if shard:
        asked, folder = shard_of(asked, shard), shard_folder(out, shard)
    return _ask(askings(asked, both_orders), spec, folder, dry_run)


def _ask(asked: "list[tuple[Asking, NamedPair]]", spec: "Spec", folder: Path, dry_run: bool) -> "Judged | None":
    """The verdicts; None after a dry run, which prints an estimate."""
    from cmi.cli.output import note
    from cmi.cli.progress import progress, tell_waits
    from cmi.judge.load_judge import estimate, open_judge
    from cmi.judge.run import as_heard, judge_pairs

    if dry_run:
        found = estimate(spec, folder, [(asking.key, as_heard(pair.pair, asking.order)) for asking, pair in asked])
        usage = found.usage
        print(f"{found.requests:,} requests, {found.answered:,} of them answered already")
        print(f"{usage.calls:,} calls, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out (an estimate)")
        print(f"{found.money:.2f} by the prices given" if found.money else "no prices given")
        return None
    with open_judge(spec, folder, [pair for _, pair in asked]) as judge, progress() as bar:
        task = bar.add_task("pairs judged", total=len(asked))
        tell_waits(judge, bar, task)
        judged = judge_pairs(asked, judge, folder, lambda count: bar.advance(task, count))
    if judged.cut_note:
        note(judged.cut_note)
    return judged


def _pairs_arguments(file: Path, out: Path, spec: "Spec") -> list[str]:
    """The command line of `cmi judge pairs` for one shard, without the shard."""
    arguments = ["judge", "pairs", str(file.resolve()), "--out", str(out.resolve()), "--both-orders"]
    options = {"--model": spec.model, "--url": spec.url, "--prompt": spec.prompt, "--tie-band": str(spec.tie_band)}
    options["--endpoint"] = str(spec.endpoint.resolve()) if spec.endpoint else ""
    options["--key-env"] = spec.key_env
    limits = {"--max-calls": spec.budget.calls, "--max-tokens": spec.budget.tokens, "--max-cost": spec.budget.money}
    options |= {name: str(most) for name, most in limits.items() if most is not None}
    arguments += [f"--audio-from={allowed.resolve()}" for allowed in spec.folders]
    return [*arguments, *(part for name, value in options.items() if value for part in (name, value))]


def _require_packages() -> None:
    from cmi._util.hub import require_packages

    require_packages("judging", "judge", "httpx", "soundfile", "soxr")


def _require_verdicts(judged: "Judged") -> None:
    from cmi._util.errors import InputError

    if judged.failures and not judged.verdicts:
        reason = next(iter(judged.failures.values()))
        raise InputError(f"none of {len(judged.failures)} questions was answered; the first: {reason}")


def _print_json(record: dict[str, object]) -> None:
    import sys

    from cmi.report.tables import to_json

    sys.stdout.write(to_json(record))
