"""`cmi pairs`: from takes to pairs for judges and annotators."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import AsJson, Seed, Workers
from cmi.cli.output import note, print_result
from cmi.cli.progress import progress


def pairs(
    takes: Annotated[
        list[Path],
        typer.Argument(help="Manifests of takes, folders with a takes.jsonl, or folders of takes for each prompt."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the pairs; the same command resumes there.")],
    pairs_: Annotated[
        int | None, typer.Option("--pairs", min=1, help="Number of pairs; by default as many as possible.")
    ] = None,
    per_prompt: Annotated[int | None, typer.Option(min=1, help="Greatest number of pairs of one prompt.")] = None,
    sampling: Annotated[
        Literal["balanced", "uncertain"],
        typer.Option(
            help="Sample pairs of systems equally often, or more often if --votes leave their order uncertain."
        ),
    ] = "balanced",
    votes: Annotated[
        Path | None, typer.Option(help="Preferences to rank the systems by, for --sampling uncertain.")
    ] = None,
    same_system: Annotated[bool, typer.Option("--same-system", help="Also pair two takes of one system.")] = False,
    split: Annotated[
        str,
        typer.Option(help="Shares of prompts; train=1 for no splits. Splits stated in the takes' manifest are kept."),
    ] = "train=0.8,valid=0.1,test=0.1",
    hold_out_system: Annotated[
        list[str] | None, typer.Option(help="System whose pairs are in the test split only; repeatable.")
    ] = None,
    test_pairs: Annotated[
        int | None, typer.Option(min=1, help="Number of test pairs, a quarter for each modality.")
    ] = None,
    min_seconds: Annotated[float, typer.Option(min=0.1, help="Leave out shorter takes.")] = 3.0,
    max_clipped: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out takes with a greater share of samples at full scale.")
    ] = 0.01,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Make pairs of takes, ready for `cmi judge label` and `cmi arena import`.

    Takes that are missing, unreadable, too short, silent, clipped or near-identical are left out and counted. Every
    recording is checked once; the result is cached. No text, lyrics or recording is in two splits.

    Examples:

        cmi pairs takes/ --out pairs/ --pairs 2000 --per-prompt 5

        cmi pairs takes/ more/takes.jsonl --out pairs/ --hold-out-system musicgen --test-pairs 500

        cmi pairs takes/ --out next/ --pairs 500 --sampling uncertain --votes votes.jsonl
    """
    with require_extra("making pairs", "reward"):
        from cmi._util.files import claim
        from cmi.pairs.checks import Checker
        from cmi.pairs.filters import TakeLimits
        from cmi.pairs.make import PairSettings, make_pairs, write_pairs
        from cmi.pairs.pool import read_pool
        from cmi.pairs.report import summarise, tables
        from cmi.pairs.splits import parse_shares
        from cmi.preferences import read_preferences

    if (sampling == "uncertain") != (votes is not None):
        raise InputError("--sampling uncertain needs --votes, and --votes needs --sampling uncertain")
    settings = PairSettings(
        pairs=pairs_,
        per_prompt=per_prompt,
        same_system=same_system,
        shares=parse_shares(split),
        hold_out=tuple(hold_out_system or ()),
        test_pairs=test_pairs,
        limits=TakeLimits(min_seconds, max_clipped),
        seed=seed,
    )
    command = {"takes": list(map(str, takes)), "votes": str(votes or ""), **settings.record()}
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        claim(out, command, "cmi pairs")  # before hours of checks
    pool = read_pool(takes)
    known = None if votes is None else list(read_preferences(votes))
    with progress() as bar, Checker(workers) as checker:
        made = make_pairs(pool, settings, checker, known, bar.counter("takes checked"))
    report = summarise(made)
    claim(out, command, "cmi pairs")
    file = write_pairs(made, report, out)
    print_result(tables(report), report, as_json)
    note(f"{file}: {len(made.pairs)} pairs")
