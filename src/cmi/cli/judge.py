"""`cmi judge`: ask a judge which of two takes is better, label pairs with it, and audit it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cmi._util.errors import InputError
from cmi._util.hub import require_packages
from cmi._util.printable import printable
from cmi.cli.command import PlainGroup, shard_options
from cmi.cli.options import (
    AsJson,
    AudioFrom,
    BothOrders,
    DryRun,
    KeyEnv,
    MaxCalls,
    MaxCost,
    MaxTotalTokens,
    NoProbe,
    Port,
    Shard,
    Url,
)
from cmi.cli.output import note, print_result
from cmi.cli.progress import progress, show_waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cmi.judge.load_judge import Spec
    from cmi.judge.run import Asking, Judged
    from cmi.preferences import NamedPair
    from cmi.take import Take


class _PairsByDefault(PlainGroup):
    """`cmi judge pairs.jsonl` is `cmi judge pairs pairs.jsonl`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["pairs", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    no_args_is_help=True,
    cls=_PairsByDefault,
    help="Ask a judge which of two takes is better. `cmi judge FILE` is short for `cmi judge pairs FILE`.",
)

Pairs = Annotated[
    Path,
    typer.Argument(help="Pairs: a file (.jsonl, .json, .csv, .parquet), a studio set, or a folder of takes."),
]
Out = Annotated[Path, typer.Option(help="Folder of the run; the same command resumes it.")]
PromptName = Annotated[str, typer.Option(help="Prompt of the judge: the name of a built-in one, or a file.")]


@dataclass(frozen=True)
class JudgeChoice:
    """The judge, the recordings it may be sent, and its budget."""

    model: Annotated[
        str,
        typer.Option(
            help="A chat model (with --url or --endpoint), scorer:nano, omni:NAME, simulated:first=0.1 or module:Class."
        ),
    ] = ""
    url: Url = ""
    endpoint: Annotated[Path | None, typer.Option(help="A TOML file with an endpoint's settings and prices.")] = None
    key_env: KeyEnv = ""
    audio_from: AudioFrom = None
    tie_band: Annotated[float, typer.Option(min=0, help="For scorers: score differences up to this are ties.")] = 0.0
    max_calls: MaxCalls = None
    max_total_tokens: MaxTotalTokens = None
    max_cost: MaxCost = None
    no_probe: NoProbe = False

    def spec_with(self, prompt: str, folders: "Sequence[Path]") -> "Spec":
        """Return the judge's specification; recordings in `folders` and in --audio-from may be sent to an endpoint."""
        _require_packages()
        from cmi.judge.load_judge import Spec
        from cmi.llm import Budget

        if not self.model and self.endpoint is None:
            raise InputError("no judge: name one with --model or --endpoint")
        budget = Budget(self.max_calls, self.max_total_tokens, self.max_cost)
        allowed = (*folders, *(self.audio_from or []))
        how = (self.model, self.url, self.endpoint, prompt, self.tie_band, budget, self.key_env, allowed)
        return Spec(*how, probes=not self.no_probe)


@dataclass(frozen=True)
class JudgeOptions(JudgeChoice):
    """A judge and its prompt."""

    prompt: PromptName = "two-axes"

    def spec(self, folders: "Sequence[Path]") -> "Spec":
        return self.spec_with(self.prompt, folders)


@app.command()
def pairs(
    file: Pairs,
    out: Out,
    judge: JudgeOptions,
    both_orders: BothOrders = False,
    dry_run: DryRun = False,
    shard: Shard = "",
    as_json: AsJson = False,
) -> None:
    """Ask a judge about pairs; each verdict is saved as it arrives.

    The API key is read from the environment variable that --key-env or the endpoint's file names. If an answer cannot
    be parsed, the judge is asked twice more; then the answer is saved and counted as unparsed.

    Examples:

        cmi judge pairs.jsonl --url http://localhost:8000/v1 --model my-model --both-orders --out runs/mine

        cmi judge set/ --model scorer:nano --tie-band 0.05 --out runs/nano --json
    """
    from cmi.judge.labels import label_record
    from cmi.judge.report import run_table

    judged = _judged(file, judge, out, both_orders, dry_run, shard)
    if judged is not None:
        print_result([run_table(judged)], label_record(judged), as_json)
        _require_verdicts(judged)


@app.command()
def label(
    context: typer.Context,
    file: Pairs,
    out: Out,
    judge: JudgeOptions,
    keep: Annotated[
        Literal["axis", "intersection"],
        typer.Option(help="Keep labels axis by axis, or only pairs that have a label on all axes."),
    ] = "axis",
    consensus: Annotated[
        Literal["", "dawid-skene", "davidson"],
        typer.Option(help="Combine this judge and those of --other into soft labels."),
    ] = "",
    other: Annotated[
        list[Path] | None, typer.Option(help="Run folder of another judge on the same pairs; repeatable.")
    ] = None,
    dry_run: DryRun = False,
    shard: Shard = "",
    ray: Annotated[int, typer.Option(min=0, help="Number of shards to run on Ray.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Label pairs with a judge that is asked in both orders; only labels that agree in both are kept.

    Writes OUT/preferences.jsonl, ready for `cmi train`, and shows win rates by order as the paper's table 8 does.

    Examples:

        cmi judge label pairs.jsonl --endpoint gemini.toml --max-cost 20 --dry-run --out runs/labels

        cmi judge label set/ --url http://localhost:8000/v1 --model my-model --keep intersection --out runs/labels

        cmi judge label pairs.jsonl --model scorer:nano --consensus dawid-skene --other runs/labels --out runs/both
    """
    from cmi._util.workers import run_on_ray
    from cmi.judge.labels import PREFERENCES, label_record, write_consensus, write_labels
    from cmi.judge.report import filter_table, label_table
    from cmi.preferences import read_pairs

    if bool(consensus) != bool(other):
        raise InputError("a consensus needs both --consensus and at least one --other run")
    if ray and not dry_run:
        options = shard_options(context, ray, without=("keep", "consensus", "other", "shard", "ray", "as_json"))
        run_on_ray(["judge", "pairs", str(file), "--both-orders", *options], ray)
    judged = _judged(file, judge, out, True, dry_run, shard)
    if judged is None or shard:
        return
    asked = read_pairs(file)
    if consensus:
        written = write_consensus(asked, judged, other or [], out, consensus)
    else:
        written = write_labels(asked, judged, out, keep)
    record = {"labels": written, "file": str(out / PREFERENCES), **label_record(judged)}
    print_result([label_table(judged), filter_table(judged, written)], record, as_json)
    if not as_json:
        print(printable(str(out / PREFERENCES)))
    _require_verdicts(judged)


@app.command()
def audit(
    file: Pairs,
    out: Out,
    judge: JudgeOptions,
    items: Annotated[int, typer.Option(min=2, max=10_000, help="Pairs of each kind.")] = 40,
    repeats: Annotated[int, typer.Option(min=1, max=10, help="How often each unchanged pair is asked.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the choice of pairs.")] = 0,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Audit a judge: position bias, consistency, and whether it uses the audio.

    Works best on a studio set (`cmi studio make`), whose winners are known. A judge that fails is reported as unfit;
    the exit code is 0 either way.

    Example:

        cmi judge audit set/ --url http://localhost:8000/v1 --model my-model --out runs/audit
    """
    _require_packages()
    from cmi.judge.audit import audit as audit_all
    from cmi.judge.audit import audit_items
    from cmi.judge.report import audit_record, audit_table
    from cmi.judge.run import askings
    from cmi.preferences import read_pairs

    made = audit_items(read_pairs(file), items, seed)
    plain = [item.pair for item in made if item.kind == "as it is"]
    others = [item.pair for item in made if item.kind != "as it is"]
    asked = [*askings(plain, True, repeats), *askings(others, True)]
    judged = _ask(asked, judge.spec([_folder(file)]), out, dry_run)
    if judged is not None:
        for line in judged.cut_notes:
            note(line)
        found = audit_all(judged, made)
        print_result([audit_table(found)], audit_record(found), as_json)


@app.command()
def endpoint(
    port: Port = 8123,
    prompt: PromptName = "two-axes",
    first: Annotated[
        float, typer.Option(min=0, max=1, help="The share of answers that name the first recording.")
    ] = 0.0,
    faults: Annotated[float, typer.Option(min=0, max=1, help="The share of calls that fail.")] = 0.0,
) -> None:
    """Serve a fake judge that follows a simple rule, to try the other commands without a model or an API key.

    Example:

        cmi judge endpoint --port 8123 --faults 0.2
    """
    _require_packages()
    from cmi.testing.rule_endpoint import serve_rule

    serve_rule(port, prompt, first, faults)


def _folder(file: Path) -> Path:
    return file if file.is_dir() else file.parent


def _judged(
    file: Path, judge: JudgeOptions, out: Path, both_orders: bool, dry_run: bool, shard: str
) -> "Judged | None":
    spec = judge.spec([_folder(file)])
    from cmi.judge.run import askings, shard_folder, shard_of
    from cmi.preferences import read_pairs

    asked, folder = read_pairs(file), out
    if shard:
        asked, folder = shard_of(asked, shard), shard_folder(out, shard)
    return _ask(askings(asked, both_orders), spec, folder, dry_run)


def _ask(asked: "list[tuple[Asking, NamedPair]]", spec: "Spec", folder: Path, dry_run: bool) -> "Judged | None":
    """Return the verdicts, or None after a dry run, which prints an estimate."""
    from cmi.judge.load_judge import estimate
    from cmi.judge.run import ordered_pair

    if not dry_run:
        return ask_judge(asked, spec, folder)
    found = estimate(spec, folder, [(asking.key, ordered_pair(pair.pair, asking.order)) for asking, pair in asked])
    usage = found.usage
    print(f"{found.requests:,} requests, {found.answered:,} of them answered already")
    print(f"{usage.calls:,} calls, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out (an estimate)")
    print(f"{found.money:.2f} by the prices given" if found.money else "no prices given")
    if found.probe_note:
        print(found.probe_note)
    return None


def ask_judge(asked: "list[tuple[Asking, NamedPair]]", spec: "Spec", folder: Path) -> "Judged":
    """Ask with a progress bar."""
    from cmi.judge.load_judge import open_judge
    from cmi.judge.run import judge_pairs

    with open_judge(spec, folder, [pair for _, pair in asked]) as judge, progress() as bar:
        task = bar.add_task(f"pairs judged by {judge.name}", total=len(asked))
        show_waits(judge, bar, task)
        return judge_pairs(asked, judge, folder, lambda count: bar.advance(task, count))


def ask_rater(takes: "dict[str, Take]", spec: "Spec", folder: Path) -> "Judged":
    """Ask for ratings with a progress bar."""
    from cmi.judge.load_judge import open_rater
    from cmi.judge.run import rate_takes

    with open_rater(spec, folder, takes) as rater, progress() as bar:
        task = bar.add_task(f"takes rated by {rater.name}", total=len(takes))
        show_waits(rater, bar, task)
        return rate_takes(takes, rater, folder, lambda count: bar.advance(task, count))


def _require_packages() -> None:
    require_packages("judging", "judge", "httpx", "soundfile", "soxr")


def _require_verdicts(judged: "Judged") -> None:
    if judged.failures and not judged.verdicts:
        reason = next(iter(judged.failures.values()))
        raise InputError(f"none of {len(judged.failures)} questions was answered; the first: {reason}")
